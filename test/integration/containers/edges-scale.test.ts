/** Edges are added and taken away under load. */
import { afterEach, expect, test } from 'vitest';
import { ContainerScenario } from '../../support/containers/scenario.js';
import { testSeed } from '../../support/random.js';

const seed = testSeed();
let scenario: ContainerScenario | undefined;

afterEach(async ({ task }) => {
  await scenario?.end(task.result?.state === 'fail');
});

test(`[I4] from one edge to three and back under load, nothing is lost or repeated (seed ${seed})`, async () => {
  scenario = await ContainerScenario.start({ name: 'scaled from one edge to three', seed, cluster: { edges: 1 } });
  const { cluster } = scenario;
  await scenario.publishes(100);
  for (const name of ['edge-2', 'edge-3']) {
    await cluster.add('edge', name);
    await cluster.ready(name);
  }
  // Whoever comes now finds three.
  for (const client of scenario.clients) client.drop();
  scenario.joinLate(20);
  await scenario.allJoined();
  await scenario.publishes(100);
  for (const name of ['edge-1', 'edge-2']) {
    expect(await cluster.retire(name)).toBe(0);
    await scenario.publishes(50);
  }
  await scenario.verify();
});
