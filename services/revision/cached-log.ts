/**
 * The log as the revision service reads it: through the tail that this replica keeps by following the whole log, and
 * through pages, so that the log itself is read once per page, whatever the number of clients and edges.
 *
 *   heads:  the leader says how far the log reaches ──the tail is there──▶ answered from memory
 *                                                   └─not in WAIT_MS──────▶ asked of the leader, room by room
 *   range:  tail ──▶ page kept or just being read ──▶ log
 *
 * Invariant: a head that is answered from memory was confirmed after it was asked for. Entries from memory may be a
 * little late, as reads of a replica are: RevisionService checks both alike.
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
import { LogTail } from './log-tail.js';
import { PageCache } from './page-cache.js';
import type { PageSource } from './service.js';
import type { revisionSettings } from './settings.js';

/** How long heads wait for the tail to receive what the leader already has. */
const WAIT_MS = 250;
/** A tail that holds other rooms than the log is read again, but not more often than this. */
const RESTART_EVERY_MS = 5_000;
const VERIFY_EVERY_MS = 1_000;

export interface CachedLogParts {
  readonly log: Pick<Log, 'range' | 'heads' | 'snapshot'>;
  /** The same log. */
  readonly whole: WholeLog;
  readonly clock: Clock;
  readonly counters: RevisionCounters;
  readonly settings: Pick<Values<typeof revisionSettings>, 'revisionTailBytes' | 'revisionCacheBytes'>;
}

/** What the leader said, and how far the tail had come when it was asked. */
interface Asked {
  readonly extent: LogExtent;
  readonly before: number;
}

export class CachedLog implements PageSource {
  private readonly tail: LogTail;
  private readonly pages: PageCache;
  private readonly following: WholeFollowing;
  private asking: Promise<Asked> | undefined;
  private nextAsking: Promise<Asked> | undefined;
  private restartedAt = Number.NEGATIVE_INFINITY;
  private verifiedAt = Number.NEGATIVE_INFINITY;

  /** Begins to follow the log. */
  constructor(private readonly parts: CachedLogParts) {
    const { log, whole, clock, counters, settings } = parts;
    this.pages = new PageCache({ log, clock, counters, maxBytes: settings.revisionCacheBytes });
    this.tail = new LogTail(settings.revisionTailBytes, () => {
      counters.restarts += 1;
      this.pages.clear();
    });
    this.following = whole.followAll(this.tail);
  }

  async heads(rooms: readonly string[]): Promise<ReadonlyMap<string, Head | null>> {
    const { counters, log } = this.parts;
    if (!(await this.isConfirmed(await this.extent()))) {
      counters.headsAsked += 1;
      return log.heads(rooms);
    }
    counters.headsConfirmed += 1;
    return new Map(rooms.map((room) => [room, this.tail.head(room) ?? null]));
  }

  async range(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range> {
    const head = this.tail.head(room);
    if (head === undefined || fromRev === 'first') return this.readLog(room, fromRev, options);
    const held = this.tail.entries(room, fromRev, options);
    if (held !== undefined) {
      this.parts.counters.tailReads += 1;
      return { kind: 'entries', entries: held, head };
    }
    return this.rangeOfPages(room, fromRev, options, head);
  }

  snapshot(room: string): Promise<Snapshot | null> {
    return this.parts.log.snapshot(room);
  }

  stop(): void {
    this.following.stop();
  }

  /** One page, or several where so many were asked for. */
  private async rangeOfPages(room: string, fromRev: number, options: RangeOptions, head: Head): Promise<Range> {
    const collector = new RangeCollector(fromRev, options);
    let rev = fromRev;
    for (let { hint } = options; ; hint = undefined) {
      const page = await this.pages.read(room, head.epoch, rev, hint);
      const entries = Array.isArray(page) ? (page as readonly Entry[]) : entriesOf(page as Range, head);
      const goesOn = entries !== undefined && collect(collector, entries, rev);
      const reached = lastRevOf(collector.entries) ?? fromRev - 1;
      if (reached < rev) break;
      rev = reached + 1;
      if (!goesOn || rev > fromRev + options.limit - 1 || rev > head.rev) break;
    }
    // Older than what is kept, of another numbering, or cut before the asked revision: the log itself says what it is.
    if (collector.entries.length === 0) return this.readLog(room, fromRev, options);
    return { kind: 'entries', entries: collector.entries, head: this.tail.head(room) ?? head };
  }

  private readLog(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range> {
    this.parts.counters.logReads += 1;
    return this.parts.log.range(room, fromRev, options);
  }

  /** Whether the tail holds all that the log has. Waits a little for what is on its way. */
  private async isConfirmed({ extent, before }: Asked): Promise<boolean> {
    if (before > extent.lastSeq) {
      // History was lost, or a new leader says too little for a moment.
      this.doubt();
      return false;
    }
    if (this.tail.reachedSeq < extent.lastSeq) await this.progress(extent.lastSeq);
    if (this.tail.reachedSeq < extent.lastSeq) return false;
    const holds = this.tail.holds(extent);
    if (!holds) this.restart();
    return holds;
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

  /** How far the log reached after this call: an answer that was already asked for may be older. */
  private extent(): Promise<Asked> {
    if (this.asking === undefined) return this.ask();
    this.nextAsking ??= this.askAfter(this.asking);
    return this.nextAsking;
  }

  private async askAfter(asking: Promise<Asked>): Promise<Asked> {
    await asking.catch(() => undefined);
    this.nextAsking = undefined;
    return this.ask();
  }

  private ask(): Promise<Asked> {
    const before = this.tail.reachedSeq;
    const asking = this.parts.whole
      .extent()
      .then((extent) => ({ extent, before }))
      .finally(() => {
        if (this.asking === asking) this.asking = undefined;
      });
    this.asking = asking;
    return asking;
  }

  private doubt(): void {
    const now = this.parts.clock.monotonic();
    if (now - this.verifiedAt < VERIFY_EVERY_MS) return;
    this.verifiedAt = now;
    this.following.verify();
  }

  private restart(): void {
    const now = this.parts.clock.monotonic();
    if (now - this.restartedAt < RESTART_EVERY_MS) return;
    this.restartedAt = now;
    this.following.restart();
  }
}

/** The entries of a page that is of the room's present numbering. */
function entriesOf(range: Range, head: Head): readonly Entry[] | undefined {
  if (range.kind !== 'entries') return undefined;
  return range.entries.every(({ epoch }) => epoch === head.epoch) ? range.entries : undefined;
}

/** Takes what follows of the page; whether more may be taken. */
function collect(collector: RangeCollector, entries: readonly Entry[], rev: number): boolean {
  const covers = (lastRevOf(entries) ?? 0) >= rev && (entries[0]?.firstRev ?? Number.POSITIVE_INFINITY) <= rev;
  return covers && entries.every((entry) => collector.add(entry));
}

function lastRevOf(entries: readonly Entry[]): number | undefined {
  const last = entries.at(-1);
  return last === undefined ? undefined : last.firstRev + last.revisions.length - 1;
}
