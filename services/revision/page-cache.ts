/**
 * Pages of rooms' older revisions, read from the log once for everyone, and kept up to `maxBytes`, the longest unused out
 * first. They are cut where PageGrid says: at multiples of PAGE_REVISIONS in `rev`, and at halves of that where a page has more
 * than PAGE_BYTES. Concurrent reads of a page are one (single flight). Only whole pages of one numbering are kept.
 * Whether a kept page is still the log's is for who uses it to find out (KeptEntries).
 */
import { cutEntry } from '../log/entry-range.js';
import { lastRev, type Entry, type Log, type Range } from '../log/log.js';
import { PageGrid, type PageSpan } from '../log/page-grid.js';
import type { RevisionCounters } from './counters.js';
import { entryMemory } from './entry-memory.js';

const PAGE_REVISIONS = 200;
const PAGE_BYTES = 1024 * 1024;

interface Page {
  readonly entries: readonly Entry[];
  readonly bytes: number;
}

interface PageQuery {
  readonly room: string;
  readonly epoch: string;
  readonly span: PageSpan;
  readonly hint: number | undefined;
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
  private readonly grid = new PageGrid(PAGE_REVISIONS);

  constructor(private readonly parts: PageCacheParts) {}

  /**
   * The page that holds `rev`, of the numbering `epoch`: its entries, or what else the log answers. It may end before `rev`
   * only where the log does. Throws `log_unavailable`, `overloaded`.
   */
  async read(room: string, epoch: string, rev: number, hint: number | undefined): Promise<PageRead> {
    const history = historyName(room, epoch);
    let span = this.grid.spanOf(history, rev);
    for (;;) {
      const read = await this.readSpan({ room, epoch, span, hint });
      if (read.kind !== 'entries' || endOf(read.entries) >= rev) return read;
      // It was cut before `rev`. Each turn the page is a smaller one.
      const next = this.grid.spanOf(history, rev);
      if (next.firstRev === span.firstRev) return read;
      span = next;
    }
  }

  /** The page that holds `rev` is not the log's any more. */
  forget(room: string, epoch: string, rev: number): void {
    const history = historyName(room, epoch);
    const name = pageName(history, this.grid.spanOf(history, rev));
    const page = this.kept.get(name);
    if (page !== undefined) this.drop(name, page);
  }

  /** What is kept may not be true any more. */
  clear(): void {
    this.cleared += 1;
    this.kept.clear();
    this.grid.clear();
    this.bytes = 0;
  }

  private async readSpan(asked: PageQuery): Promise<PageRead> {
    const name = pageName(historyName(asked.room, asked.epoch), asked.span);
    const page = this.justUsed(name);
    if (page !== undefined) return { kind: 'entries', entries: page.entries, early: true };
    const already = this.underWay.get(name);
    if (already !== undefined) {
      this.parts.counters.sharedReads += 1;
      return { ...(await already), early: true };
    }
    const reading = this.fetch(asked).finally(() => {
      this.underWay.delete(name);
    });
    this.underWay.set(name, reading);
    return { ...(await reading), early: false };
  }

  private async fetch({ room, epoch, span, hint }: PageQuery): Promise<Range> {
    const limit = span.lastRev - span.firstRev + 1;
    const options = { limit, maxBytes: PAGE_BYTES, ...(hint === undefined ? {} : { hint }) };
    const { cleared } = this;
    const range = await this.parts.log.range(room, span.firstRev, options);
    if (range.kind !== 'entries' || cleared !== this.cleared) return range;
    const { entries, head } = range;
    if (!isOfNumbering(entries, epoch) || entries[0]?.firstRev !== span.firstRev) return range;
    const history = historyName(room, epoch);
    const end = endOf(entries);
    const isCut = end < span.lastRev && end < head.rev;
    if (isCut) this.grid.note(history, span.firstRev, end - span.firstRev + 1);
    // Where it was cut, the page that begins there is a smaller one from now on, and all of that was read.
    const page = isCut ? this.grid.spanOf(history, span.firstRev) : span;
    if (end >= page.lastRev && this.parts.mayKeep(entries.at(-1)?.seq ?? 0)) {
      this.keep(pageName(history, page), upTo(entries, page.lastRev));
    }
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

function historyName(room: string, epoch: string): string {
  return `${epoch} ${room}`;
}

function pageName(history: string, { firstRev, lastRev: end }: PageSpan): string {
  return `${firstRev} ${end} ${history}`;
}

function endOf(entries: readonly Entry[]): number {
  const last = entries.at(-1);
  return last === undefined ? 0 : lastRev(last);
}

function isOfNumbering(entries: readonly Entry[], epoch: string): boolean {
  return entries.every((entry) => entry.epoch === epoch);
}

/** The entries up to that revision, the last one cut. */
function upTo(entries: readonly Entry[], end: number): readonly Entry[] {
  return entries
    .filter((entry) => entry.firstRev <= end)
    .map((entry) => cutEntry(entry, entry.firstRev, end - entry.firstRev + 1));
}
