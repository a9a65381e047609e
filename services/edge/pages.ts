/**
 * Catch-up pages: revisions that the ring no longer has, from the revision service. Pages begin at fixed revisions
 * (multiples of the page size), so members at different positions share them all; a page cut by bytes ends
 * early, and the next begins where it ended, for everyone alike. Concurrent requests of a page are one read, complete
 * pages are kept up to `cacheBytes`, the longest unused go first.
 */
import type { Head } from '../log/log.js';
import type { RevisionReader } from '../revision/contract.js';
import { Page } from './page.js';
import { slotsOf } from './slot.js';

export type PageAnswer =
  | { readonly kind: 'page'; readonly page: Page }
  | { readonly kind: 'truncated'; readonly firstRev: number; readonly head: Head }
  | { readonly kind: 'epoch_changed'; readonly head: Head | null };

export interface PagesSettings {
  readonly pageRevisions: number;
  readonly pageBytes: number;
  readonly pageCacheBytes: number;
}

export class Pages {
  private readonly kept = new Map<string, Page>();
  private keptBytes = 0;
  private readonly underWay = new Map<string, Promise<PageAnswer>>();

  constructor(
    private readonly reader: RevisionReader,
    private readonly settings: PagesSettings,
  ) {}

  /** Where the page that `rev` is in begins. */
  startOf(rev: number): number {
    const size = this.settings.pageRevisions;
    return Math.floor((rev - 1) / size) * size + 1;
  }

  /**
   * The page that contains `rev`, from the fixed boundary before it on, or from the oldest kept revision where that is
   * younger. An empty page: the room's head is below `rev`. Throws `log_unavailable`, `overloaded`.
   */
  async containing(room: string, epoch: string, rev: number): Promise<PageAnswer> {
    let start = this.startOf(rev);
    for (;;) {
      const answer = await this.load(room, epoch, start);
      if (answer.kind === 'truncated' && answer.firstRev <= rev && answer.firstRev > start) {
        start = answer.firstRev;
      } else if (answer.kind === 'page' && answer.page.slots.length > 0 && answer.page.lastRev < rev) {
        start = answer.page.lastRev + 1;
      } else {
        return answer;
      }
    }
  }

  private load(room: string, epoch: string, start: number): Promise<PageAnswer> {
    const name = `${epoch} ${start} ${room}`;
    const kept = this.kept.get(name);
    if (kept !== undefined) {
      this.kept.delete(name);
      this.kept.set(name, kept);
      return Promise.resolve({ kind: 'page', page: kept });
    }
    const already = this.underWay.get(name);
    if (already !== undefined) return already;
    const loading = this.fetch(room, epoch, start, name).finally(() => {
      this.underWay.delete(name);
    });
    this.underWay.set(name, loading);
    return loading;
  }

  private async fetch(room: string, epoch: string, start: number, name: string): Promise<PageAnswer> {
    const end = this.startOf(start) + this.settings.pageRevisions - 1;
    const answer = await this.reader.range({
      room,
      after: { epoch, rev: start - 1 },
      limit: end - start + 1,
      maxBytes: this.settings.pageBytes,
    });
    if (answer.kind === 'truncated') this.forget(room, epoch, answer.firstRev);
    if (answer.kind !== 'entries') return answer;
    if (answer.head !== null && answer.head.epoch !== epoch) return { kind: 'epoch_changed', head: answer.head };
    const slots = answer.entries.flatMap(slotsOf);
    const page = new Page(start, slots);
    // A page that ends at the head will grow: it is not kept.
    const complete = slots.length > 0 && (page.lastRev === end || page.lastRev < (answer.head?.rev ?? 0));
    if (complete) this.keep(name, page);
    return { kind: 'page', page };
  }

  /**
   * Retention removed revisions of the room before `firstRev`: pages of them must not be what a newcomer begins with, who
   * would be told a moment later that what follows is gone, again and again.
   */
  private forget(room: string, epoch: string, firstRev: number): void {
    for (const [name, page] of this.kept) {
      if (page.lastRev >= firstRev || name !== `${epoch} ${page.firstRev} ${room}`) continue;
      this.kept.delete(name);
      this.keptBytes -= page.bytes;
    }
  }

  private keep(name: string, page: Page): void {
    this.kept.set(name, page);
    this.keptBytes += page.bytes;
    for (const [oldest, { bytes }] of this.kept) {
      if (this.keptBytes <= this.settings.pageCacheBytes) return;
      this.kept.delete(oldest);
      this.keptBytes -= bytes;
    }
  }
}
