/** An operator removes a room's history from the stream while everything runs. */
import { connect } from 'nats';
import { afterEach, expect, test } from 'vitest';
import { storedSubject, STREAM } from '../../../services/log/subjects.js';
import { FaultScenario } from '../../support/fault-scenario.js';
import { testSeed } from '../../support/random.js';

const seed = testSeed();
let scenario: FaultScenario | undefined;

afterEach(() => scenario?.dispose());

test(`[D7] when a room is purged its clients are told epoch_changed, then get all that follows; others notice nothing (seed ${seed})`, async () => {
  scenario = await FaultScenario.start({ seed, name: 'purge', clientsBeginAnew: true });
  await scenario.publishes(200);
  const [purged] = scenario.rooms;
  const connection = await connect({ servers: scenario.nats.url });
  const manager = await connection.jetstreamManager();
  await manager.streams.purge(STREAM, { filter: storedSubject(purged) });
  await connection.close();
  await scenario.publishes(300);
  scenario.joinLate(10);
  await scenario.allJoined();
  await scenario.verify();

  expect(scenario.publisher.epochsOf(purged)).toHaveLength(2);
  for (const room of scenario.rooms.slice(1)) expect(scenario.publisher.epochsOf(room)).toHaveLength(1);
  expect(Object.keys(scenario.told)).toEqual(['epoch_changed']);
  const refusals = scenario.clients.flatMap((client) => client.refusals);
  expect(new Set(refusals.map(({ room }) => room))).toEqual(new Set([purged]));
  const members = scenario.clients.slice(0, 200).filter(({ rooms }) => rooms.includes(purged));
  for (const client of members) expect(client.refusals).toHaveLength(1);
  expect(Object.fromEntries(scenario.publisher.refusals)).toEqual({});
});
