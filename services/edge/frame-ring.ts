/**
 * The ring of a room: its newest revisions, one slot each, numbered by rev without holes, shared by all members.
 * A reader stands on the slot it is to be given next (cursor + 1), and so keeps that slot and all after it.
 * Two implementations behave alike: CountedRing (each slot counts who stands on it, everything is O(1)) and ScanRing
 * (the cached minimum of Node's stream broadcast, for comparison). Limits: RingBounds for a room, RingBudget for the
 * process. The newest slot goes only by `shrink` and `clear`, so that a revision larger than a bound is still delivered.
 */

/** A place in one ring. Only the ring writes to it; it begins as { cursor: 0, place: NO_PLACE }. */
export interface RingReader {
  /** rev of the last revision that the reader was given. */
  cursor: number;
  /** The ring's own mark of the slot it stands on; unlike a rev it is never used again, not even after `clear`. */
  place: number;
}

/** `place` of a reader that is in no ring. */
export const NO_PLACE = -1;

export interface RingSlot {
  /** What the slot costs in memory, with what will be prepared of it; read once, when it is pushed. */
  readonly bytes: number;
}

export interface RingBounds {
  /** Slots on which nobody stands stay for resuming clients, up to so many revisions … */
  readonly keepRevisions: number;
  /** … and so many bytes. */
  readonly keepBytes: number;
  /** Beyond these the oldest slots go even if readers stand on them. */
  readonly maxRevisions: number;
  readonly maxBytes: number;
}

export interface FrameRing<S extends RingSlot> {
  /** rev of the newest slot; what the ring was started with while nothing was pushed. */
  readonly headRev: number;
  /** rev of the oldest kept slot; headRev + 1 when empty. */
  readonly firstRev: number;
  readonly bytes: number;
  readonly count: number;

  /** The slot becomes headRev + 1; the oldest slots go by the bounds. */
  push(slot: S): void;
  get(rev: number): S | undefined;
  /** Puts the reader at `cursor` (at most headRev). Below firstRev - 1 it holds no slot. A reader that is in is moved. */
  join(reader: RingReader, cursor: number): void;
  /** The reader was given all up to `rev` (at most headRev). */
  advance(reader: RingReader, rev: number): void;
  /** Idempotent. */
  leave(reader: RingReader): void;
  /** Drops the oldest slots until at most `toBytes` remain; readers overtaken find cursor + 1 < firstRev. */
  shrink(toBytes: number): void;
  /**
   * Empties the ring and starts it after `headRev`, which may be lower or higher. Readers keep their cursor and hold
   * nothing; those that go on are put in with `join`. A ring that is no longer used is cleared.
   */
  clear(headRev: number): void;
}

/** Whether the ring no longer has what the reader is to be given next: it must be served from pages. */
export function isOvertaken(ring: FrameRing<RingSlot>, reader: RingReader): boolean {
  return reader.cursor + 1 < ring.firstRev;
}
