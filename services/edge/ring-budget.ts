/**
 * The bytes that the rings of all rooms may hold together. Rings tell it of each change; beyond the budget the largest
 * rings shrink first, by no more than what is over. Rings are kept by the power of two of their size, so that finding
 * one of the largest (within a factor of two) takes no search through 100,000 rooms: a push costs O(1), over budget too.
 * Limit: maxBytes, which holds after each push. Counter: ringEvictions. A ring that holds nothing is not known here.
 */
import type { EdgeCounters } from './counters.js';

/** What the budget needs of a ring. */
export interface BudgetedRing {
  readonly bytes: number;
  shrink(toBytes: number): void;
}

/** Size classes 1 to 32: rings of 2^(class-1) up to 2^class bytes, the last also what is larger. */
const CLASSES = 33;
const LARGEST_CLASSED = 0xffff_ffff;

export class RingBudget {
  /** Bytes in all rings. */
  bytes = 0;
  private readonly bySize: Set<BudgetedRing>[] = Array.from({ length: CLASSES }, () => new Set<BudgetedRing>());

  constructor(
    private readonly maxBytes: number,
    private readonly counters: EdgeCounters,
  ) {}

  /** The ring's bytes were `before` and are now `after`. */
  changed(ring: BudgetedRing, before: number, after: number): void {
    this.bytes += after - before;
    const oldClass = sizeClass(before);
    const newClass = sizeClass(after);
    if (oldClass === newClass) return;
    if (oldClass > 0) this.bySize[oldClass]?.delete(ring);
    if (newClass > 0) this.bySize[newClass]?.add(ring);
  }

  evicted(slots: number): void {
    this.counters.ringEvictions += slots;
  }

  /** Shrinks rings until they hold at most the budget together. */
  enforce(): void {
    while (this.bytes > this.maxBytes) {
      const ring = this.oneOfTheLargest();
      ring.shrink(Math.max(0, ring.bytes - (this.bytes - this.maxBytes)));
    }
  }

  private oneOfTheLargest(): BudgetedRing {
    for (let size = CLASSES - 1; size > 0; size--) {
      for (const ring of this.bySize[size] ?? []) return ring;
    }
    throw new Error('invariant broken: bytes over budget are in a ring');
  }
}

function sizeClass(bytes: number): number {
  return 32 - Math.clz32(Math.min(bytes, LARGEST_CLASSED));
}
