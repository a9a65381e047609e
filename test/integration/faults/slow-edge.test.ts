/** An edge that takes nothing from NATS for so long that the server cuts it off as a slow consumer. */
import { afterEach, expect, test } from 'vitest';
import { FaultScenario } from '../../support/fault-scenario.js';
import { NatsServer } from '../../support/nats-server.js';
import { testSeed } from '../../support/random.js';
import { waitFor } from '../../support/wait-for.js';

const WIDE = 'wide';
const WIDE_CLIENTS = 6;
const DATA_BYTES = 20_000;
const REVISIONS_AT_ONCE = 20;
/** What the server keeps for a client before it cuts it off, beside what the kernel takes. */
const CONFIG = 'write_deadline: "1s"\nmax_pending: 2MB';

const seed = testSeed();
let scenario: FaultScenario | undefined;

afterEach(() => scenario?.dispose());

test(`[D5] an edge that NATS cut off for being slow repairs what it missed when it goes on (seed ${seed})`, async () => {
  const nats = await NatsServer.start({ config: CONFIG });
  scenario = await FaultScenario.start({ seed, name: 'slow edge', nats });
  const { publisher } = scenario;
  for (let i = 0; i < WIDE_CLIENTS; i += 1) {
    const edge = scenario.service(i % 2 === 0 ? 'edge-1' : 'edge-2').url;
    scenario.join(scenario.clients.length, { rooms: [WIDE], edges: () => [edge] });
  }
  await scenario.allJoined();
  await scenario.publishes(50);

  scenario.service('edge-1').pause();
  await waitFor(
    async () => {
      const large = Array.from({ length: REVISIONS_AT_ONCE }, () =>
        publisher.data().replace('✓', 'x'.repeat(DATA_BYTES)),
      );
      await publisher.publish(WIDE, large);
      return /Slow Consumer/u.test(await nats.readLog());
    },
    { timeoutMs: 40_000, what: 'the server has cut the edge off' },
  );
  await scenario.publishes(50);
  scenario.service('edge-1').resume();

  await scenario.publishes(100);
  scenario.joinLate(8);
  await scenario.allJoined();
  await scenario.verify();
  expect(scenario.told).toEqual({});
  expect(Object.fromEntries(publisher.refusals)).toEqual({});
  expect(scenario.service('edge-1').log).toContain('connection to NATS lost');
});
