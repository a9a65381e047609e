/**
 * Reads a room's history: finds the entry that a range begins with, then reads on. The stream knows entries by seq, not
 * by rev, but along a room's entries both grow, so the place is found by probing seqs between two bounds:
 *
 *   low (before the range) ..... probe ..... ceiling (nothing of the room from here to found)  found (in the range)
 *
 * Only entries of the newest entry's epoch count: earlier ones are of a numbering that was given up.
 * Reads ask any replica and may be behind the newest entry, which came from the leader; what they lack the leader is
 * asked for. Nothing is answered that does not follow without a hole.
 */
import { RevcastError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { RangeCollector } from '../entry-range.js';
import { headOf, lastRev, type Entry, type Range, type RangeOptions } from '../log.js';
import type { ConsumerReader } from './consumer-reader.js';
import type { EntryReader } from './entry-reader.js';

/** Up to so many entries are read one by one, which costs less than a consumer. */
const SHORT_READ = 16;
/** From an entry so few entries behind the range the way back goes from each to the one before it. */
const NEAR_ENTRIES = 4;
/** So few revisions before the range it costs less to read on than to probe. */
const NEAR_REVISIONS = 16;

/** What is looked for: the first entry of the epoch that reaches `fromRev` or is as young as `sinceTime`. */
interface Target {
  readonly epoch: string;
  readonly fromRev: number;
  readonly sinceTime: number;
}

export class HistoryReader {
  constructor(
    private readonly reader: EntryReader,
    private readonly consumers: ConsumerReader,
    private readonly logger: Logger,
  ) {}

  /** See `Log.range`. */
  async range(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range> {
    const newest = await this.reader.confirmedLast(room);
    if (newest === null) return { kind: 'empty' };
    const head = headOf(newest);
    if (fromRev !== 'first' && fromRev > head.rev) return { kind: 'entries', entries: [], head };
    const target: Target = {
      epoch: newest.epoch,
      fromRev: fromRev === 'first' ? 0 : fromRev,
      sinceTime: Number.POSITIVE_INFINITY,
    };
    const start = await this.find(newest, target, options.hint);
    const from = fromRev === 'first' ? start.firstRev : fromRev;
    if (start.firstRev > from) return { kind: 'truncated', firstRev: start.firstRev, head };
    const collector = new RangeCollector(from, options);
    const revisions = Math.min(options.limit, head.rev - from + 1);
    await this.readOn(start, newest, revisions, (entry) => collector.add(entry));
    return { kind: 'entries', entries: collector.entries, head };
  }

  /** The room's entries up to `end`, from the first that reaches `fromRev` or is as young as `sinceTime`. */
  async until(end: Entry, window: { fromRev: number; sinceTime: number }): Promise<readonly Entry[]> {
    const target: Target = { epoch: end.epoch, ...window };
    if (!reaches(end, target)) return [];
    const start = await this.find(end, target, undefined);
    const entries: Entry[] = [];
    await this.readOn(start, end, lastRev(end) - start.firstRev + 1, (entry) => entries.push(entry) > 0);
    return entries;
  }

  /** The room's first entry that reaches the target; `newest` does. */
  private async find(newest: Entry, target: Target, hint: number | undefined): Promise<Entry> {
    let found = newest;
    let low: Entry | undefined;
    if (hint !== undefined && hint > 0 && hint < newest.seq && !isFirst(newest, target)) {
      const hinted = await this.entryFrom(newest, hint);
      if (!reaches(hinted, target)) low = hinted;
      else if (isNear(hinted, target)) {
        const walked = await this.walkBack(newest, target, hinted);
        if (walked.isFirst) return walked.found;
        found = walked.found;
      } else found = hinted;
    }
    if (isFirst(found, target)) return found;
    if (low === undefined) {
      const oldest = await this.entryFrom(newest, 1);
      if (reaches(oldest, target)) return oldest;
      low = oldest;
    }
    return this.narrow(newest, target, low, found);
  }

  private async narrow(newest: Entry, target: Target, below: Entry, reaching: Entry): Promise<Entry> {
    let low = below;
    let found = reaching;
    let ceiling = found.seq;
    for (let probes = 0; ceiling > low.seq + 1 && found.previousSeq > low.seq && !isFirst(found, target); probes += 1) {
      const probe = probeSeq({ low, found, ceiling }, target, probes % 2 === 1);
      const entry = await this.entryFrom(newest, probe);
      if (entry.seq >= found.seq) ceiling = probe;
      else if (reaches(entry, target)) {
        found = entry;
        ceiling = probe;
      } else low = entry;
    }
    return found;
  }

  /**
   * From an entry that reaches the target back by each to the first that does, or as far as a few steps get. Where older
   * ones were removed, the first is the oldest kept.
   */
  private async walkBack(newest: Entry, target: Target, from: Entry): Promise<{ found: Entry; isFirst: boolean }> {
    let found = from;
    for (let steps = 0; !isFirst(found, target); steps += 1) {
      if (steps === NEAR_ENTRIES) return { found, isFirst: false };
      if (found.previousSeq === 0) break;
      const before = await this.entryFrom(newest, found.previousSeq);
      if (before.seq >= found.seq || !reaches(before, target)) break;
      found = before;
    }
    return { found, isFirst: true };
  }

  /** Through a consumer, as far as that gets: one that was given to a node which is away never answers. */
  private async readMany(from: Entry, atMost: number, take: (entry: Entry) => boolean): Promise<void> {
    try {
      await this.consumers.read(from, atMost, take);
    } catch (error) {
      if (!(error instanceof RevcastError && error.code === 'log_unavailable')) throw error;
      this.logger.debug({ room: from.room, err: error }, 'a consumer failed; reading one by one');
    }
  }

  /** The room's first entry with a seq of `seq` or above; `newest` is one. */
  private async entryFrom(newest: Entry, seq: number): Promise<Entry> {
    const { room } = newest;
    const entry = (await this.reader.next(room, seq - 1)) ?? (await this.reader.confirmedNext(room, seq - 1));
    if (entry === null || entry.seq > newest.seq) {
      throw new RevcastError('log_unavailable', 'the history was removed while it was read');
    }
    return entry;
  }

  /** Gives `take` the entries from `start` to `end` while it wants more and each follows the one before. */
  private async readOn(start: Entry, end: Entry, revisions: number, take: (entry: Entry) => boolean): Promise<void> {
    let at = start;
    let more = take(start) && start.seq < end.seq;
    const accept = (entry: Entry): boolean => {
      const follows = entry.epoch === end.epoch && entry.firstRev === lastRev(at) + 1;
      at = entry;
      return follows && take(entry) && entry.seq < end.seq;
    };
    let singly = isLong(start, revisions) ? 0 : SHORT_READ;
    while (more) {
      if (singly === 0 && end.previousSeq !== at.seq) {
        // Once: where it fails, the rest is read one by one.
        singly = Number.POSITIVE_INFINITY;
        await this.readMany(at, revisions, (entry) => {
          more = accept(entry);
          return more;
        });
      } else {
        singly -= 1;
        more = accept(end.previousSeq === at.seq ? end : await this.entryFrom(end, at.seq + 1));
      }
    }
  }
}

/** Holds for all later entries of the epoch too. */
function reaches(entry: Entry, target: Target): boolean {
  return entry.epoch === target.epoch && (lastRev(entry) >= target.fromRev || headOf(entry).time >= target.sinceTime);
}

/** Whether an entry that reaches the target is certainly the first that does. */
function isFirst(entry: Entry, target: Target): boolean {
  return entry.firstRev === 1 || (entry.firstRev <= target.fromRev && entry.previousTime < target.sinceTime);
}

/** Whether the range begins so few entries before this one that going back by each costs less than to probe. */
function isNear(entry: Entry, target: Target): boolean {
  return entry.firstRev - target.fromRev <= NEAR_ENTRIES * entry.revisions.length;
}

/** Whether so many revisions are too many entries to be read one by one, if all are like the first. */
function isLong(first: Entry, revisions: number): boolean {
  return revisions > SHORT_READ * Math.max(1, first.revisions.length);
}

/** A seq between low and ceiling: where the revision would be if all rooms grew evenly, or in turn the middle. */
function probeSeq(
  { low, found, ceiling }: { low: Entry; found: Entry; ceiling: number },
  target: Target,
  halve: boolean,
): number {
  const missing = target.fromRev - lastRev(low);
  const span = found.firstRev - lastRev(low);
  const sameNumbering = low.epoch === target.epoch && span > 0;
  if (sameNumbering && missing <= NEAR_REVISIONS) return low.seq + 1;
  const even = low.seq + Math.floor(((found.seq - low.seq) * missing) / span);
  const probe = halve || !sameNumbering ? Math.floor((low.seq + ceiling) / 2) : even;
  return Math.min(ceiling - 1, Math.max(low.seq + 1, probe));
}
