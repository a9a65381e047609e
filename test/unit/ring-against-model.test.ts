import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EdgeCounters } from '../../services/edge/counters.js';
import { isOvertaken, NO_PLACE, type RingBounds, type RingReader } from '../../services/edge/frame-ring.js';
import { RingBudget } from '../../services/edge/ring-budget.js';
import { newRing, RING_KINDS, type RingKind } from '../../services/edge/ring-choice.js';
import { RingModel } from '../support/ring-model.js';

const READERS = 6;

type Step =
  | { readonly kind: 'push'; readonly bytes: number }
  | { readonly kind: 'join'; readonly reader: number; readonly back: number }
  | { readonly kind: 'advance'; readonly reader: number; readonly by: number }
  | { readonly kind: 'leave'; readonly reader: number }
  | { readonly kind: 'shrink'; readonly toBytes: number }
  | { readonly kind: 'clear'; readonly headRev: number };

const reader = fc.nat({ max: READERS - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('push'), bytes: fc.nat({ max: 40 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('join'), reader, back: fc.nat({ max: 40 }) }) },
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('advance'), reader, by: fc.nat({ max: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('leave'), reader }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('shrink'), toBytes: fc.nat({ max: 300 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear'), headRev: fc.nat({ max: 60 }) }) },
);
const bounds: fc.Arbitrary<RingBounds> = fc.record({
  keepRevisions: fc.nat({ max: 10 }),
  keepBytes: fc.nat({ max: 200 }),
  maxRevisions: fc.integer({ min: 1, max: 24 }),
  maxBytes: fc.nat({ max: 500 }),
});

/** Runs the steps on a ring and on the model; gives all that can be seen of both after each. */
function* follow(
  kind: RingKind,
  limits: RingBounds,
  startRev: number,
  budgetBytes: number,
  steps: readonly Step[],
): Generator<{ ring: unknown; model: unknown }> {
  const counters = new EdgeCounters();
  const budget = new RingBudget(budgetBytes, counters);
  const ring = newRing(kind, startRev, limits, budget);
  const model = new RingModel(startRev, limits, budgetBytes);
  const readers: RingReader[] = Array.from({ length: READERS }, () => ({ cursor: 0, place: NO_PLACE }));
  const at = (index: number): RingReader => readers[index] ?? { cursor: 0, place: NO_PLACE };

  let pushed = 0;

  for (const next of steps) {
    switch (next.kind) {
      case 'push': {
        const slot = { bytes: next.bytes, id: ++pushed };
        ring.push(slot);
        model.push(slot);
        break;
      }
      case 'join': {
        const cursor = Math.max(0, ring.headRev - next.back);
        ring.join(at(next.reader), cursor);
        model.place(next.reader, cursor);
        break;
      }
      case 'advance': {
        if (!model.readers.has(next.reader)) break;
        // After a clear a cursor may be above the head: such a reader starts again at the head.
        const rev = Math.min(ring.headRev, at(next.reader).cursor + next.by);
        ring.advance(at(next.reader), rev);
        model.place(next.reader, rev);
        break;
      }
      case 'leave':
        ring.leave(at(next.reader));
        model.leave(next.reader);
        break;
      case 'shrink':
        ring.shrink(next.toBytes);
        model.shrink(next.toBytes);
        break;
      case 'clear':
        ring.clear(next.headRev);
        model.clear(next.headRev);
        break;
    }
    const revs = Array.from({ length: model.slots.length + 4 }, (_, i) => model.firstRev - 2 + i);
    const joined = [...model.readers.keys()];
    yield {
      ring: {
        headRev: ring.headRev,
        firstRev: ring.firstRev,
        bytes: ring.bytes,
        count: ring.count,
        budgetBytes: budget.bytes,
        evictions: counters.ringEvictions,
        slots: revs.map((rev) => ring.get(rev)),
        readers: joined.map((index) => ({ cursor: at(index).cursor, overtaken: isOvertaken(ring, at(index)) })),
      },
      model: {
        headRev: model.headRev,
        firstRev: model.firstRev,
        bytes: model.bytes,
        count: model.slots.length,
        budgetBytes: model.bytes,
        evictions: model.evictions,
        slots: revs.map((rev) => model.slots.find((kept) => kept.rev === rev)?.slot),
        readers: [...model.readers.values()].map(({ cursor }) => ({ cursor, overtaken: cursor + 1 < model.firstRev })),
      },
    };
  }
}

describe.each(RING_KINDS)('the %s ring', (kind) => {
  test('[F6] does at each step what a naive model does: pushes, joins, advances, leaves, shrinks, clears', () => {
    fc.assert(
      fc.property(
        bounds,
        fc.nat({ max: 50 }),
        fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.nat({ max: 400 })),
        fc.array(step, { maxLength: 200, size: 'max' }),
        (limits, startRev, budgetBytes, steps) => {
          for (const seen of follow(kind, limits, startRev, budgetBytes, steps)) expect(seen.ring).toEqual(seen.model);
        },
      ),
      { numRuns: 500 },
    );
  });
});
