/** A nats-server that stands still: connections stay, nothing answers, then everything goes on. */
import { afterEach, expect, test } from 'vitest';
import { FaultScenario } from '../../support/fault-scenario.js';
import { testSeed } from '../../support/random.js';

const PAUSE_MS = 20_000;

const seed = testSeed();
let scenario: FaultScenario | undefined;

afterEach(() => scenario?.dispose());

test(`[D1] when NATS stands still for 20 s nobody loses anything, and publishers are told to try again (seed ${seed})`, async () => {
  scenario = await FaultScenario.start({ seed, name: 'nats paused' });
  await scenario.publishes(100);
  await scenario.nats.pause();
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS / 2));
  // Some come back while nothing answers.
  for (const client of scenario.clients.slice(0, 20)) client.drop();
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS / 2));
  scenario.nats.resume();
  await scenario.publishes(200);
  scenario.joinLate(8);
  await scenario.allJoined();
  await scenario.verify();
  expect(scenario.told).toEqual({});
  const refusals = [...scenario.publisher.refusals.keys()];
  expect(refusals.length).toBeGreaterThan(0);
  for (const code of refusals) expect(['log_unavailable', 'outcome_unknown']).toContain(code);
});
