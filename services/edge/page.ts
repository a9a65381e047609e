/** A catch-up page: consecutive revisions of a room, shared by all members who are sent from it. */
import { RangeFrames, type SlotSource } from './frames.js';
import type { Slot } from './slot.js';

export class Page implements SlotSource {
  /** Frames of several of its revisions. */
  readonly ranges = new RangeFrames();
  readonly bytes: number;

  constructor(
    readonly firstRev: number,
    readonly slots: readonly Slot[],
  ) {
    this.bytes = slots.reduce((sum, slot) => sum + slot.bytes, 0);
  }

  /** rev of the last revision; firstRev - 1 when it is empty. */
  get lastRev(): number {
    return this.firstRev + this.slots.length - 1;
  }

  get(rev: number): Slot | undefined {
    return this.slots[rev - this.firstRev];
  }
}
