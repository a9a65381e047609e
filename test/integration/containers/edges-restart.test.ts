/** All edges are restarted, one after the other, as a deployment does, while publishing goes on. */
import { afterEach, expect, test } from 'vitest';
import { ContainerScenario, faultSeed } from '../../support/containers/scenario.js';

const seed = faultSeed();
let scenario: ContainerScenario | undefined;

afterEach(async ({ task }) => {
  await scenario?.end(task.result?.state === 'fail');
});

test(`[I4] a rolling restart of all edges under load loses and repeats nothing (seed ${seed})`, async () => {
  scenario = await ContainerScenario.start({ name: 'rolling restart of all edges', seed });
  const { cluster } = scenario;
  await scenario.publishes(100);
  for (const edge of cluster.all('edge')) {
    const before = scenario.publisher.acknowledged;
    // In order, and nothing had to be cut: the exit code says so.
    expect(await edge.stop()).toBe(0);
    await edge.start();
    await cluster.ready(edge.name);
    expect(scenario.publisher.acknowledged).toBeGreaterThan(before);
    await scenario.publishes(100);
  }
  scenario.joinLate(20);
  await scenario.allJoined();
  await scenario.publishes(50);
  await scenario.verify();
  const reconnects = scenario.clients.reduce((sum, client) => sum + client.reconnects, 0);
  // Everybody was on an edge that stopped, at least once.
  expect(reconnects).toBeGreaterThanOrEqual(scenario.clients.length - 20);
});
