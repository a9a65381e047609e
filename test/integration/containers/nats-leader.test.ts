/** The node that leads the log's stream is lost: killed, and stopped in its tracks for a while. */
import { afterEach, expect, test } from 'vitest';
import { ContainerScenario } from '../../support/containers/scenario.js';
import { testSeed } from '../../support/random.js';

/** At least: longer than an election. */
const PAUSE_MS = 10_000;
/** Publishing may take so long to go on behind an election, while the old leader still stands still. */
const GOES_ON_MS = 30_000;

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

test(`[I4] the leader of the log is killed: log, replicas and every client agree byte for byte (seed ${seed})`, async () => {
  const running = await start('JetStream leader killed');
  const { nats } = running.cluster;
  const leader = await nats.leader();
  await leader.kill();
  expect(await nats.deposed(leader)).not.toBe(leader);
  await running.publishes(200);
  await leader.start();
  await running.publishes(200);
  await running.verify();
});

test(`[I4] the leader of the log stands still, publishing goes on meanwhile, and it comes back: log, replicas and every client agree byte for byte (seed ${seed})`, async () => {
  const running = await start('JetStream leader paused');
  const { nats } = running.cluster;
  const leader = await nats.leader();
  await leader.pause();
  const paused = new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  expect(await nats.deposed(leader)).not.toBe(leader);
  await running.publishes(200, GOES_ON_MS);
  await paused;
  await leader.resume();
  await running.publishes(300);
  for (const client of running.clients.slice(0, 30)) client.drop();
  await running.verify();
});
