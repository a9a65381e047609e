/** The main job on a whole cluster in containers: the product's image, three NATS servers, three edges. */
import { afterEach, expect, test } from 'vitest';
import { ContainerScenario } from '../../support/containers/scenario.js';
import { testSeed } from '../../support/random.js';

const seed = testSeed();
let scenario: ContainerScenario | undefined;

afterEach(async ({ task }) => {
  await scenario?.end(task.result?.state === 'fail');
});

test(`[I4] a cluster of the image delivers every revision once and in order, to late and lost clients too (seed ${seed})`, async () => {
  scenario = await ContainerScenario.start({ name: 'main job', seed });
  await scenario.publishes(300);
  scenario.joinLate(20);
  for (const client of scenario.clients.slice(0, 40)) client.drop();
  await scenario.publishes(300);
  await scenario.allJoined();
  await scenario.verify();
  expect(scenario.checker.received).toBeGreaterThan(20_000);
});
