/** Every kind of process killed and started again, alone and in pairs, in an order that the seed decides. */
import { afterEach, expect, test } from 'vitest';
import type { ServiceProcess } from '../../support/cluster.js';
import { FaultScenario } from '../../support/fault-scenario.js';
import type { NatsServer } from '../../support/nats-server.js';
import { Random, testSeed } from '../../support/random.js';

const DOWN_MS: readonly [number, number] = [100, 1_200];
const VICTIMS = ['producer-1', 'producer-2', 'revision-1', 'edge-1', 'edge-2', 'nats'] as const;
const PAIRS = VICTIMS.flatMap((one, at) => VICTIMS.slice(at + 1).map((other) => [one, other]));

const seed = testSeed();
let scenario: FaultScenario | undefined;

afterEach(() => scenario?.dispose());

test(`[D1] whatever is killed with kill -9, alone or with another, every client has everything once (seed ${seed})`, async () => {
  scenario = await FaultScenario.start({ seed, name: 'kill' });
  const random = new Random(seed + 2);
  for (const victims of shuffled([...VICTIMS.map((name) => [name]), ...PAIRS], random)) {
    await scenario.publishes(random.whole(5, 40));
    const processes = victims.map((name) => processOf(name));
    for (const victim of processes) await victim.kill();
    await new Promise((resolve) => setTimeout(resolve, random.whole(...DOWN_MS)));
    for (const victim of processes) await victim.start();
    // Half of the time the next comes before these are ready.
    if (random.chance(0.5)) await scenario.cluster.ready();
    if (random.chance(0.3)) scenario.joinLate(4);
  }
  await scenario.cluster.ready();
  await scenario.publishes(50);
  await scenario.allJoined();
  await scenario.verify();
  expect(scenario.told).toEqual({});
}, 180_000);

function processOf(name: string): ServiceProcess | NatsServer {
  if (scenario === undefined) throw new Error('nothing runs');
  return name === 'nats' ? scenario.nats : scenario.service(name);
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item): [number, T] => [random.next(), item])
    .sort(([one], [other]) => one - other)
    .map(([, item]) => item);
}
