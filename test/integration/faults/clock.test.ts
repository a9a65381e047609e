/** Clocks of producers are set back by an hour, of one and then of both, and forward again. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readLog } from '../../load/log-copy.js';
import type { ServiceOptions } from '../../support/cluster.js';
import { FaultScenario } from '../../support/fault-scenario.js';
import { testSeed } from '../../support/random.js';

const SHIFT = new URL('../../support/clock-shift.ts', import.meta.url).href;
const HOUR_MS = 3_600_000;

const seed = testSeed();
let directory: string;
let scenario: FaultScenario | undefined;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'revcast-clock-'));
});

afterEach(async () => {
  await scenario?.dispose();
  await rm(directory, { recursive: true });
});

/** Sets a producer's clock so far beside the right time. */
function set(producer: string, ms: number): Promise<void> {
  return writeFile(join(directory, producer), String(ms));
}

async function clocked(producer: string): Promise<ServiceOptions> {
  await set(producer, 0);
  return { env: { NODE_OPTIONS: `--import=tsx --import=${SHIFT}`, CLOCK_SHIFT_FILE: join(directory, producer) } };
}

test(`[L10] when producers' clocks are set back, times stand still but never go back, and nothing is lost (seed ${seed})`, async () => {
  const services = { 'producer-1': await clocked('producer-1'), 'producer-2': await clocked('producer-2') };
  scenario = await FaultScenario.start({ seed, name: 'clock', services });
  await scenario.publishes(100);
  await set('producer-1', -HOUR_MS);
  await scenario.publishes(150);
  await set('producer-2', -HOUR_MS);
  await scenario.publishes(150);
  await set('producer-1', 0);
  await set('producer-2', 0);
  await scenario.publishes(100);
  scenario.joinLate(8);
  await scenario.allJoined();
  await scenario.verify();

  expect(scenario.told).toEqual({});
  expect(Object.fromEntries(scenario.publisher.refusals)).toEqual({});
  for (const room of scenario.rooms) {
    const { revisions } = await readLog(scenario.service('revision-1').url, room);
    const times = revisions.map(({ time }) => time);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    // While both clocks were behind, all revisions have the time of the last one before.
    const atOnce = new Map<number, number>();
    for (const time of times) atOnce.set(time, (atOnce.get(time) ?? 0) + 1);
    expect(Math.max(...atOnce.values())).toBeGreaterThan(10);
  }
});
