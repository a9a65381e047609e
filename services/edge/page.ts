/**
 * A catch-up page: consecutive revisions of a room, shared by all members who are sent from it, with what was prepared
 * of it: frames of single revisions (in its slots), of ranges, and runs of uncompressed messages. All of that begins at
 * fixed revisions too, so that members who come from different positions share all but their first. `bytes` grows with
 * what is prepared, deflated bodies included, and whoever keeps the page is told.
 */
import { RangeFrames, type RunSource, type RevisionRun } from './frames.js';
import type { Slot } from './slot.js';

const RANGE_REVISIONS = 50;

export class Page implements RunSource {
  /** Frames of several of its revisions, bounded. */
  readonly ranges: RangeFrames;
  /** By protocol and whether the socket deflates; each by revision: its run, null where it is in none. */
  readonly runs: (RevisionRun | null | undefined)[][] = [];
  bytes: number;
  /** Told by how much `bytes` has changed. */
  onGrown: (bytes: number) => void = () => undefined;
  /** The page behind it was asked for, ahead of who will need it. */
  isFollowed = false;

  /**
   * @param isComplete whether it has every revision that it will ever have; else it ended at the head
   * @param lastSeq the log's number of the entry that it ends in; 0: not known
   * @param tagBefore of the revision before the first, where it is known, which it may be where that is not kept any more
   */
  constructor(
    readonly firstRev: number,
    readonly slots: readonly Slot[],
    readonly isComplete: boolean,
    readonly lastSeq = 0,
    readonly tagBefore?: string,
  ) {
    const slotBytes = slots.reduce((sum, slot) => sum + slot.bytes, 0);
    this.bytes = slotBytes;
    this.ranges = new RangeFrames(slotBytes, (bytes) => {
      this.prepared(bytes);
    });
  }

  /** rev of the last revision; firstRev - 1 when it is empty. */
  get lastRev(): number {
    return this.firstRev + this.slots.length - 1;
  }

  /** Where a range that begins with `rev` ends at the latest. */
  rangeEnd(rev: number): number {
    return Math.min(Math.ceil(rev / RANGE_REVISIONS) * RANGE_REVISIONS, this.lastRev);
  }

  /** Where the run that has `rev` begins at the earliest. */
  runStart(rev: number): number {
    return Math.max(Math.floor((rev - 1) / RANGE_REVISIONS) * RANGE_REVISIONS + 1, this.firstRev);
  }

  get(rev: number): Slot | undefined {
    return this.slots[rev - this.firstRev];
  }

  prepared(bytes: number): void {
    this.bytes += bytes;
    this.onGrown(bytes);
  }
}
