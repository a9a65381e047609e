/** Cuts entries to the range that was asked for. A cut entry keeps its tag and seq; its revisions keep their numbers. */
import { lastRev, type Entry, type RangeOptions } from './log.js';

/** The part of the entry from `fromRev` on, at most `limit` revisions. `fromRev` must lie in the entry. */
export function cutEntry(entry: Entry, fromRev: number, limit: number): Entry {
  const skip = Math.max(0, fromRev - entry.firstRev);
  if (skip === 0 && entry.revisions.length <= limit) return entry;
  return {
    ...entry,
    firstRev: entry.firstRev + skip,
    ...(skip === 0 ? {} : { previousTag: entry.tag }),
    previousTime: skip === 0 ? entry.previousTime : (entry.revisions[skip - 1]?.time ?? 0),
    revisions: entry.revisions.slice(skip, skip + limit),
  };
}

/** Bytes of the entry's revisions, as `maxBytes` of a range counts them, or of its base. */
export function entryBytes(entry: Entry): number {
  let bytes = entry.base?.length ?? 0;
  for (const revision of entry.revisions) bytes += revision.data.length + (revision.author?.length ?? 0);
  return bytes;
}

/**
 * Collects consecutive entries from `fromRev` on until `limit` revisions or `maxBytes` are reached; the first entry is
 * always taken.
 */
export class RangeCollector {
  readonly entries: Entry[] = [];
  private nextRev: number;
  private left: number;
  private bytesLeft: number;

  constructor(fromRev: number, options: Pick<RangeOptions, 'limit' | 'maxBytes'>) {
    this.nextRev = fromRev;
    this.left = options.limit;
    this.bytesLeft = options.maxBytes;
  }

  /**
   * Takes the room's next entry; false when the range is complete without it. Entries before the range are skipped, and
   * so is a base, which ends before the first revision that can be asked for.
   */
  add(entry: Entry): boolean {
    if (this.left === 0) return false;
    if (lastRev(entry) < this.nextRev) return true;
    const cut = cutEntry(entry, this.nextRev, this.left);
    const bytes = entryBytes(cut);
    if (this.entries.length > 0 && bytes > this.bytesLeft) return false;
    this.entries.push(cut);
    this.nextRev = lastRev(cut) + 1;
    this.left -= cut.revisions.length;
    this.bytesLeft -= bytes;
    return this.left > 0 && this.bytesLeft > 0;
  }
}
