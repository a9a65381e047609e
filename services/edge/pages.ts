/**
 * Catch-up pages: revisions that the ring no longer has, from the revision service. Pages begin at fixed revisions
 * (PageGrid: multiples of the page size, and halves of it where revisions are large), so members at different positions
 * share all but what is before their own in their first. Concurrent requests of a page are one read.
 *
 * Pages are kept up to `pageCacheBytes`, with all that was prepared of them; the longest unused go first. A page that
 * ended at the head is kept as well, and read again only when somebody needs what it lacks: so a reconnect storm costs
 * the distinct pages, not a read per client. Limits: LOADS_AT_ONCE reads under way, the others wait in order, one for
 * each distinct page that somebody waits for; KNOWN_TRUNCATIONS.
 */
import { lastRev, type Entry, type Head } from '../log/log.js';
import { PageGrid } from '../log/page-grid.js';
import type { RevisionReader } from '../revision/contract.js';
import { Page } from './page.js';
import { Queue } from './queue.js';
import { slotsOf } from './slot.js';

/** Far below what a replica of the revision service works on at once. */
const LOADS_AT_ONCE = 16;
/** Histories whose oldest kept revision is remembered. */
const KNOWN_TRUNCATIONS = 10_000;
/** A page is asked for ahead of need only where the cache holds so many of its size. */
const PAGES_TO_READ_AHEAD = 4;

export type PageAnswer =
  | { readonly kind: 'page'; readonly page: Page }
  | { readonly kind: 'truncated'; readonly firstRev: number; readonly head: Head }
  | { readonly kind: 'epoch_changed'; readonly head: Head | null };

/** A kept page, or where the page begins that has to be loaded. */
export type Found =
  { readonly kind: 'page'; readonly page: Page } | { readonly kind: 'missing'; readonly start: number };

export interface PagesSettings {
  readonly pageRevisions: number;
  readonly pageBytes: number;
  readonly pageCacheBytes: number;
}

export class Pages {
  private readonly kept = new Map<string, Page>();
  /** Numbers the times in which a room was followed without a break; part of the names of its pages. */
  private readonly lives = new Map<string, number>();
  private lastLife = 0;
  private bytes = 0;
  private readonly underWay = new Map<string, Promise<PageAnswer>>();
  private loads = 0;
  private readonly waiting = new Queue<() => void>();
  /** The oldest kept revision of a history, as it was told last: it only grows. */
  private readonly oldest = new Map<string, number>();
  private readonly grid: PageGrid;

  constructor(
    private readonly reader: RevisionReader,
    private readonly settings: PagesSettings,
  ) {
    this.grid = new PageGrid(settings.pageRevisions);
  }

  /** What the kept pages hold, with what was prepared of them. */
  get keptBytes(): number {
    return this.bytes;
  }

  /** The page with `rev`, if it is kept; allocates little, for it is asked for each page of each member. */
  find(room: string, epoch: string, rev: number): Found {
    const found = this.locate(room, epoch, rev);
    if (found.kind === 'page') {
      // The last in the map is the one used last.
      const name = this.pageName(room, epoch, found.page.firstRev);
      this.kept.delete(name);
      this.kept.set(name, found.page);
    }
    return found;
  }

  private locate(room: string, epoch: string, rev: number): Found {
    const history = this.historyName(room, epoch);
    let start = this.grid.spanOf(history, rev).firstRev;
    const oldest = this.oldest.get(history);
    if (oldest !== undefined && oldest > start && oldest <= rev) start = oldest;
    for (;;) {
      const page = this.kept.get(this.pageName(room, epoch, start));
      if (page === undefined || (page.lastRev < rev && !page.isComplete)) return { kind: 'missing', start };
      if (page.lastRev >= rev) return { kind: 'page', page };
      start = page.lastRev + 1;
    }
  }

  /**
   * The page that contains `rev`, from the fixed boundary before it on, or from the oldest kept revision where that is
   * younger. A page without it: the room's head, as the reader knows it, is below `rev`. Throws `log_unavailable`,
   * `overloaded`. Kept pages are answered in the same turn.
   */
  containing(room: string, epoch: string, rev: number): PageAnswer | Promise<PageAnswer> {
    const found = this.find(room, epoch, rev);
    return found.kind === 'page' ? found : this.loadContaining(room, epoch, rev, found.start);
  }

  /** The page that begins with `start`. Throws `log_unavailable`, `overloaded`. */
  load(room: string, epoch: string, start: number): Promise<PageAnswer> {
    const name = this.pageName(room, epoch, start);
    const already = this.underWay.get(name);
    if (already !== undefined) return already;
    const loading = this.fetchInTurn(room, epoch, start, name).finally(() => {
      this.underWay.delete(name);
    });
    this.underWay.set(name, loading);
    return loading;
  }

  /**
   * The room is followed from now on, or its history broke: its pages of before, also those under way, may be of a history
   * that was lost. Nobody finds them any more, and they go as the longest unused.
   */
  begin(room: string): void {
    this.lastLife += 1;
    this.lives.set(room, this.lastLife);
  }

  /** The room is not followed any more. */
  end(room: string): void {
    this.lives.delete(room);
  }

  /** Loads the page behind this one, where that costs nobody a wait: who is sent this one will need it. */
  readAhead(room: string, epoch: string, page: Page): void {
    if (page.isFollowed || !page.isComplete || this.loads >= LOADS_AT_ONCE) return;
    if (page.bytes * PAGES_TO_READ_AHEAD > this.settings.pageCacheBytes) return;
    page.isFollowed = true;
    const found = this.find(room, epoch, page.lastRev + 1);
    // Whoever needs the page asks again, and is told why it cannot be had.
    if (found.kind === 'missing') this.load(room, epoch, found.start).catch(() => undefined);
  }

  private async loadContaining(room: string, epoch: string, rev: number, first: number): Promise<PageAnswer> {
    let start = first;
    for (;;) {
      const answer = await this.load(room, epoch, start);
      if (answer.kind === 'epoch_changed') return answer;
      if (answer.kind === 'truncated') {
        if (answer.firstRev > rev || answer.firstRev <= start) return answer;
        start = answer.firstRev;
      } else {
        if (answer.page.lastRev >= rev || !answer.page.isComplete) return answer;
        const found = this.find(room, epoch, rev);
        if (found.kind === 'page') return found;
        start = Math.max(found.start, answer.page.lastRev + 1);
      }
    }
  }

  private async fetchInTurn(room: string, epoch: string, start: number, name: string): Promise<PageAnswer> {
    if (this.loads >= LOADS_AT_ONCE) {
      // Whoever ends hands its place on.
      await new Promise<void>((resolve) => {
        this.waiting.push(resolve);
      });
    } else this.loads += 1;
    try {
      return await this.fetch(room, epoch, start, name);
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.loads -= 1;
      else next();
    }
  }

  private async fetch(room: string, epoch: string, start: number, name: string): Promise<PageAnswer> {
    const history = this.historyName(room, epoch);
    const end = this.grid.spanOf(history, start).lastRev;
    const answer = await this.reader.range({
      room,
      after: { epoch, rev: start - 1 },
      limit: end - start + 1,
      maxBytes: this.settings.pageBytes,
      ...this.hintBefore(room, epoch, start),
    });
    if (answer.kind === 'truncated') this.remember(room, epoch, answer.firstRev);
    if (answer.kind !== 'entries') return answer;
    const { entries, head } = answer;
    if (head !== null && head.epoch !== epoch) return { kind: 'epoch_changed', head };
    const last = entries.at(-1);
    const reached = last === undefined ? start - 1 : lastRev(last);
    const isCut = reached >= start && reached < end && reached < (head?.rev ?? 0);
    if (isCut) this.grid.note(history, start, reached);
    const page = pageOf(entries, start, {
      end: isCut ? Math.min(reached, this.grid.spanOf(history, start).lastRev) : reached,
      isComplete: isCut || reached === end,
    });
    if (page.slots.length > 0) this.keep(name, page);
    return { kind: 'page', page };
  }

  /** The seq of the entry before, where it is in a kept page. */
  private hintBefore(room: string, epoch: string, start: number): { hint?: number } {
    const before = start > 1 ? this.locate(room, epoch, start - 1) : undefined;
    if (before?.kind !== 'page' || before.page.lastRev !== start - 1 || before.page.lastSeq === 0) return {};
    return { hint: before.page.lastSeq };
  }

  private keep(name: string, page: Page): void {
    this.drop(name);
    this.kept.set(name, page);
    this.bytes += page.bytes;
    page.onGrown = (bytes) => {
      this.bytes += bytes;
      this.evict();
    };
    this.evict();
  }

  private evict(): void {
    if (this.bytes <= this.settings.pageCacheBytes) return;
    for (const name of this.kept.keys()) {
      this.drop(name);
      if (this.bytes <= this.settings.pageCacheBytes) return;
    }
  }

  private drop(name: string): void {
    const page = this.kept.get(name);
    if (page === undefined) return;
    this.kept.delete(name);
    this.bytes -= page.bytes;
    page.onGrown = () => undefined;
  }

  /**
   * Retention removed revisions of the room before `firstRev`: pages of them must not be what a newcomer begins with, who
   * would be told a moment later that what follows is gone, again and again.
   */
  private remember(room: string, epoch: string, firstRev: number): void {
    const history = this.historyName(room, epoch);
    if (this.oldest.get(history) === firstRev) return;
    this.oldest.delete(history);
    this.oldest.set(history, firstRev);
    for (const [name, page] of this.kept) {
      if (page.lastRev < firstRev && name === this.pageName(room, epoch, page.firstRev)) this.drop(name);
    }
    for (const longest of this.oldest.keys()) {
      if (this.oldest.size <= KNOWN_TRUNCATIONS) return;
      this.oldest.delete(longest);
    }
  }

  private historyName(room: string, epoch: string): string {
    return `${this.lives.get(room) ?? 0} ${epoch} ${room}`;
  }

  private pageName(room: string, epoch: string, start: number): string {
    return `${start} ${this.historyName(room, epoch)}`;
  }
}

/** The page of the revisions from `start` to `end`; the entries may go further. */
function pageOf(
  entries: readonly Entry[],
  start: number,
  { end, isComplete }: { end: number; isComplete: boolean },
): Page {
  const within = entries.filter(({ firstRev }) => firstRev <= end);
  const slots = within.flatMap(slotsOf).slice(0, end - start + 1);
  const tagBefore = within[0]?.firstRev === start ? within[0].previousTag : undefined;
  return new Page(start, slots, isComplete, within.at(-1)?.seq, tagBefore);
}
