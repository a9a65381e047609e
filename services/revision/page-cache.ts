/**
 * Pages of rooms' older revisions, read from the log once for everyone, and kept up to `maxBytes`, the longest unused out
 * first. They are cut where PageGrid says: at multiples of PAGE_REVISIONS in `rev`, and at halves of that where a page has more
 * than PAGE_BYTES; one that has the room's oldest kept revision inside begins with that. Concurrent reads of a page are one
 * (single flight). Only pages of one numbering are kept; one that ended at the room's head is kept as well, and read again
 * when somebody needs what it lacks. Whether a kept page is still the log's is for who uses it to find out (KeptEntries).
 * Limits: `maxBytes`; KNOWN_TRUNCATIONS.
 */
import { cutEntry } from '../log/entry-range.js';
import { lastRev, type Entry, type Log, type Range } from '../log/log.js';
import { PageGrid, type PageSpan } from '../log/page-grid.js';
import type { RevisionCounters } from './counters.js';
import { entryMemory } from './entry-memory.js';

const PAGE_REVISIONS = 200;
const PAGE_BYTES = 1024 * 1024;
/** Histories whose oldest kept revision is remembered. */
const KNOWN_TRUNCATIONS = 10_000;

interface Page {
  readonly entries: readonly Entry[];
  readonly bytes: number;
}

interface PageQuery {
  readonly room: string;
  readonly epoch: string;
  readonly rev: number;
  readonly span: PageSpan;
  readonly hint: number | undefined;
}

/** What the log answered. */
export type PageRead = (
  | { readonly kind: 'entries'; readonly entries: readonly Entry[] }
  | Extract<Range, { kind: 'truncated' }>
  | { readonly kind: 'empty' }
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
  /** The oldest kept revision of a history, as it was told last, where it was needed. */
  private readonly oldest = new Map<string, number>();

  constructor(private readonly parts: PageCacheParts) {}

  /**
   * The page that holds `rev`, of the numbering `epoch`: its entries, or what else the log answers. It may end before `rev`
   * only where the log does. Throws `log_unavailable`, `overloaded`.
   */
  async read(room: string, epoch: string, rev: number, hint: number | undefined): Promise<PageRead> {
    const history = historyName(room, epoch);
    let span = this.spanOf(history, rev);
    for (let joined = 0; ;) {
      const read = await this.readSpan({ room, epoch, rev, span, hint });
      if (read.kind === 'empty' || (read.kind === 'truncated' && read.firstRev > rev)) return read;
      if (read.kind === 'entries' && endOf(read.entries) >= rev) return read;
      // It was cut before `rev`, or begins later than was known. Each turn the page is a smaller one.
      const next = this.spanOf(history, rev);
      if (next.firstRev === span.firstRev) {
        // The log ends there; or it did when somebody else asked.
        if (!read.early || joined > 0) return read;
        joined += 1;
      }
      span = next;
    }
  }

  /** The page that holds `rev` is not the log's any more. */
  forget(room: string, epoch: string, rev: number): void {
    const history = historyName(room, epoch);
    this.dropNamed(pageName(history, this.spanOf(history, rev)));
  }

  /** What is kept may not be true any more. */
  clear(): void {
    this.cleared += 1;
    this.kept.clear();
    this.grid.clear();
    this.oldest.clear();
    this.bytes = 0;
  }

  /** Where the grid says, but from the oldest kept revision on, where that is inside. */
  private spanOf(history: string, rev: number): PageSpan {
    const span = this.grid.spanOf(history, rev);
    const oldest = this.oldest.get(history);
    return oldest === undefined || oldest <= span.firstRev || oldest > rev ? span : { ...span, firstRev: oldest };
  }

  private async readSpan(asked: PageQuery): Promise<PageRead> {
    const name = pageName(historyName(asked.room, asked.epoch), asked.span);
    const page = this.justUsed(name, asked.rev);
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
    if (cleared !== this.cleared) return range;
    const history = historyName(room, epoch);
    if (range.kind === 'truncated' && range.head.epoch === epoch) this.remember(history, range.firstRev);
    if (range.kind !== 'entries') return range;
    const { entries, head } = range;
    if (!isOfNumbering(entries, epoch) || entries[0]?.firstRev !== span.firstRev) return range;
    const end = endOf(entries);
    const isCut = end < span.lastRev && end < head.rev;
    if (isCut) this.grid.note(history, span.firstRev, end);
    // Where it was cut, the page is a smaller one from now on, and all of that was read.
    const page = isCut ? { ...span, lastRev: this.grid.spanOf(history, span.firstRev).lastRev } : span;
    if (this.parts.mayKeep(entries.at(-1)?.seq ?? 0)) this.keep(pageName(history, page), upTo(entries, page.lastRev));
    return range;
  }

  /** The oldest kept revision of the history: it only grows. */
  private remember(history: string, firstRev: number): void {
    this.oldest.delete(history);
    this.oldest.set(history, firstRev);
    for (const longest of this.oldest.keys()) {
      if (this.oldest.size <= KNOWN_TRUNCATIONS) return;
      this.oldest.delete(longest);
    }
  }

  /** The kept page, where it reaches `rev`. */
  private justUsed(name: string, rev: number): Page | undefined {
    const page = this.kept.get(name);
    if (page === undefined || endOf(page.entries) < rev) return undefined;
    this.kept.delete(name);
    this.kept.set(name, page);
    this.parts.counters.pageReads += 1;
    return page;
  }

  private keep(name: string, entries: readonly Entry[]): void {
    const bytes = entries.reduce((sum, entry) => sum + entryMemory(entry), 0);
    this.dropNamed(name);
    this.kept.set(name, { entries, bytes });
    this.bytes += bytes;
    for (const longest of this.kept.keys()) {
      if (this.bytes <= this.parts.maxBytes) return;
      this.dropNamed(longest);
    }
  }

  private dropNamed(name: string): void {
    const page = this.kept.get(name);
    if (page === undefined) return;
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
