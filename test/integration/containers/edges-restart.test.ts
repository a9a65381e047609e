/** All edges are restarted, one after the other, as a deployment does, while publishing goes on. */
import { afterEach, expect, test } from 'vitest';
import { ContainerScenario } from '../../support/containers/scenario.js';
import { testSeed } from '../../support/random.js';

const LOOK_MS = 100;
const PER_SECOND = 1_000 / LOOK_MS;

const seed = testSeed();
let scenario: ContainerScenario | undefined;

afterEach(async ({ task }) => {
  await scenario?.end(task.result?.state === 'fail');
});

test(`[I4] a rolling restart of all edges under load loses and repeats nothing, and does not send all clients away at once (seed ${seed})`, async () => {
  scenario = await ContainerScenario.start({ name: 'rolling restart of all edges', seed });
  const { cluster } = scenario;
  await scenario.publishes(100);
  for (const edge of cluster.all('edge')) {
    const before = scenario.publisher.acknowledged;
    const reconnects = watchReconnects(scenario);
    // In order, and nothing had to be cut: the exit code says so.
    expect(await edge.stop()).toBe(0);
    const { total, mostPerSecond } = reconnects.stop();
    // A drain of 5 s, or 20 a second: never all at once.
    expect(total).toBeGreaterThan(20);
    expect(mostPerSecond).toBeLessThan(total * 0.7);
    await edge.start();
    await cluster.ready(edge.name);
    expect(scenario.publisher.acknowledged).toBeGreaterThan(before);
    await scenario.publishes(100);
  }
  scenario.joinLate(20);
  await scenario.allJoined();
  await scenario.publishes(50);
  await scenario.verify();
});

/** Counts how many clients connect again, looking every 100 ms. */
function watchReconnects({ clients }: ContainerScenario): { stop(): { total: number; mostPerSecond: number } } {
  const count = (): number => clients.reduce((sum, client) => sum + client.reconnects, 0);
  const counts = [count()];
  const timer = setInterval(() => counts.push(count()), LOOK_MS);
  return {
    stop() {
      clearInterval(timer);
      counts.push(count());
      const since = (index: number): number => counts[Math.max(0, index - PER_SECOND)] ?? 0;
      return {
        total: (counts.at(-1) ?? 0) - (counts[0] ?? 0),
        mostPerSecond: Math.max(...counts.map((reached, index) => reached - since(index))),
      };
    },
  };
}
