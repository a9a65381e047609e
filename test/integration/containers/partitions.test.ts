/** The network inside the cluster is cut: nothing is refused, nothing is reset, nothing comes. Then it is healed. */
import { afterEach, expect, test } from 'vitest';
import { ContainerScenario } from '../../support/containers/scenario.js';
import { testSeed } from '../../support/random.js';

/** Longer than it takes anyone to notice (3 s), and than an election. */
const CUT_MS = 8_000;

const seed = testSeed();
let scenario: ContainerScenario | undefined;

afterEach(async ({ task }) => {
  await scenario?.end(task.result?.state === 'fail');
});

async function start(name: string): Promise<ContainerScenario> {
  scenario = await ContainerScenario.start({ name, seed });
  await scenario.publishes(200);
  return scenario;
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

test(`[I4] [D5] an edge that is cut off from the cluster repairs what it missed; its clients stay (seed ${seed})`, async () => {
  const running = await start('an edge cut off');
  const edge = running.cluster.service('edge-2');
  await edge.cutOff();
  const before = running.checker.received;
  await Promise.all([running.publishes(200), rest(CUT_MS)]);
  // The others' clients go on.
  expect(running.checker.received).toBeGreaterThan(before);
  await edge.reconnect();
  await running.publishes(100);
  for (const client of running.clients.slice(0, 30)) client.drop();
  running.joinLate(20);
  await running.allJoined();
  await running.verify();
  expect(running.checker.longestAbsence().behindMs).toBeGreaterThan(CUT_MS / 2);
});

test(`[I4] a node of NATS, the leader of the log, is cut off and comes back: all agree (seed ${seed})`, async () => {
  const running = await start('a node of NATS cut off');
  const { nats } = running.cluster;
  const leader = await nats.leader();
  await leader.cutOff();
  const cut = rest(CUT_MS);
  expect(await nats.deposed(leader)).not.toBe(leader);
  await cut;
  await leader.reconnect();
  await nats.formed();
  await running.publishes(200);
  for (const client of running.clients.slice(0, 30)) client.drop();
  await running.verify();
});
