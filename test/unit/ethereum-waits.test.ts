import { describe, expect, it } from 'vitest';
import { Backoff } from '../../services/producer/sources/backoff.js';
import { Wakeup } from '../../services/producer/sources/wakeup.js';
import type { Clock } from '../../services/shared/clock.js';

/** A clock whose timers run when the test says so. */
class StoppedClock implements Clock {
  readonly timers = new Set<() => void>();
  now = () => 0;
  monotonic = () => 0;
  after(_delayMs: number, action: () => void): () => void {
    this.timers.add(action);
    return () => void this.timers.delete(action);
  }
  run(): void {
    for (const action of this.timers) action();
    this.timers.clear();
  }
}

describe('waits between attempts', () => {
  it('[E6] double up to the longest, and begin anew after a success', () => {
    const backoff = new Backoff({ firstMs: 100, maxMs: 1_000 }, () => 1);
    expect(Array.from({ length: 6 }, () => backoff.next())).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    backoff.reset();
    expect(backoff.next()).toBe(100);
  });

  it('[E6] are drawn from the upper half, and stay finite after any number of attempts', () => {
    const backoff = new Backoff({ firstMs: 100, maxMs: 1_000 }, () => 0);
    const waits = Array.from({ length: 5_000 }, () => backoff.next());
    expect(waits[0]).toBe(50);
    expect(waits.at(-1)).toBe(500);
  });
});

describe('waking the loop', () => {
  it('[E2] what comes before the wait is not lost, and counts once', async () => {
    const clock = new StoppedClock();
    const wakeup = new Wakeup(clock);
    wakeup.wake();
    wakeup.wake();
    expect(await wakeup.wait(1_000)).toBe(true);
    const second = wakeup.wait(1_000);
    clock.run();
    expect(await second).toBe(false);
  });

  it('[E2] what comes during the wait ends it, and its timer', async () => {
    const clock = new StoppedClock();
    const wakeup = new Wakeup(clock);
    const waiting = wakeup.wait(1_000);
    wakeup.wake();
    expect(await waiting).toBe(true);
    expect(clock.timers.size).toBe(0);
  });
});
