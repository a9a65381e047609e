/**
 * Where the pages of a room begin and end, so that everyone who reads it shares them: at multiples of the page size in `rev`,
 * and where a page of so many revisions is too many bytes, at halves of it, halves of those, and so on.
 *
 *   1 ──────────────── 200        all small: one page
 *   1 ── 50 ── 100 ─── 200        what is in the first hundred is large: three
 *
 * Who was told by the log how far a page reaches notes it, and all who ask then get the same smaller page. So nobody
 * reads more than a few pages that it does not need, however large the revisions are, and wherever it begins. Where the
 * oldest kept revision is inside a page, that page begins with it, and all others are where they were.
 * Limit: MAX_CUTS; beyond it all is found out anew.
 */
const MAX_CUTS = 50_000;

/** A page's first and last revision. */
export interface PageSpan {
  readonly firstRev: number;
  readonly lastRev: number;
}

export class PageGrid {
  /** How many revisions the page has at most, by history and where it begins; only of pages that were cut. */
  private readonly cuts = new Map<string, number>();

  constructor(private readonly pageRevisions: number) {}

  /** The page that `rev` is in, as far as it is known where pages are cut. */
  spanOf(history: string, rev: number): PageSpan {
    let size = this.pageRevisions;
    let firstRev = Math.floor((rev - 1) / size) * size + 1;
    if (this.cuts.size === 0) return { firstRev, lastRev: firstRev + size - 1 };
    while (size > (this.cuts.get(cutName(history, firstRev)) ?? size)) {
      const half = Math.ceil(size / 2);
      if (rev < firstRev + half) size = half;
      else {
        firstRev += half;
        size -= half;
      }
    }
    return { firstRev, lastRev: firstRev + size - 1 };
  }

  /**
   * What is read from `rev` on fits a page only up to `end`, not less than `rev`: the page that `rev` is in, which may begin
   * before it, is halved until it ends there or earlier.
   */
  note(history: string, rev: number, end: number): void {
    if (this.cuts.size >= MAX_CUTS) this.cuts.clear();
    for (let span = this.spanOf(history, rev); span.lastRev > end; span = this.spanOf(history, rev)) {
      this.cuts.set(cutName(history, span.firstRev), Math.ceil((span.lastRev - span.firstRev + 1) / 2));
    }
  }

  clear(): void {
    this.cuts.clear();
  }
}

function cutName(history: string, firstRev: number): string {
  return `${firstRev} ${history}`;
}
