import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EdgeCounters } from '../../services/edge/counters.js';
import { CountedRing } from '../../services/edge/counted-ring.js';
import type { FrameRing, RingBounds, RingSlot } from '../../services/edge/frame-ring.js';
import { RingBudget } from '../../services/edge/ring-budget.js';

const BOUNDS: RingBounds = { keepRevisions: 1_000, keepBytes: 1e9, maxRevisions: 1_000, maxBytes: 1e9 };

function rooms(count: number, maxBytes: number) {
  const counters = new EdgeCounters();
  const budget = new RingBudget(maxBytes, counters);
  const rings: FrameRing<RingSlot>[] = Array.from({ length: count }, () => new CountedRing(0, BOUNDS, budget));
  return { counters, budget, rings };
}

describe('the budget of all rings', () => {
  test('[F7] beyond it the largest ring shrinks, by no more than is over, and small ones keep what they have', () => {
    const { counters, budget, rings } = rooms(3, 1_000);
    const [small, large, middle] = rings;
    for (let i = 0; i < 5; i++) small?.push({ bytes: 10 });
    for (let i = 0; i < 20; i++) middle?.push({ bytes: 10 });
    for (let i = 0; i < 75; i++) large?.push({ bytes: 10 });
    expect([budget.bytes, counters.ringEvictions]).toEqual([1_000, 0]);
    small?.push({ bytes: 10 });
    expect([small?.bytes, middle?.bytes, large?.bytes]).toEqual([60, 200, 740]);
    expect([budget.bytes, counters.ringEvictions]).toEqual([1_000, 1]);
  });

  test('[F7] what a cleared ring held is free again', () => {
    const { budget, rings } = rooms(2, 1_000);
    for (let i = 0; i < 90; i++) rings[0]?.push({ bytes: 10 });
    rings[0]?.clear(0);
    expect(budget.bytes).toBe(0);
    for (let i = 0; i < 90; i++) rings[1]?.push({ bytes: 10 });
    expect([budget.bytes, rings[1]?.count]).toEqual([900, 90]);
  });

  test('[F7] holds after every push, whatever the rings, and takes only from rings of the largest size class', () => {
    const push = fc.record({ ring: fc.nat({ max: 7 }), bytes: fc.integer({ min: 1, max: 300 }) });
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3_000 }),
        fc.array(push, { maxLength: 300, size: 'max' }),
        (maxBytes, pushes) => {
          const { budget, rings } = rooms(8, maxBytes);
          for (const { ring, bytes } of pushes) {
            const before = rings.map((each, index) => each.bytes + (index === ring ? bytes : 0));
            const largest = Math.max(...before);
            rings[ring]?.push({ bytes });
            expect(budget.bytes).toBe(rings.reduce((sum, each) => sum + each.bytes, 0));
            expect(budget.bytes).toBeLessThanOrEqual(maxBytes);
            const shrunk = rings.filter((each, index) => each.bytes < (before[index] ?? 0));
            if (shrunk.length === 1) {
              const index = rings.findIndex((each) => each === shrunk[0]);
              expect(before[index] ?? 0).toBeGreaterThan(largest / 2 - 1);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test('[F7] a ring of more than 4 GiB is one of the largest', () => {
    const bounds = { ...BOUNDS, keepBytes: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };
    const budget = new RingBudget(5 * 2 ** 30, new EdgeCounters());
    const small = new CountedRing(0, bounds, budget);
    const large = new CountedRing(0, bounds, budget);
    small.push({ bytes: 2 ** 30 });
    for (let i = 0; i < 5; i++) large.push({ bytes: 2 ** 30 });
    expect([small.bytes, large.bytes]).toEqual([2 ** 30, 4 * 2 ** 30]);
  });
});
