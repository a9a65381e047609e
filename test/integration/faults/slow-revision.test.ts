/**
 * A revision service that takes nothing from NATS for so long that the server cuts it off as a slow consumer, while clients
 * come and go: who is at the head notices nothing, the others wait for it.
 */
import { afterEach, expect, test } from 'vitest';
import { FaultScenario } from '../../support/fault-scenario.js';
import { NatsServer } from '../../support/nats-server.js';
import { testSeed } from '../../support/random.js';
import { waitFor } from '../../support/wait-for.js';

const WIDE = 'wide';
const DATA_BYTES = 20_000;
const REVISIONS_AT_ONCE = 20;
/** Entries of 400 KB: so many before, until the server sends much ahead, and at most so many until it has had enough. */
const BEFORE = 60;
const DURING = 200;
/** How long the server waits for a client whose kernel takes no more. */
const CONFIG = 'write_deadline: "1s"';

const seed = testSeed();
let scenario: FaultScenario | undefined;

afterEach(() => scenario?.dispose());

test(`[R14] a revision service that NATS cut off for being slow is whole again when it goes on (seed ${seed})`, async () => {
  const nats = await NatsServer.start({ config: CONFIG });
  scenario = await FaultScenario.start({ seed, name: 'slow revision service', nats });
  const { publisher } = scenario;
  const publishLarge = () =>
    publisher.publish(
      WIDE,
      Array.from({ length: REVISIONS_AT_ONCE }, () => publisher.data().replace('✓', 'x'.repeat(DATA_BYTES))),
    );
  const cuts = async () => (await nats.readLog()).match(/Slow Consumer/gu)?.length ?? 0;
  for (let i = 0; i < BEFORE; i += 1) await publishLarge();
  scenario.join(scenario.clients.length, { rooms: [WIDE] });
  await scenario.allJoined();
  expect(await cuts()).toBe(0);

  const revision = scenario.service('revision-1');
  revision.pause();
  for (let i = 0; i < DURING && (await cuts()) === 0; i += 1) await publishLarge();
  await waitFor(async () => (await cuts()) > 0, { what: 'the server has cut the revision service off' });
  for (const client of scenario.clients.slice(0, 20)) client.drop();
  await scenario.publishes(100);
  revision.resume();

  await scenario.cluster.ready();
  await scenario.publishes(50);
  scenario.joinLate(8);
  await scenario.allJoined();
  await scenario.verify();
  expect(scenario.told).toEqual({});
  expect(Object.fromEntries(publisher.refusals)).toEqual({});
  expect(revision.log).toContain('connection to NATS lost');
});
