/** Clients that sleep over thousands of revisions, with an open socket or none, and clients that come and go all the time. */
import { afterEach, expect, test } from 'vitest';
import { FaultScenario } from '../../support/fault-scenario.js';
import { testSeed } from '../../support/random.js';

const DEEP = 'deep';
const REVISIONS = 4_000;
const REVISIONS_AT_ONCE = 50;
const FILLING = 1_500;
const SLEEPERS = 12;
const ABSENT = 12;
const FLAPPERS = 20;
const FLAP_MS = 100;
const FLAPPING_MS = 3_000;

const seed = testSeed();
let scenario: FaultScenario | undefined;
let flapping: NodeJS.Timeout | undefined;

afterEach(async () => {
  clearInterval(flapping);
  await scenario?.dispose();
});

test(`[D1] clients that sleep over ${REVISIONS} revisions, or flap every ${FLAP_MS} ms, have everything once (seed ${seed})`, async () => {
  scenario = await FaultScenario.start({ seed, name: 'sleepers' });
  const { publisher } = scenario;
  const more = (count: number, options: object) =>
    Array.from({ length: count }, () => scenario?.join(scenario.clients.length, options)).flatMap((one) => one ?? []);
  const deep = { rooms: [DEEP] };
  const sleepers = more(SLEEPERS, deep);
  const absent = more(ABSENT, deep);
  more(4, deep);
  const flappers = more(FLAPPERS, { rooms: [scenario.rooms[0], DEEP], reconnectMs: 0 });
  await publisher.publish(DEEP, [publisher.data()]);
  await scenario.allJoined();

  for (const client of sleepers) client.sleep();
  for (const client of absent) client.goAway();
  flapping = setInterval(() => {
    for (const client of flappers) client.drop();
  }, FLAP_MS);
  for (let i = 0; i < REVISIONS; i += REVISIONS_AT_ONCE) {
    await publisher.publish(
      DEEP,
      Array.from({ length: REVISIONS_AT_ONCE }, () => publisher.data(FILLING)),
    );
  }
  for (const client of [...sleepers, ...absent]) expect(client.positionIn(DEEP)?.rev ?? 0).toBeLessThan(10);
  await new Promise((resolve) => setTimeout(resolve, FLAPPING_MS));
  for (const client of absent) client.comeBack();
  for (const client of sleepers) client.wake();
  await scenario.publishes(200);
  clearInterval(flapping);
  scenario.joinLate(8);
  await scenario.allJoined();
  await scenario.verify();
  expect(scenario.told).toEqual({});
  const flaps = flappers.reduce((sum, client) => sum + client.reconnects, 0);
  expect(flaps).toBeGreaterThan(FLAPPERS * 10);
  // Who sleeps stays connected.
  for (const client of sleepers) expect(client.reconnects).toBe(0);
});
