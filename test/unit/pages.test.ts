import { describe, expect, it } from 'vitest';
import type { Page } from '../../services/edge/page.js';
import { EdgeCounters } from '../../services/edge/counters.js';
import { Frames } from '../../services/edge/frames.js';
import { plain } from '../../services/edge/protocols/plain.js';
import { Pages, type PageAnswer, type PagesSettings } from '../../services/edge/pages.js';
import { headOf } from '../../services/log/log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { RevcastError } from '../../services/shared/errors.js';
import { Gate, History, ReaderDouble } from '../support/edge-doubles.js';
import { revsFrom } from '../support/feed-parts.js';
import { settle } from '../support/manual-clock.js';

const ROOM = 'doc-1';

/** Pages of a room with `count` revisions, of which about the last `keep` are kept. */
async function pagesOf(
  { count, keep, data }: { count: number; keep?: number; data?: (rev: number) => string },
  settings: Partial<PagesSettings> = {},
) {
  const store = new MemoryStore(keep);
  const history = new History(store, ROOM);
  for (let rev = 1; rev <= count; rev += 1) await history.add(1, data);
  const reader = new ReaderDouble(store);
  const pages = new Pages(reader, { pageRevisions: 10, pageBytes: 100_000, pageCacheBytes: 1_000_000, ...settings });
  const containing = async (rev: number, epoch = 'e1') => pages.containing(ROOM, epoch, rev);
  return { store, history, reader, pages, containing };
}

function pageIn(answer: PageAnswer): Page {
  if (answer.kind !== 'page') throw new Error(`not a page: ${answer.kind}`);
  return answer.page;
}

function revsOf(answer: PageAnswer): number[] {
  return pageIn(answer).slots.map(({ revision }) => revision.rev);
}

describe('catch-up pages', () => {
  it('[F15] begin at fixed revisions, so that whoever asks for one of its revisions shares the page', async () => {
    const { containing, reader } = await pagesOf({ count: 35 });
    expect(revsOf(await containing(1))).toEqual(revsFrom(1, 10));
    expect(revsOf(await containing(11))).toEqual(revsFrom(11, 20));
    const page = pageIn(await containing(17));
    for (const rev of revsFrom(11, 20)) expect(pageIn(await containing(rev))).toBe(page);
    expect(reader.asked.range).toBe(2);
    expect(reader.ranges.map(({ after, limit }) => [after?.rev, limit])).toEqual([
      [0, 10],
      [10, 10],
    ]);
  });

  it('[F15] concurrent requests of one page are one read, and fail together', async () => {
    const { containing, reader } = await pagesOf({ count: 35 });
    const gate = new Gate();
    const late: typeof reader.real.range = async (query) => {
      await gate.promise;
      return reader.real.range(query);
    };
    reader.nextRange(late);
    const asked = revsFrom(11, 20).map((rev) => containing(rev));
    gate.open();
    const pages = new Set((await Promise.all(asked)).map(pageIn));
    expect([pages.size, reader.asked.range]).toEqual([1, 1]);
    reader.nextRange(() => Promise.reject(new RevcastError('overloaded', 'too much')));
    const failed = await Promise.allSettled([containing(21), containing(22)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(revsOf(await containing(21))).toEqual(revsFrom(21, 30));
  });

  it('[D7] of a room whose history broke are forgotten, those under way too, whatever the epoch', async () => {
    const { containing, pages, reader } = await pagesOf({ count: 35 });
    await containing(1);
    const gate = new Gate();
    reader.nextRange(async (query) => {
      await gate.promise;
      return reader.real.range(query);
    });
    const late = containing(11);
    pages.begin(ROOM);
    gate.open();
    await late;
    expect(reader.asked.range).toBe(2);
    await containing(1);
    await containing(11);
    expect(reader.asked.range).toBe(4);
    await containing(11);
    expect(reader.asked.range).toBe(4);
  });

  it('[F15] a page at the head is read again when somebody needs what it lacks, and only then', async () => {
    const { containing, reader, history } = await pagesOf({ count: 13 });
    expect(revsOf(await containing(12))).toEqual([11, 12, 13]);
    await history.add(2);
    expect(revsOf(await containing(12))).toEqual([11, 12, 13]);
    expect(reader.asked.range).toBe(1);
    expect(revsOf(await containing(14))).toEqual(revsFrom(11, 15));
    await history.add(5);
    expect(revsOf(await containing(20))).toEqual(revsFrom(11, 20));
    expect(revsOf(await containing(11))).toEqual(revsFrom(11, 20));
    expect(reader.asked.range).toBe(3);
  });

  it('[F15] above the head: an empty page', async () => {
    const { containing } = await pagesOf({ count: 20 });
    expect(revsOf(await containing(21))).toEqual([]);
    const empty = await pagesOf({ count: 0 });
    expect(revsOf(await empty.containing(1, ''))).toEqual([]);
  });

  it('[F15] where a page would be cut by bytes there are smaller pages, the same for everyone', async () => {
    const { containing, reader } = await pagesOf(
      { count: 30, data: (rev) => JSON.stringify('x'.repeat(rev === 3 ? 5_000 : 300)) },
      { pageBytes: 1_000 },
    );
    expect(revsOf(await containing(1))).toEqual([1, 2]);
    expect(revsOf(await containing(3))).toEqual([3]);
    expect(revsOf(await containing(4))).toEqual([4, 5]);
    const asked = reader.asked.range;
    expect(revsOf(await containing(5))).toEqual([4, 5]);
    expect(reader.asked.range).toBe(asked);
    let rev = 1;
    const seen: number[] = [];
    while (rev <= 30) {
      const page = pageIn(await containing(rev));
      expect(page.firstRev).toBe(rev);
      seen.push(...page.slots.map((slot) => slot.revision.rev));
      rev = page.lastRev + 1;
    }
    expect(seen).toEqual(revsFrom(1, 30));
  });

  it('[F15] who needs one of many large revisions reads a few pages for it, not all before it', async () => {
    const { containing, reader } = await pagesOf(
      { count: 400, data: () => JSON.stringify('x'.repeat(1_000)) },
      { pageRevisions: 200, pageBytes: 4_100 },
    );
    expect(revsOf(await containing(390))).toContain(390);
    expect(reader.asked.range).toBeLessThanOrEqual(7);
  });

  it.each([0, 10_000_000])('[F15] large revisions: all read each page once (%i bytes kept)', async (pageCacheBytes) => {
    const { containing, reader } = await pagesOf(
      { count: 400, data: () => JSON.stringify('x'.repeat(1_000)) },
      { pageRevisions: 200, pageBytes: 4_100, pageCacheBytes },
    );
    const client = async (position: number): Promise<void> => {
      for (let rev = position + 1; rev <= 400;) {
        const page = pageIn(await containing(rev));
        expect(page.get(rev)).toBeDefined();
        rev = page.lastRev + 1;
      }
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => client(index * 9)));
    // Four fit a page, so the halves of 200 are pages of 3 or 4.
    if (pageCacheBytes > 0) expect(reader.asked.range).toBeLessThanOrEqual(2 * 64 + 5);
  });

  it('[F15] a page says where the next one begins in the log, one that is smaller too', async () => {
    const { containing, reader, store } = await pagesOf(
      { count: 20, data: () => JSON.stringify('x'.repeat(300)) },
      { pageBytes: 1_000 },
    );
    for (let rev = 1; rev <= 20;) rev = pageIn(await containing(rev)).lastRev + 1;
    const seqBefore = (rev: number) => store.entriesOf(ROOM)[rev - 1]?.seq;
    expect(reader.ranges.length).toBeGreaterThan(6);
    for (const { after, hint } of reader.ranges) expect(hint).toBe(seqBefore(after?.rev ?? 0));
  });

  it('[F15] where the oldest kept revision is in the middle of a page, the page begins with it', async () => {
    const { containing, store, reader } = await pagesOf({ count: 48, keep: 20 });
    const first = store.entriesOf(ROOM)[0]?.firstRev ?? 0;
    expect(first % 10).not.toBe(1);
    const answer = await containing(first);
    expect(revsOf(answer)[0]).toBe(first);
    expect(revsOf(answer).at(-1)).toBe(Math.ceil(first / 10) * 10);
    const asked = reader.asked.range;
    await containing(first + 1);
    expect(reader.asked.range).toBe(asked);
  });

  it('[D4] a revision that is no longer kept: truncated, with the oldest that is', async () => {
    const { containing, store, history } = await pagesOf({ count: 60, keep: 10 });
    const first = store.entriesOf(ROOM)[0]?.firstRev;
    const answer = await containing(3);
    expect(answer).toMatchObject({ kind: 'truncated', firstRev: first, head: { rev: 60, tag: history.last.tag } });
  });

  it('[G5] pages of what is gone are forgotten when that is known, those of what is kept stay', async () => {
    const { containing, store, reader, history } = await pagesOf({ count: 35 });
    for (const rev of [1, 11, 21]) await containing(rev);
    const { epoch } = history;
    const truncated = { kind: 'truncated', firstRev: 21, head: { ...headOf(history.last) } } as const;
    reader.nextRange(() => Promise.resolve(truncated));
    expect(await containing(31)).toEqual(truncated);
    const { range } = reader.asked;
    await containing(21);
    expect(reader.asked.range).toBe(range);
    for (const rev of [1, 11]) {
      reader.nextRange(() => Promise.resolve(truncated));
      expect(await containing(rev, epoch)).toEqual(truncated);
    }
    expect(store.entriesOf(ROOM)).toHaveLength(35);
  });

  it('[D4] another epoch: epoch_changed, also for the first page', async () => {
    const { containing, history } = await pagesOf({ count: 15 });
    const { epoch } = history;
    expect(await containing(15, 'e0')).toMatchObject({ kind: 'epoch_changed', head: { epoch, rev: 15 } });
    expect(await containing(1, 'e0')).toMatchObject({ kind: 'epoch_changed', head: { epoch, rev: 15 } });
  });

  it('[F15] keeps pages up to a number of bytes, the longest unused go first', async () => {
    const { containing, reader } = await pagesOf(
      { count: 50, data: () => JSON.stringify('x'.repeat(1_000)) },
      // A page costs 10 × (2 × 1,002 + 2,000) = 40,040 bytes: two fit.
      { pageCacheBytes: 85_000 },
    );
    await containing(1);
    await containing(11);
    await containing(1);
    await containing(21);
    expect(reader.asked.range).toBe(3);
    await containing(1);
    expect(reader.asked.range).toBe(3);
    await containing(11);
    expect(reader.asked.range).toBe(4);
  });

  it('[F15] keeps none where that is said', async () => {
    const { containing, reader } = await pagesOf({ count: 20 }, { pageCacheBytes: 0 });
    await containing(1);
    await containing(1);
    expect(reader.asked.range).toBe(2);
  });

  it('[F15] counts what is prepared of kept pages: frames with what is deflated, ranges, runs', async () => {
    const { containing, pages } = await pagesOf(
      { count: 50, data: () => JSON.stringify('x'.repeat(1_000)) },
      { pageCacheBytes: 130_000 },
    );
    const frames = new Frames({ minSavingBytes: 0, shared: true }, new EdgeCounters());
    await containing(1);
    await containing(11);
    const page = pageIn(await containing(21));
    expect(pages.keptBytes).toBe(3 * 40_040);
    const before = page.bytes;
    const slot = page.get(21);
    if (slot === undefined) throw new Error('revision 21 is in the page');
    const single = frames.single(slot, plain, page);
    expect(page.bytes - before).toBe(2 * single.bodyBytes);
    expect(single.deflated()?.length).toBeLessThan(single.bodyBytes);
    const run = frames.pageRun(page, plain, 25, false);
    expect([run?.firstRev, run?.messages.count]).toEqual([21, 10]);
    expect(page.bytes - before).toBeGreaterThan(10 * 1_000);
    expect(pages.find(ROOM, 'e1', 1).kind).toBe('missing');
    frames.range(page.ranges, plain, page, 21, 30);
    expect(pages.keptBytes).toBeLessThanOrEqual(130_000);
    expect(pages.keptBytes).toBeGreaterThanOrEqual(page.bytes);
    // A page that is no longer kept is no longer counted.
    const kept = pages.keptBytes;
    for (const rev of [1, 11, 31, 41]) await containing(rev);
    expect(pages.find(ROOM, 'e1', 21).kind).toBe('missing');
    page.prepared(1_000_000);
    expect(pages.keptBytes).toBeLessThanOrEqual(Math.max(kept, 130_000));
  });

  it('[F15] reads a bounded number of pages at once, the others in order', async () => {
    const { containing, reader } = await pagesOf({ count: 400 });
    const gate = new Gate();
    let most = 0;
    let reads = 0;
    const slowly: typeof reader.real.range = async (query) => {
      reads += 1;
      most = Math.max(most, reads);
      await gate.promise;
      reads -= 1;
      return reader.real.range(query);
    };
    reader.nextRange(...Array.from({ length: 40 }, () => slowly));
    const asked = Array.from({ length: 40 }, (_, page) => containing(page * 10 + 1));
    await settle(2);
    expect(reads).toBe(16);
    gate.open();
    const answers = await Promise.all(asked);
    expect(answers.map((answer) => revsOf(answer)[0])).toEqual(Array.from({ length: 40 }, (_, page) => page * 10 + 1));
    expect(most).toBe(16);
  });

  it('[F15] reads the page behind one ahead of need, once, and gives a hint where it is', async () => {
    const { containing, pages, reader, store } = await pagesOf({ count: 45 });
    const page = pageIn(await containing(1));
    pages.readAhead(ROOM, 'e1', page);
    pages.readAhead(ROOM, 'e1', page);
    await settle(4);
    expect(reader.ranges.map(({ after, hint }) => [after?.rev, hint])).toEqual([
      [0, undefined],
      [10, store.entriesOf(ROOM)[9]?.seq],
    ]);
    expect(pages.find(ROOM, 'e1', 11).kind).toBe('page');
    reader.unavailable = true;
    pages.readAhead(ROOM, 'e1', pageIn(await containing(11)));
    await settle(4);
    reader.unavailable = false;
    expect(revsOf(await containing(21))).toEqual(revsFrom(21, 30));
  });
});
