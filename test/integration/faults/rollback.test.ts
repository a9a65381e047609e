/**
 * An older copy of NATS' files is put back under running services: what was acknowledged since is gone from the log. Producers
 * that saw it begin a new epoch; where they were started anew too, the log goes on in the same one, under the same numbers.
 */
import { afterEach, expect, test } from 'vitest';
import { readHead } from '../../load/log-copy.js';
import { FaultScenario } from '../../support/fault-scenario.js';
import { testSeed } from '../../support/random.js';

/** Published to all the time; until shortly before the loss; not since the copy was made. */
const BUSY = ['busy-1', 'busy-2', 'busy-3'] as const;
const FALLOW = 'fallow';
const QUIET = 'quiet';

const seed = testSeed();
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

/** Rings so small that who comes late is served from pages. */
const FEW_IN_MEMORY = { env: { EDGE_RING_KEEP_REVISIONS: '8', EDGE_PAGE_REVISIONS: '20' } };

test(`[D7] when the log is rolled back and goes on in the same epoch, nobody is given what was lost once told (seed ${seed})`, async () => {
  scenario = await FaultScenario.start({
    seed,
    name: 'rollback in one epoch',
    rooms: BUSY,
    publisher: { rooms: BUSY },
    clientsBeginAnew: true,
    services: { 'edge-1': FEW_IN_MEMORY, 'edge-2': FEW_IN_MEMORY },
  });
  const { publisher, checker, nats } = scenario;
  await scenario.publishes(150);
  const putBack = await nats.copyStore();
  await scenario.publishes(300);
  // These leave pages of what is about to be lost at both edges and at the revision service.
  scenario.joinLate(20);
  await scenario.allJoined();
  await scenario.publishes(60);

  const producers = [scenario.service('producer-1'), scenario.service('producer-2')];
  for (const producer of producers) await producer.kill();
  for (const room of BUSY) checker.lost(room);
  // One edge comes to know of it only when the log has gone far beyond what was lost.
  const late = scenario.service('edge-2');
  late.pause();
  await putBack();
  const revision = scenario.service('revision-1');
  await revision.ready();
  let lost = 0;
  for (const room of BUSY) lost += publisher.lose(room, (await readHead(revision.url, room)).rev);
  expect(lost).toBeGreaterThan(300);
  for (const producer of producers) producer.start();
  await scenario.publishes(lost + 150);
  late.resume();
  await scenario.cluster.ready();
  await scenario.publishes(100);
  scenario.joinLate(20);
  await scenario.allJoined();
  await scenario.verify();

  for (const room of BUSY) expect(publisher.epochsOf(room)).toHaveLength(1);
  expect(Object.keys(scenario.told)).toEqual(['epoch_changed']);
  for (const { rooms, refusals } of scenario.clients.slice(0, 220)) {
    expect(new Set(refusals.map(({ room }) => room))).toEqual(new Set(rooms));
  }
});
