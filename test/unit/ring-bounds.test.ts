import { describe, expect, test } from 'vitest';
import { EdgeCounters } from '../../services/edge/counters.js';
import {
  isOvertaken,
  NO_PLACE,
  type FrameRing,
  type RingBounds,
  type RingReader,
  type RingSlot,
} from '../../services/edge/frame-ring.js';
import { RingBudget } from '../../services/edge/ring-budget.js';
import { newRing, RING_KINDS, type RingKind } from '../../services/edge/ring-choice.js';

const UNBOUNDED = Number.POSITIVE_INFINITY;
const LOOSE: RingBounds = { keepRevisions: 0, keepBytes: 0, maxRevisions: 1_000_000, maxBytes: UNBOUNDED };

function open(kind: RingKind, bounds: Partial<RingBounds> = {}, headRev = 0) {
  const counters = new EdgeCounters();
  const budget = new RingBudget(UNBOUNDED, counters);
  return { counters, ring: newRing<RingSlot>(kind, headRev, { ...LOOSE, ...bounds }, budget) };
}

function readerAt(ring: FrameRing<RingSlot>, cursor: number): RingReader {
  const reader = { cursor: 0, place: NO_PLACE };
  ring.join(reader, cursor);
  return reader;
}

function pushAll(ring: FrameRing<RingSlot>, count: number, bytes = 10): void {
  for (let i = 0; i < count; i++) ring.push({ bytes });
}

describe.each(RING_KINDS)('the %s ring', (kind) => {
  test('[F5] a slot stays while a reader stands on it or before it, and goes when the last has passed', () => {
    const { ring, counters } = open(kind);
    const slow = readerAt(ring, 0);
    const fast = readerAt(ring, 0);
    pushAll(ring, 100);
    ring.advance(fast, 100);
    expect([ring.firstRev, ring.count]).toEqual([1, 100]);
    ring.advance(slow, 60);
    expect([ring.firstRev, ring.count]).toEqual([61, 40]);
    ring.leave(slow);
    expect([ring.firstRev, ring.count]).toEqual([100, 1]);
    expect(counters.ringEvictions).toBe(0);
  });

  test('[F5] slots on which nobody stands stay for resuming clients, within both bounds', () => {
    const byCount = open(kind, { keepRevisions: 8, keepBytes: 1_000 }).ring;
    pushAll(byCount, 50);
    expect([byCount.firstRev, byCount.count]).toEqual([43, 8]);
    const byBytes = open(kind, { keepRevisions: 8, keepBytes: 45 }).ring;
    pushAll(byBytes, 50);
    expect([byBytes.firstRev, byBytes.bytes]).toEqual([47, 40]);
  });

  test('[F5] the hard bounds take slots from under readers, who then know that they are overtaken', () => {
    const { ring, counters } = open(kind, { maxRevisions: 5 });
    const slow = readerAt(ring, 0);
    const waiting = readerAt(ring, 0);
    pushAll(ring, 5);
    ring.advance(waiting, 5);
    expect(isOvertaken(ring, slow)).toBe(false);
    ring.push({ bytes: 10 });
    expect(isOvertaken(ring, slow)).toBe(true);
    // Nobody stands on 2 to 5 any more.
    expect([ring.firstRev, counters.ringEvictions]).toEqual([6, 1]);
    expect(isOvertaken(ring, waiting)).toBe(false);
  });

  test('[F5] a revision larger than the bound is still kept while it is the newest', () => {
    const { ring } = open(kind, { maxBytes: 100 });
    const reader = readerAt(ring, 0);
    pushAll(ring, 3);
    ring.push({ bytes: 5_000 });
    expect([ring.firstRev, ring.headRev, ring.bytes]).toEqual([4, 4, 5_000]);
    expect(isOvertaken(ring, reader)).toBe(true);
    ring.push({ bytes: 10 });
    expect([ring.firstRev, ring.bytes]).toEqual([5, 10]);
  });

  test('[F5] a reader that was overtaken is put in again where the ring begins', () => {
    const { ring } = open(kind, { maxRevisions: 4 });
    const reader = readerAt(ring, 0);
    pushAll(ring, 12);
    ring.advance(reader, 5);
    expect(isOvertaken(ring, reader)).toBe(true);
    ring.join(reader, 11);
    expect(isOvertaken(ring, reader)).toBe(false);
    pushAll(ring, 3);
    expect(ring.firstRev).toBe(12);
  });

  test('[F5] after a clear old places hold nothing, whether the numbering goes back or on', () => {
    for (const newHead of [0, 5, 1_000]) {
      const { ring } = open(kind);
      const reader = readerAt(ring, 0);
      const waiting = readerAt(ring, 0);
      pushAll(ring, 20);
      ring.advance(reader, 7);
      ring.advance(waiting, 20);
      ring.clear(newHead);
      expect([ring.headRev, ring.firstRev, ring.count, ring.bytes]).toEqual([newHead, newHead + 1, 0, 0]);
      pushAll(ring, 30);
      expect([ring.firstRev, ring.count]).toEqual([newHead + 30, 1]);
      ring.leave(reader);
      ring.join(waiting, newHead + 29);
      pushAll(ring, 2);
      expect([ring.firstRev, ring.count]).toEqual([newHead + 30, 3]);
    }
  });

  test('[F5] leaving twice is leaving once', () => {
    const { ring } = open(kind);
    const first = readerAt(ring, 0);
    readerAt(ring, 0);
    pushAll(ring, 3);
    ring.leave(first);
    ring.leave(first);
    expect(ring.firstRev).toBe(1);
  });

  test('[F5] a reader cannot be ahead of its ring', () => {
    const { ring } = open(kind);
    pushAll(ring, 3);
    expect(() => {
      readerAt(ring, 4);
    }).toThrow('ahead of its ring');
  });
});
