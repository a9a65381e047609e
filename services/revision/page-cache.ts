/**
 * Pages of rooms' older revisions, read from the log once for everyone: cut at multiples of PAGE_REVISIONS in `rev`, kept
 * up to `maxBytes`, the longest unused out first. Concurrent reads of a page are one (single flight). Only whole pages of one
 * numbering are kept. Whether a kept page is still the log's is for who uses it to find out (KeptEntries).
 */
import { lastRev, type Entry, type Log, type Range } from '../log/log.js';
import type { RevisionCounters } from './counters.js';
import { entryMemory } from './entry-memory.js';

const PAGE_REVISIONS = 200;
/** A page of larger data than that is cut, and not kept. */
const PAGE_BYTES = 1024 * 1024;

interface Page {
  readonly entries: readonly Entry[];
  readonly bytes: number;
}

/** What the log answered. */
export type PageRead = (
  { readonly kind: 'entries'; readonly entries: readonly Entry[] } | { readonly kind: 'truncated' | 'empty' }
) & {
  /** The read of the log began before this was asked for. */
  readonly early: boolean;
};

export interface PageCacheParts {
  readonly log: Pick<Log, 'range'>;
  readonly counters: RevisionCounters;
  readonly maxBytes: number;
  /** Whether a page that ends with this seq may be kept: only what the log is followed beyond, or a loss might go unnoticed. */
  readonly mayKeep: (seq: number) => boolean;
}

export class PageCache {
  /** In order of last use. */
  private readonly kept = new Map<string, Page>();
  private readonly underWay = new Map<string, Promise<Range>>();
  private bytes = 0;
  private cleared = 0;

  constructor(private readonly parts: PageCacheParts) {}

  /** rev with which the page that holds `rev` begins. */
  static startOf(rev: number): number {
    return Math.floor((rev - 1) / PAGE_REVISIONS) * PAGE_REVISIONS + 1;
  }

  /**
   * The page that holds `rev`, of the numbering `epoch`: its entries, or what else the log answers. It may end early, also
   * before `rev`. Throws `log_unavailable`, `overloaded`.
   */
  async read(room: string, epoch: string, rev: number, hint: number | undefined): Promise<PageRead> {
    const start = PageCache.startOf(rev);
    const name = nameOf(room, epoch, start);
    const page = this.justUsed(name);
    if (page !== undefined) return { kind: 'entries', entries: page.entries, early: true };
    const already = this.underWay.get(name);
    if (already !== undefined) {
      this.parts.counters.sharedReads += 1;
      return { ...(await already), early: true };
    }
    const reading = this.fetch(room, epoch, start, hint, name).finally(() => {
      this.underWay.delete(name);
    });
    this.underWay.set(name, reading);
    return { ...(await reading), early: false };
  }

  /** The page that holds `rev` is not the log's any more. */
  forget(room: string, epoch: string, rev: number): void {
    const name = nameOf(room, epoch, PageCache.startOf(rev));
    const page = this.kept.get(name);
    if (page !== undefined) this.drop(name, page);
  }

  /** What is kept may not be true any more. */
  clear(): void {
    this.cleared += 1;
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
    const options = { limit: PAGE_REVISIONS, maxBytes: PAGE_BYTES, ...(hint === undefined ? {} : { hint }) };
    const { cleared } = this;
    const range = await this.parts.log.range(room, start, options);
    if (range.kind !== 'entries' || cleared !== this.cleared) return range;
    const lastSeq = range.entries.at(-1)?.seq ?? 0;
    if (isWhole(range.entries, epoch, start) && this.parts.mayKeep(lastSeq)) this.keep(name, range.entries);
    return range;
  }

  private justUsed(name: string): Page | undefined {
    const page = this.kept.get(name);
    if (page === undefined) return undefined;
    this.drop(name, page);
    this.add(name, page);
    this.parts.counters.pageReads += 1;
    return page;
  }

  private keep(name: string, entries: readonly Entry[]): void {
    const bytes = entries.reduce((sum, entry) => sum + entryMemory(entry), 0);
    this.add(name, { entries, bytes });
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

function nameOf(room: string, epoch: string, start: number): string {
  return `${start} ${epoch} ${room}`;
}

function isWhole(entries: readonly Entry[], epoch: string, start: number): boolean {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) return false;
  const isOfOneNumbering = entries.every((entry) => entry.epoch === epoch);
  return isOfOneNumbering && first.firstRev === start && lastRev(last) === start + PAGE_REVISIONS - 1;
}
