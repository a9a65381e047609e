/** The NATS servers are restarted, one after the other, as an upgrade does, while publishing goes on. */
import { afterEach, expect, test } from 'vitest';
import { ContainerScenario } from '../../support/containers/scenario.js';
import { testSeed } from '../../support/random.js';

const seed = testSeed();
let scenario: ContainerScenario | undefined;

afterEach(async ({ task }) => {
  await scenario?.end(task.result?.state === 'fail');
});

test(`[I4] a rolling restart of all NATS servers under load loses and repeats nothing; clients stay (seed ${seed})`, async () => {
  scenario = await ContainerScenario.start({ name: 'rolling restart of NATS', seed });
  const { nats } = scenario.cluster;
  await scenario.publishes(100);
  for (const node of nats.nodes) {
    await node.stop();
    await scenario.publishes(50);
    await node.start();
    // The next one only when this one has all: as readiness probes see to it.
    await nats.formed();
    await nats.current();
    await scenario.publishes(50);
  }
  scenario.joinLate(20);
  await scenario.allJoined();
  await scenario.verify();
  expect(scenario.clients.reduce((sum, client) => sum + client.reconnects, 0)).toBe(0);
});
