/** A revision service dies while all clients come back at once, from far behind. */
import { afterEach, expect, test } from 'vitest';
import { ContainerScenario } from '../../support/containers/scenario.js';
import { testSeed } from '../../support/random.js';
import { waitFor } from '../../support/wait-for.js';

const LATE_CLIENTS = 60;
const ALL_BACK_MS = 60_000;

const seed = testSeed();
let scenario: ContainerScenario | undefined;

afterEach(async ({ task }) => {
  await scenario?.end(task.result?.state === 'fail');
});

test(`[I4] a revision service is killed during a reconnect storm: the other one serves all, nothing is missed (seed ${seed})`, async () => {
  scenario = await ContainerScenario.start({ name: 'revision service killed in a storm', seed });
  const { cluster, clients } = scenario;
  await scenario.publishes(200);
  // They miss enough that what they need is in no edge's ring.
  for (const client of clients) client.goAway();
  await scenario.publishes(1_000);
  for (const client of clients) client.comeBack();
  scenario.joinLate(LATE_CLIENTS);
  await cluster.service('revision-1').kill();
  await waitFor(() => clients.every((client) => client.connected), { timeoutMs: ALL_BACK_MS, what: 'all are back' });
  await scenario.allJoined();
  await scenario.publishes(100);
  await cluster.service('revision-1').start();
  await cluster.ready('revision-1');
  await scenario.publishes(100);
  await scenario.verify();
  expect(scenario.checker.received).toBeGreaterThan(LATE_CLIENTS * 200);
});
