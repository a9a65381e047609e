/** Catch-up pages of rooms with revisions of any size and any oldest kept one: every reader gets its own, and no page is read twice. */
import { describe, expect, it } from 'vitest';
import { Pages } from '../../services/edge/pages.js';
import { PageGrid } from '../../services/log/page-grid.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { History, ReaderDouble } from '../support/edge-doubles.js';
import { revsFrom } from '../support/feed-parts.js';
import { Random, testSeed } from '../support/random.js';

const ROOM = 'doc-1';
const ROUNDS = 40;
const PLENTY = 1e9;
/** Where a room's oldest kept revision is not known, or an old numbering of pages: asked for once more. */
const FEW = 2;

/** A room of up to 300 revisions, most of them small or most of them large, from some oldest on. */
async function anyRoom(random: Random) {
  const count = random.whole(30, 300);
  const large = random.next();
  const store = new MemoryStore(random.chance(0.8) ? random.whole(10, count) : undefined);
  const history = new History(store, ROOM);
  for (let rev = 1; rev <= count;) {
    const inEntry = random.chance(0.2) ? random.whole(1, 5) : 1;
    const bytes = random.chance(large) ? random.whole(500, 2_500) : random.whole(5, 50);
    await history.add(inEntry, () => JSON.stringify('x'.repeat(bytes)));
    rev += inEntry;
  }
  const oldest = store.entriesOf(ROOM)[0]?.firstRev ?? 0;
  const { firstRev, revisions } = history.last;
  return { store, epoch: history.epoch, oldest, head: firstRev + revisions.length - 1 };
}

type AnyRoom = Awaited<ReturnType<typeof anyRoom>>;

function pagesOf({ store }: AnyRoom, pageCacheBytes: number) {
  const reader = new ReaderDouble(store);
  return { reader, pages: new Pages(reader, { pageRevisions: 100, pageBytes: 4_100, pageCacheBytes }) };
}

/** What a member does that stands before `from`: page after page up to the head. Answers the revisions. */
async function readOn(pages: Pages, { epoch, head }: AnyRoom, from: number): Promise<number[]> {
  const revs: number[] = [];
  for (let rev = from; rev <= head;) {
    const answer = await pages.containing(ROOM, epoch, rev);
    if (answer.kind !== 'page') throw new Error(answer.kind);
    expect(answer.page.get(rev)).toBeDefined();
    for (; rev <= answer.page.lastRev; rev += 1) revs.push(answer.page.get(rev)?.revision.rev ?? 0);
  }
  return revs;
}

describe('catch-up pages of any room', () => {
  const seed = testSeed();

  it(`[F15] each is read once, wherever the room's oldest revision is and however small the cache (seed ${seed})`, async () => {
    const random = new Random(seed);
    for (let round = 0; round < ROUNDS; round += 1) {
      const room = await anyRoom(random);
      const { reader, pages } = pagesOf(room, random.pick([0, 5_000, 20_000, 100_000, PLENTY]));
      expect(await readOn(pages, room, room.oldest)).toEqual(revsFrom(room.oldest, room.head));
      const starts = new Set(reader.ranges.map(({ after }) => after?.rev));
      expect(reader.asked.range).toBeLessThanOrEqual(starts.size + FEW);
    }
  });

  it(`[F15] [F21] readers from everywhere cost what one costs that reads all (seed ${seed})`, async () => {
    const random = new Random(seed);
    for (let round = 0; round < ROUNDS; round += 1) {
      const room = await anyRoom(random);
      const lone = pagesOf(room, PLENTY);
      await readOn(lone.pages, room, room.oldest);

      const { reader, pages } = pagesOf(room, PLENTY);
      const positions = Array.from({ length: 20 }, () => random.whole(room.oldest, room.head));
      const read = await Promise.all(positions.map((from) => readOn(pages, room, from)));
      for (const [index, from] of positions.entries()) expect(read[index]).toEqual(revsFrom(from, room.head));
      expect(reader.asked.range).toBeLessThanOrEqual(lone.reader.asked.range + FEW);
    }
  });

  it('[F15] a room that begins in mid-block with large revisions: one request each, with a cache below the block', async () => {
    const store = new MemoryStore(150);
    const history = new History(store, ROOM);
    const oldestKept = () => store.entriesOf(ROOM)[0]?.firstRev ?? 0;
    // Retention in steps: until what is kept begins a little behind the beginning of a block of 200.
    while (oldestKept() % 200 < 5 || oldestKept() % 200 > 60)
      await history.add(1, () => JSON.stringify('x'.repeat(1_000)));
    const oldest = oldestKept();
    const head = history.last.firstRev;
    const room = { store, epoch: history.epoch, oldest, head };
    const reader = new ReaderDouble(store);
    const pages = new Pages(reader, { pageRevisions: 200, pageBytes: 1_100, pageCacheBytes: 60_000 });
    expect(await readOn(pages, room, oldest)).toEqual(revsFrom(oldest, head));
    // Each revision is a page, but for the first try.
    expect(reader.asked.range).toBeLessThanOrEqual(head - oldest + 1 + FEW);
  });
});

describe('where pages begin and end', () => {
  const seed = testSeed();

  it(`[F15] a cut noted from anywhere ends the page there or earlier, and pages still tile the room (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 200; round += 1) {
      const size = random.whole(1, 300);
      const grid = new PageGrid(size);
      for (let cut = 0; cut < 30; cut += 1) {
        const rev = random.whole(1, 3 * size);
        const end = random.whole(rev, rev + size);
        grid.note('a', rev, end);
        const span = grid.spanOf('a', rev);
        expect([span.firstRev <= rev, span.lastRev >= rev, span.lastRev <= Math.max(end, rev)]).toEqual([
          true,
          true,
          true,
        ]);
        expect(grid.spanOf('b', rev).lastRev - grid.spanOf('b', rev).firstRev + 1).toBe(size);
      }
      let begins = 1;
      while (begins <= 3 * size) {
        const span = grid.spanOf('a', begins);
        expect(span.firstRev).toBe(begins);
        for (const rev of [span.lastRev, random.whole(begins, span.lastRev)])
          expect(grid.spanOf('a', rev)).toEqual(span);
        begins = span.lastRev + 1;
      }
    }
  });
});
