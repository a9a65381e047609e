/** The file system under JetStream is full, and then has space again. */
import { afterEach, expect, test } from 'vitest';
import { mayMount } from '../../support/allowed.js';
import { FaultScenario } from '../../support/fault-scenario.js';
import { NatsServer } from '../../support/nats-server.js';
import { testSeed } from '../../support/random.js';
import { SmallDisk } from '../../support/small-disk.js';
import { waitFor } from '../../support/wait-for.js';

const DISK_MB = 48;
const REFUSED = 50;
const DATA_BYTES = 200_000;

const seed = testSeed();
const able = mayMount('the test of a full disk');
let disk: SmallDisk | undefined;
let nats: NatsServer | undefined;
let scenario: FaultScenario | undefined;

afterEach(async () => {
  try {
    await scenario?.dispose();
    await nats?.dispose();
  } finally {
    await disk?.unmount();
  }
});

test.runIf(able)(
  `[P5] while the log's disk is full publishers are told so, nothing acknowledged is lost, and then it goes on (seed ${seed})`,
  async () => {
    disk = await SmallDisk.mount(DISK_MB);
    nats = await NatsServer.start({ storeDirectory: disk.directory });
    scenario = await FaultScenario.start({ seed, name: 'disk full', nats });
    const { publisher } = scenario;
    await scenario.publishes(100);
    await disk.fill();
    const refused = () => [...publisher.refusals.values()].reduce((sum, times) => sum + times, 0);
    await waitFor(() => refused() >= REFUSED, { timeoutMs: 60_000, what: 'publishers are refused' });
    const answer = await publishOnce(scenario.service('producer-1').url);
    expect(answer).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/u) as string });
    expect(['log_full', 'log_unavailable']).toContain(answer.code);
    console.info(`disk full: refusals ${JSON.stringify(Object.fromEntries(publisher.refusals))}`);

    await disk.free();
    await scenario.publishes(20);
    // What was acknowledged before is in the files.
    await nats.kill();
    await nats.start();
    await scenario.publishes(200);
    scenario.joinLate(8);
    await scenario.allJoined();
    await scenario.verify();
    expect(scenario.told).toEqual({});
  },
);

/** One attempt, to a room of its own, larger than what may be left in the files' last blocks. */
async function publishOnce(producer: string): Promise<{ status: number; code: string; retryAfter: string | null }> {
  const response = await fetch(`${producer}/v1/rooms/elsewhere/revisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data: 'x'.repeat(DATA_BYTES) }),
  });
  const { error } = (await response.json()) as { error: { code: string } };
  return { status: response.status, code: error.code, retryAfter: response.headers.get('retry-after') };
}
