/**
 * The log as the revision service reads it: through the tail that this replica keeps by following the whole log, and
 * through pages, so that the log itself is read once per page, whatever the number of clients and edges.
 *
 *   heads:  the leader says how far the log reaches ──the tail is there──▶ answered from memory
 *                                                   └─not in WAIT_MS──────▶ asked of the leader, room by room
 *   range:  tail ──▶ page kept or just being read ──▶ log
 *
 * Invariant: nothing is answered from memory that the leader, asked after the request came, does not vouch for. One look at
 * how far the log reaches (shared by all who ask meanwhile) shows a history that was lost or made anew, entries that
 * are still to come, and whether any entry was removed; only then is the leader asked for the room's own (KeptEntries).
 * While the leader cannot be asked, heads fail with `log_unavailable`, and nothing is concluded.
 */
import { RangeCollector } from '../log/entry-range.js';
import type {
  Entry,
  Head,
  Log,
  LogExtent,
  Range,
  RangeOptions,
  Snapshot,
  WholeFollowing,
  WholeLog,
} from '../log/log.js';
import type { Clock } from '../shared/clock.js';
import type { Values } from '../shared/settings.js';
import type { RevisionCounters } from './counters.js';
import { ExtentAsker, type Asked } from './extent-asker.js';
import { KeptEntries } from './kept-entries.js';
import { LogReads } from './log-reads.js';
import { LogTail } from './log-tail.js';
import { PageCache, type PageRead } from './page-cache.js';
import type { PageSource } from './service.js';
import type { revisionSettings } from './settings.js';

/** How long heads wait for the tail to receive what the leader already has. */
const WAIT_MS = 250;
/**
 * A tail that holds other rooms than the log, for so long, is read again: which rooms were removed shows only when they are
 * asked for. Not more often than this; the pause doubles while it does not help.
 */
const RESTART_AFTER_MS = 2_000;
const MIN_RESTART_EVERY_MS = 15_000;
const MAX_RESTART_EVERY_MS = 300_000;
const VERIFY_EVERY_MS = 1_000;

export interface CachedLogParts {
  readonly log: Pick<Log, 'range' | 'heads' | 'snapshot'>;
  /** The same log. */
  readonly whole: WholeLog;
  readonly clock: Clock;
  readonly counters: RevisionCounters;
  readonly settings: Pick<
    Values<typeof revisionSettings>,
    'revisionTailBytes' | 'revisionCacheBytes' | 'revisionLogReads'
  >;
}

export class CachedLog implements PageSource {
  private readonly tail: LogTail;
  private readonly reads: LogReads;
  private readonly pages: PageCache;
  private readonly kept: KeptEntries;
  private readonly following: WholeFollowing;
  private readonly extent: ExtentAsker;
  private differsSince: number | undefined;
  private restartedAt = Number.NEGATIVE_INFINITY;
  private restartEveryMs = MIN_RESTART_EVERY_MS;
  private verifiedAt = Number.NEGATIVE_INFINITY;

  /** Begins to follow the log. */
  constructor(private readonly parts: CachedLogParts) {
    const { whole, counters, settings } = parts;
    const log = new LogReads(parts.log, counters, settings.revisionLogReads);
    this.reads = log;
    this.pages = new PageCache({
      log,
      counters,
      maxBytes: settings.revisionCacheBytes,
      mayKeep: (seq) => seq <= this.tail.reachedSeq,
    });
    this.kept = new KeptEntries(whole, () => {
      counters.keptAsked += 1;
    });
    this.tail = new LogTail(settings.revisionTailBytes, () => {
      counters.restarts += 1;
      this.pages.clear();
      this.kept.clear();
    });
    this.following = whole.followAll(this.tail);
    this.extent = new ExtentAsker(whole, () => this.tail.reachedSeq);
  }

  async heads(rooms: readonly string[]): Promise<ReadonlyMap<string, Head | null>> {
    const { counters, log } = this.parts;
    const asked = await this.extent.ask();
    if (!(await this.isConfirmed(asked))) {
      counters.headsAsked += 1;
      const heads = await log.heads(rooms);
      for (const room of rooms) if (heads.get(room) === null) this.tail.remove(room, asked.extent.lastSeq);
      return heads;
    }
    counters.headsConfirmed += 1;
    return new Map(rooms.map((room) => [room, this.tail.head(room) ?? null]));
  }

  /**
   * From memory where the leader, asked after this call, vouches for it. Without a tail that is of the log's history, or for the
   * oldest kept, from the log.
   */
  async range(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range> {
    if (fromRev === 'first') return this.readLog(room, fromRev, options);
    const asked = await this.extent.ask();
    if (!this.isSound(asked)) return this.readLog(room, fromRev, options);
    const { extent } = asked;
    // What is not here yet may be on its way.
    if (fromRev > (this.tail.head(room)?.rev ?? 0) && !(await this.arrives(extent.lastSeq))) {
      return this.readLog(room, fromRev, options);
    }
    const head = this.tail.head(room);
    if (head === undefined) return this.readLog(room, fromRev, options);
    const held = this.tail.entries(room, fromRev, options);
    if (held === undefined) return this.rangeOfPages(room, fromRev, options, { head, extent });
    const { seq, tag } = held[0] ?? head;
    if (await this.kept.has({ room, seq, tag }, extent)) {
      this.parts.counters.tailReads += 1;
      return { kind: 'entries', entries: held, head };
    }
    this.tail.release(room);
    return this.readLog(room, fromRev, options);
  }

  snapshot(room: string): Promise<Snapshot | null> {
    return this.parts.log.snapshot(room);
  }

  stop(): void {
    this.following.stop();
  }

  /** One page, or several where so many were asked for. */
  private async rangeOfPages(
    room: string,
    fromRev: number,
    options: RangeOptions,
    { head, extent }: { head: Head; extent: LogExtent },
  ): Promise<Range> {
    const collector = new RangeCollector(fromRev, options);
    const end = Math.min(head.rev, fromRev + options.limit - 1);
    let { hint } = options;
    for (let rev = fromRev; rev <= end; rev = (lastRevOf(collector.entries) ?? 0) + 1) {
      const newest = this.tailBehind(room, rev, options, collector.entries.at(-1));
      if (newest !== undefined) {
        for (const entry of newest) if (!collector.add(entry)) break;
        break;
      }
      const page = await this.page(room, rev, hint, { head, extent });
      if (page === undefined) break;
      if (page.kind === 'truncated') {
        if (collector.entries.length > 0) break;
        return this.heeded(room, head, { kind: 'truncated', firstRev: page.firstRev, head: page.head });
      }
      const { entries } = page;
      if (!covers(entries, rev)) break;
      if (!entries.every((entry) => collector.add(entry))) break;
      hint = entries.at(-1)?.seq;
    }
    // Older than what is kept, of another numbering, or cut before the asked revision: the log itself says what it is.
    if (collector.entries.length === 0) return this.readLog(room, fromRev, options);
    return { kind: 'entries', entries: collector.entries, head: this.tail.head(room) ?? head };
  }

  /** What the tail holds from `rev` on, where that is right behind `last`, which the log was just found to keep. */
  private tailBehind(
    room: string,
    rev: number,
    options: RangeOptions,
    last: Entry | undefined,
  ): readonly Entry[] | undefined {
    const held = last === undefined ? undefined : this.tail.entries(room, rev, options);
    const next = held?.[0];
    if (next === undefined || last === undefined || next.epoch !== last.epoch) return undefined;
    return next.seq === last.seq || next.previousSeq === last.seq ? held : undefined;
  }

  /**
   * The entries of the page that holds `rev`, as the log has them at the extent or later, or that the log, read after that, does not
   * keep `rev` any more; undefined where neither is known.
   */
  private async page(
    room: string,
    rev: number,
    hint: number | undefined,
    { head, extent }: { head: Head; extent: LogExtent },
  ): Promise<Exclude<PageRead, { kind: 'empty' }> | undefined> {
    const { epoch } = head;
    const read = await this.pages.read(room, epoch, rev, hint);
    if (read.kind === 'truncated') return read.early || read.firstRev <= rev ? undefined : read;
    if (read.kind === 'empty' || !isOf(epoch, read.entries)) return undefined;
    const [first] = read.entries;
    if (first === undefined || !read.early || (await this.kept.has(first, extent))) return read;
    this.pages.forget(room, epoch, rev);
    return undefined;
  }

  private async readLog(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range> {
    const before = this.tail.head(room);
    const range = await this.reads.range(room, fromRev, options);
    return before === undefined ? range : this.heeded(room, before, range);
  }

  /** What the log answered, held against the head that memory had before. */
  private heeded(room: string, before: Head, range: Range): Range {
    if (range.kind === 'empty') this.tail.remove(room, before.seq);
    // The newest entry that was received is gone, and the room is not: memory has it wrong until it begins again.
    else if (range.head.seq < before.seq) this.tail.distrust();
    return range;
  }

  /** Whether the tail holds all that the log has. Waits a little for what is on its way. */
  private async isConfirmed(asked: Asked): Promise<boolean> {
    const { extent } = asked;
    if (!this.isSound(asked) || !(await this.arrives(extent.lastSeq))) return false;
    // It may have begun again meanwhile.
    if (!this.following.vouchesFor(extent)) return false;
    const holds = this.tail.holds(extent);
    if (!holds) this.restartIfItStays();
    else {
      this.differsSince = undefined;
      this.restartEveryMs = MIN_RESTART_EVERY_MS;
    }
    return holds;
  }

  /** Whether the tail is of the history that the leader tells of. */
  private isSound({ extent, before }: Asked): boolean {
    // History was lost, or a new leader says too little for a moment.
    const isSound = before <= extent.lastSeq && this.following.vouchesFor(extent);
    if (!isSound) this.doubt();
    return isSound;
  }

  /** Whether all up to `seq` was received, now or in a little while. While all heads are still to come that is not worth a wait. */
  private async arrives(seq: number): Promise<boolean> {
    if (this.tail.reachedSeq < seq && !this.tail.isFilling) await this.progress(seq);
    return this.tail.reachedSeq >= seq;
  }

  private progress(seq: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        cancel();
        end();
        resolve();
      };
      const cancel = this.parts.clock.after(WAIT_MS, done);
      const end = this.tail.onProgress(() => {
        if (this.tail.reachedSeq >= seq) done();
      });
    });
  }

  private doubt(): void {
    const now = this.parts.clock.monotonic();
    if (now - this.verifiedAt < VERIFY_EVERY_MS) return;
    this.verifiedAt = now;
    this.following.verify();
  }

  private restartIfItStays(): void {
    const now = this.parts.clock.monotonic();
    this.differsSince ??= now;
    if (now - this.differsSince < RESTART_AFTER_MS || now - this.restartedAt < this.restartEveryMs) return;
    this.differsSince = undefined;
    this.restartedAt = now;
    this.restartEveryMs = Math.min(MAX_RESTART_EVERY_MS, this.restartEveryMs * 2);
    this.following.restart();
  }
}

function isOf(epoch: string, entries: readonly Entry[]): boolean {
  return entries.every((entry) => entry.epoch === epoch);
}

function covers(entries: readonly Entry[], rev: number): boolean {
  return (lastRevOf(entries) ?? 0) >= rev && (entries[0]?.firstRev ?? Number.POSITIVE_INFINITY) <= rev;
}

function lastRevOf(entries: readonly Entry[]): number | undefined {
  const last = entries.at(-1);
  return last === undefined ? undefined : last.firstRev + last.revisions.length - 1;
}
