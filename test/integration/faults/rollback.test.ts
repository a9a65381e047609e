/** An older copy of NATS' files is put back under running services: what was acknowledged since is gone from the log. */
import { afterEach, expect, test } from 'vitest';
import { FaultScenario, faultSeed } from '../../support/fault-scenario.js';

/** Published to all the time; until shortly before the loss; not since the copy was made. */
const BUSY = ['busy-1', 'busy-2', 'busy-3'] as const;
const FALLOW = 'fallow';
const QUIET = 'quiet';

const seed = faultSeed();
let scenario: FaultScenario | undefined;

afterEach(() => scenario?.dispose());

test(`[D7] when the log is rolled back clients are told epoch_changed, agree on every revision, and get all that follows (seed ${seed})`, async () => {
  scenario = await FaultScenario.start({
    seed,
    name: 'rollback',
    rooms: [...BUSY, FALLOW, QUIET],
    publisher: { rooms: BUSY },
    clientsBeginAnew: true,
  });
  const { publisher } = scenario;
  for (const room of [FALLOW, QUIET]) await publisher.publish(room, [publisher.data(), publisher.data()]);
  await scenario.publishes(100);
  const putBack = await scenario.nats.copyStore();
  await publisher.publish(FALLOW, [publisher.data()]);
  await scenario.publishes(200);

  await putBack();
  await scenario.cluster.ready();
  await scenario.publishes(200);
  scenario.joinLate(10);
  await scenario.allJoined();
  publisher.forget(FALLOW, 3);
  await scenario.verify();

  for (const room of BUSY) expect(publisher.epochsOf(room)).toHaveLength(2);
  expect(Object.keys(scenario.told)).toEqual(['epoch_changed']);
  const first = scenario.clients.slice(0, 200);
  for (const client of first) {
    const told = new Set(client.refusals.map(({ room }) => room));
    expect(told).toEqual(new Set(client.rooms.filter((room) => room !== QUIET)));
  }
});
