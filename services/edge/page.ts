/** A catch-up page: consecutive revisions of a room, shared by all members who are sent from it. */
import { RangeFrames, type SlotSource } from './frames.js';
import type { Slot } from './slot.js';

const RANGE_REVISIONS = 50;

export class Page implements SlotSource {
  /**
   * Frames of several of its revisions. They end at multiples of RANGE_REVISIONS, so that members who come from different
   * positions share all but their first; what is kept of them is bounded, and counted as if it were there.
   */
  readonly ranges: RangeFrames;
  readonly bytes: number;

  constructor(
    readonly firstRev: number,
    readonly slots: readonly Slot[],
  ) {
    const slotBytes = slots.reduce((sum, slot) => sum + slot.bytes, 0);
    this.ranges = new RangeFrames(slotBytes);
    this.bytes = 2 * slotBytes;
  }

  /** rev of the last revision; firstRev - 1 when it is empty. */
  get lastRev(): number {
    return this.firstRev + this.slots.length - 1;
  }

  /** Where a range that begins with `rev` ends at the latest. */
  rangeEnd(rev: number): number {
    return Math.ceil(rev / RANGE_REVISIONS) * RANGE_REVISIONS;
  }

  get(rev: number): Slot | undefined {
    return this.slots[rev - this.firstRev];
  }
}
