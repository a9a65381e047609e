/**
 * The idempotency keys that a room's writer remembers: those of the last `revisions` revisions and those younger than
 * `ageMs`, whichever is more, at most MAX_KEYS (then the oldest go first). Filled by reading entries in order, so two
 * writers that have read up to the same entry know the same keys.
 */
import { lastRev, type Appended, type Entry } from './log.js';

/** Bounds the memory of a room that is written with keys at a high rate. */
const MAX_KEYS = 100_000;

interface Remembered {
  readonly answer: Appended;
  readonly time: number;
}

export class KeyWindow {
  private readonly remembered = new Map<string, Remembered>();

  constructor(private readonly bounds: { revisions: number; ageMs: number }) {}

  get size(): number {
    return this.remembered.size;
  }

  /** The answer that the first append with this key was given, as a duplicate's answer. */
  find(key: string): Appended | undefined {
    return this.remembered.get(key)?.answer;
  }

  /** Takes the keys of the room's next entry. */
  add(entry: Entry): void {
    entry.revisions.forEach((revision, index) => {
      if (revision.key === undefined || this.remembered.has(revision.key)) return;
      const firstRev = entry.firstRev + index;
      const rev = Math.min(firstRev + (revision.appendSize ?? 1) - 1, lastRev(entry));
      const time = entry.revisions[rev - entry.firstRev]?.time ?? revision.time;
      const { epoch, tag, seq } = entry;
      this.remembered.set(revision.key, { answer: { epoch, firstRev, rev, tag, seq, time, duplicate: true }, time });
    });
  }

  /** Forgets what is outside the window. Times come from the room's entries, `now` from the same kind of clock. */
  prune(headRev: number, now: number): void {
    for (const [key, { answer, time }] of this.remembered) {
      const outside = answer.rev <= headRev - this.bounds.revisions && time < now - this.bounds.ageMs;
      if (!outside && this.remembered.size <= MAX_KEYS) return;
      this.remembered.delete(key);
    }
  }
}
