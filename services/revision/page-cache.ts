/**
 * Pages of rooms' older revisions, read from the log once for everyone: cut at multiples of PAGE_REVISIONS in `rev`, kept
 * up to `maxBytes`, the longest unused out first, and at most KEEP_MS, so that what retention removed is not answered
 * much longer. Concurrent reads of a page are one (single flight). Only whole pages of one numbering are kept.
 */
import { entryBytes } from '../log/entry-range.js';
import { lastRev, type Entry, type Log, type Range } from '../log/log.js';
import type { Clock } from '../shared/clock.js';
import type { RevisionCounters } from './counters.js';

export const PAGE_REVISIONS = 200;
/** A page of larger data than that is cut, and not kept. */
const PAGE_BYTES = 1024 * 1024;
const KEEP_MS = 60_000;
const ENTRY_BYTES = 640;

interface Page {
  readonly entries: readonly Entry[];
  readonly bytes: number;
  readonly until: number;
}

export interface PageCacheParts {
  readonly log: Pick<Log, 'range'>;
  readonly clock: Clock;
  readonly counters: RevisionCounters;
  readonly maxBytes: number;
}

export class PageCache {
  /** In order of last use. */
  private readonly kept = new Map<string, Page>();
  private readonly underWay = new Map<string, Promise<Range>>();
  private bytes = 0;

  constructor(private readonly parts: PageCacheParts) {}

  /** rev with which the page that holds `rev` begins. */
  static startOf(rev: number): number {
    return Math.floor((rev - 1) / PAGE_REVISIONS) * PAGE_REVISIONS + 1;
  }

  /**
   * The page that holds `rev`, of the numbering `epoch`: its entries, or what else the log answers. It may end early, also
   * before `rev`. Throws `log_unavailable`, `overloaded`.
   */
  async read(room: string, epoch: string, rev: number, hint: number | undefined): Promise<Range | readonly Entry[]> {
    const start = PageCache.startOf(rev);
    const name = `${start} ${epoch} ${room}`;
    const page = this.justUsed(name);
    if (page !== undefined) return page.entries;
    const already = this.underWay.get(name);
    if (already !== undefined) {
      this.parts.counters.sharedReads += 1;
      return already;
    }
    const reading = this.fetch(room, epoch, start, hint, name).finally(() => {
      this.underWay.delete(name);
    });
    this.underWay.set(name, reading);
    return reading;
  }

  /** What is kept may not be true any more. */
  clear(): void {
    this.kept.clear();
    this.bytes = 0;
  }

  private async fetch(
    room: string,
    epoch: string,
    start: number,
    hint: number | undefined,
    name: string,
  ): Promise<Range> {
    this.parts.counters.logReads += 1;
    const options = { limit: PAGE_REVISIONS, maxBytes: PAGE_BYTES, ...(hint === undefined ? {} : { hint }) };
    const range = await this.parts.log.range(room, start, options);
    if (range.kind === 'entries' && isWhole(range.entries, epoch, start)) this.keep(name, range.entries);
    return range;
  }

  private justUsed(name: string): Page | undefined {
    const page = this.kept.get(name);
    if (page === undefined) return undefined;
    this.drop(name, page);
    if (this.parts.clock.monotonic() >= page.until) return undefined;
    this.add(name, page);
    this.parts.counters.pageReads += 1;
    return page;
  }

  private keep(name: string, entries: readonly Entry[]): void {
    const bytes = entries.reduce((sum, entry) => sum + entryBytes(entry) + ENTRY_BYTES, 0);
    this.add(name, { entries, bytes, until: this.parts.clock.monotonic() + KEEP_MS });
    for (const [oldest, page] of this.kept) {
      if (this.bytes <= this.parts.maxBytes) return;
      this.drop(oldest, page);
    }
  }

  private add(name: string, page: Page): void {
    this.kept.set(name, page);
    this.bytes += page.bytes;
  }

  private drop(name: string, page: Page): void {
    this.kept.delete(name);
    this.bytes -= page.bytes;
  }
}

function isWhole(entries: readonly Entry[], epoch: string, start: number): boolean {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) return false;
  const isOfOneNumbering = entries.every((entry) => entry.epoch === epoch);
  return isOfOneNumbering && first.firstRev === start && lastRev(last) === start + PAGE_REVISIONS - 1;
}
