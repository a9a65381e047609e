/** The revision service's memory of the log: rules R5 to R7, against the log itself as the model. */
import { afterEach, describe, expect, it } from 'vitest';
import { headOf, lastRev, type Entry, type Log, type Range, type WholeLog } from '../../services/log/log.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { CachedLog } from '../../services/revision/cached-log.js';
import { RevisionCounters } from '../../services/revision/counters.js';
import { systemClock, type Clock } from '../../services/shared/clock.js';
import { ManualClock, settle } from '../support/manual-clock.js';
import { Random, testSeed } from '../support/random.js';
import { appendEntry } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

const ALL = { limit: 10_000, maxBytes: 1e9 };

interface Parts {
  readonly log: MemoryLog;
  readonly store: MemoryStore;
  readonly cached: CachedLog;
  readonly counters: RevisionCounters;
}

const running: CachedLog[] = [];

afterEach(() => {
  for (const cached of running.splice(0)) cached.stop();
});

interface Options {
  readonly log?: MemoryLog;
  readonly store?: MemoryStore;
  readonly whole?: WholeLog;
  readonly read?: Pick<Log, 'range' | 'heads' | 'snapshot'>;
  readonly tail?: number;
  readonly pages?: number;
  readonly reads?: number;
  readonly clock?: Clock;
}

/** Waits until what was appended before has been received. */
async function start(options: Options = {}): Promise<Parts> {
  const { store = new MemoryStore() } = options;
  const log = options.log ?? new MemoryLog({ clock: systemClock, store });
  const counters = new RevisionCounters();
  const cached = new CachedLog({
    log: options.read ?? log,
    whole: options.whole ?? log,
    clock: options.clock ?? systemClock,
    counters,
    settings: {
      revisionTailBytes: options.tail ?? 1e6,
      revisionCacheBytes: options.pages ?? 1e6,
      revisionLogReads: options.reads ?? 16,
    },
  });
  running.push(cached);
  // An empty log is followed from the next turn on.
  await new Promise((resolve) => setImmediate(resolve));
  await cached.heads([]);
  return { log, store, cached, counters };
}

function revsOf(range: Range): number[] {
  if (range.kind !== 'entries') throw new Error(range.kind);
  return range.entries.flatMap(({ firstRev, revisions }) => revisions.map((_, index) => firstRev + index));
}

function dataOf(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ revisions }) => revisions.map(({ data }) => Buffer.from(data).toString()));
}

describe('the log in memory', () => {
  it('[R5] heads are answered from memory once the leader says that nothing came behind, in one look for all', async () => {
    const { log, cached, counters } = await start();
    const rooms = Array.from({ length: 50 }, (_, index) => `room ${index}`);
    for (const room of rooms) await appendEntry(log, room, 1, 2);

    const asked = await Promise.all(rooms.map((room) => cached.heads([room, 'empty'])));

    const truth = await log.heads([...rooms, 'empty']);
    for (const [index, heads] of asked.entries()) {
      const room = rooms[index] ?? '';
      expect(heads).toEqual(new Map([room, 'empty'].map((name) => [name, truth.get(name)])));
    }
    expect(counters.headsAsked).toBe(0);
  });

  it('[R5] a tail that is behind is waited for a little, then the leader itself is asked', async () => {
    const store = new MemoryStore();
    const log = new MemoryLog({ clock: systemClock, store });
    await appendEntry(log, 'room', 1, 1);
    // Follows nothing: as a replica whose consumer stands still.
    const deaf: WholeLog = {
      followAll: () => ({ verify() {}, restart() {}, stop() {}, vouchesFor: () => true }),
      extent: () => log.extent(),
      keeps: (entry) => log.keeps(entry),
    };
    const { cached, counters } = await start({ log, store, whole: deaf });

    expect(await cached.heads(['room'])).toEqual(await log.heads(['room']));
    expect(counters.headsConfirmed).toBe(0);
    expect(revsOf(await cached.range('room', 1, ALL))).toEqual([1]);
  });

  it('[R5] what just happened is answered without a read of the log', async () => {
    const { log, cached, counters } = await start();
    for (let rev = 1; rev <= 40; rev += 1) await appendEntry(log, 'room', rev, 1);
    await cached.heads(['room']);

    expect(revsOf(await cached.range('room', 11, { limit: 20, maxBytes: 1e9 }))).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 11),
    );
    expect(revsOf(await cached.range('room', 41, ALL))).toEqual([]);
    expect(counters).toMatchObject({ logReads: 0, tailReads: 2 });
  });

  it('[R5] the tail is bounded in bytes: the oldest go first, of whatever room', async () => {
    const { log, cached, counters } = await start({ tail: 10_000 });
    for (let rev = 1; rev <= 100; rev += 1) await appendEntry(log, `room ${rev % 2}`, (rev + 1) >> 1, 1);
    await cached.heads([]);

    expect(revsOf(await cached.range('room 1', 46, ALL))).toEqual([46, 47, 48, 49, 50]);
    expect(counters.logReads).toBe(0);
    expect(revsOf(await cached.range('room 1', 1, ALL))).toHaveLength(50);
    expect(counters.logReads).toBeGreaterThan(0);
  });

  it('[R5] many small revisions in an entry count as what they cost', async () => {
    const { log, cached, counters } = await start({ tail: 100_000 });
    for (let rev = 1; rev <= 2_000; rev += 200) await appendEntry(log, 'room', rev, 200);
    await cached.heads([]);

    expect(revsOf(await cached.range('room', 1_801, ALL))).toHaveLength(200);
    expect(counters.logReads).toBe(0);
    await cached.range('room', 1_401, { limit: 1, maxBytes: 1 });
    expect(counters.logReads).toBe(1);
  });

  it('[R6] a page is read once for all who ask together, and kept', async () => {
    const { log, cached, counters } = await start({ tail: 0 });
    for (let rev = 1; rev <= 500; rev += 10) await appendEntry(log, 'room', rev, 10);
    await cached.heads([]);
    const starts = Array.from({ length: 100 }, (_, index) => index + 1);

    const ranges = await Promise.all(starts.map((rev) => cached.range('room', rev, { limit: 50, maxBytes: 1e9 })));

    for (const [index, range] of ranges.entries()) {
      expect(revsOf(range)).toEqual(Array.from({ length: 50 }, (_, at) => index + 1 + at));
    }
    expect(counters.logReads).toBe(1);
    const { pageReads } = counters;
    await cached.range('room', 150, { limit: 10, maxBytes: 1e9 });
    expect(counters).toMatchObject({ logReads: 1, pageReads: pageReads + 1 });
  });

  it('[R6] who asks below the oldest kept revision costs one read of the log', async () => {
    const store = new MemoryStore(300);
    const { log, cached, counters } = await start({ store, tail: 0 });
    for (let rev = 1; rev <= 800; rev += 1) await appendEntry(log, 'room', rev, 1);
    await cached.heads([]);
    const truth = await log.range('room', 1, ALL);
    expect(truth.kind).toBe('truncated');
    for (const rev of [1, 201]) {
      const { logReads } = counters;
      expect(await cached.range('room', rev, ALL)).toEqual(truth);
      expect(counters.logReads).toBe(logReads + 1);
    }
  });

  it('[R6] pages are bounded in bytes: the longest unused goes first', async () => {
    const { log, cached, counters } = await start({ tail: 0, pages: 300_000 });
    for (let rev = 1; rev <= 2_000; rev += 1) await appendEntry(log, 'room', rev, 1);
    await cached.heads([]);
    const read = (rev: number) => cached.range('room', rev, { limit: 200, maxBytes: 1e9 });
    for (const rev of [1, 201, 401, 1]) await read(rev);
    const { logReads } = counters;
    await read(1);
    expect(counters.logReads).toBe(logReads);
    await read(201);
    expect(counters.logReads).toBe(logReads + 1);
  });

  it('[R6] a storm over a room of large revisions reads each page once, wherever clients stand', async () => {
    const { log, cached, counters } = await start({ tail: 0, pages: 64 * 1024 * 1024 });
    const [revisions, bytes, atOnce] = [600, 60_000, 4];
    const text = (rev: number) => `"${String(rev).padEnd(bytes, '.')}"`;
    for (let rev = 1; rev <= revisions; rev += 1) {
      await log.append('room', { revisions: [{ data: Buffer.from(text(rev)) }] });
    }
    await cached.heads([]);
    // What each page is asked for by an edge: so many revisions as its own pages have of such a size.
    const client = async (position: number): Promise<void> => {
      for (let rev = position + 1; rev <= revisions;) {
        const range = await cached.range('room', rev, { limit: 200, maxBytes: atOnce * bytes + 100 });
        const revs = revsOf(range);
        expect(revs[0]).toBe(rev);
        rev += revs.length;
      }
    };
    await Promise.all(Array.from({ length: 100 }, (_, index) => client((index % 20) * 29)));

    // 17 revisions fit a page; a half of a half of a half of 100 is the largest that does.
    const distinctPages = (revisions / 200) * 16;
    expect(counters.logReads).toBeLessThanOrEqual(distinctPages + 5);
    // All of it is kept: who comes now costs the log nothing.
    const { logReads } = counters;
    for (const position of [0, 17, 390, 599]) await client(position);
    expect(counters.logReads).toBe(logReads);
  });

  it('[R6] one who reads in the middle of large revisions costs a few reads, and then none', async () => {
    const { log, cached, counters } = await start({ tail: 0, pages: 64 * 1024 * 1024 });
    for (let rev = 1; rev <= 400; rev += 1) {
      await log.append('room', { revisions: [{ data: Buffer.from(`"${'.'.repeat(60_000)}"`) }] });
    }
    await cached.heads([]);
    for (let turn = 0; turn < 10; turn += 1) {
      expect(revsOf(await cached.range('room', 390, { limit: 5, maxBytes: 1e9 }))).toEqual([390, 391, 392, 393, 394]);
    }
    expect(counters.logReads).toBeLessThanOrEqual(5);
  });

  it('[R6] one large revision among small ones costs a few smaller pages, not one for each', async () => {
    const { log, cached, counters } = await start({ tail: 0, pages: 64 * 1024 * 1024 });
    for (let rev = 1; rev <= 400; rev += 1) {
      const size = rev === 100 ? 3 * 1024 * 1024 : 1_000;
      await log.append('room', { revisions: [{ data: Buffer.from(`"${'.'.repeat(size)}"`) }] });
    }
    await cached.heads([]);
    for (let turn = 0; turn < 3; turn += 1) {
      for (let rev = 1; rev <= 400; rev += 1) {
        expect(revsOf(await cached.range('room', rev, { limit: 1, maxBytes: 1e9 }))).toEqual([rev]);
      }
    }
    expect(counters.logReads).toBeLessThanOrEqual(20);
  });

  it('[R7] a purged room has no head and no entries any more, though a purge makes no entry', async () => {
    const { log, store, cached, counters } = await start();
    await appendEntry(log, 'other', 1, 1);
    await appendEntry(log, 'room', 1, 5);
    await cached.heads(['room']);
    store.removeHistory('room');

    expect(await cached.range('room', 1, ALL)).toEqual({ kind: 'empty' });
    expect((await cached.heads(['room'])).get('room')).toBeNull();
    const { headsConfirmed } = counters;
    expect(await cached.heads(['other', 'room'])).toEqual(await log.heads(['other', 'room']));
    // Who asked for it has shown which room is gone: nothing else is forgotten.
    expect(counters).toMatchObject({ headsConfirmed: headsConfirmed + 1, restarts: 0 });
  });

  it('[R7] a purged room that nobody asks for: heads are asked of the leader, and after a while all is read again', async () => {
    const clock = new ManualClock();
    const { log, store, cached, counters } = await start({ clock });
    for (const room of ['one', 'two', 'gone']) await appendEntry(log, room, 1, 2);
    await cached.heads([]);
    store.removeHistory('gone');
    const { headsConfirmed } = counters;
    for (let turn = 0; turn < 3; turn += 1) expect(await cached.heads(['one'])).toEqual(await log.heads(['one']));
    expect(counters).toMatchObject({ headsConfirmed, restarts: 0 });

    clock.skip(2_000);
    await cached.heads(['one']);
    expect(counters.restarts).toBe(1);
    await settle();
    expect(await cached.heads(['one', 'gone'])).toEqual(await log.heads(['one', 'gone']));
    expect(counters).toMatchObject({ headsConfirmed: headsConfirmed + 1, restarts: 1 });
  });

  it('[R7] where a room’s newest entry was removed alone, who reads the room finds out, and memory does not contradict it', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore();
    const log = new MemoryLog({ clock: systemClock, store });
    for (const room of ['other', 'room', 'room', 'room'])
      await log.append(room, { revisions: [{ data: Buffer.from('0') }] });
    const [, second, third] = store.entriesOf('room');
    if (second === undefined || third === undefined) throw new Error('the room has three entries');
    let isRemoved = false;
    const heads: Log['heads'] = async (rooms) => {
      const all = await log.heads(rooms);
      return isRemoved ? new Map([...all].map(([room, head]) => [room, room === 'room' ? headOf(second) : head])) : all;
    };
    const range: Log['range'] = async (...asked) => {
      const found = await log.range(...asked);
      if (!isRemoved || found.kind !== 'entries' || asked[0] !== 'room') return found;
      return { ...found, entries: found.entries.filter((entry) => entry !== third), head: headOf(second) };
    };
    const whole: WholeLog = {
      followAll: (listener) => log.followAll(listener),
      extent: async () => ({ ...(await log.extent()), removed: isRemoved ? 2 : 0 }),
      keeps: async (entry) => (!isRemoved || entry.seq !== third.seq) && log.keeps(entry),
    };
    const { cached, counters } = await start({
      log,
      store,
      whole,
      clock,
      read: { heads, range, snapshot: (room) => log.snapshot(room) },
    });
    expect((await cached.heads(['room'])).get('room')?.rev).toBe(3);
    // A room too many in memory, and one whose head is wrong: they must not make up for each other.
    store.removeHistory('purged');
    isRemoved = true;

    expect(await cached.range('room', 3, ALL)).toMatchObject({ head: { rev: 2 } });
    expect((await cached.heads(['room'])).get('room')?.rev).toBe(2);
    expect((await cached.heads(['other', 'room'])).get('room')?.rev).toBe(2);
    clock.skip(2_000);
    await cached.heads(['room']);
    expect(counters.restarts).toBe(1);
  });

  it('[R7] where the log counts other rooms for good, all is read again ever more rarely', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore();
    const log = new MemoryLog({ clock: systemClock, store });
    const whole: WholeLog = {
      followAll: (listener) => log.followAll(listener),
      // As with a message in the stream that is no entry.
      extent: async () => ({ ...(await log.extent()), rooms: (await log.extent()).rooms + 1 }),
      keeps: (entry) => log.keeps(entry),
    };
    const { cached, counters } = await start({ log, store, whole, clock });
    await appendEntry(log, 'room', 1, 1);
    for (let s = 0; s < 3_600; s += 5) {
      expect(await cached.heads(['room'])).toEqual(await log.heads(['room']));
      clock.skip(5_000);
      await settle(2);
    }
    expect(counters.headsConfirmed).toBe(0);
    expect(counters.restarts).toBeGreaterThan(2);
    expect(counters.restarts).toBeLessThan(20);
  });

  it('[R6] so many ranges are read from the log at once; others wait, and one too many is refused', async () => {
    const store = new MemoryStore();
    const log = new MemoryLog({ clock: systemClock, store });
    const rooms = Array.from({ length: 43 }, (_, index) => `room ${index}`);
    for (const room of rooms) await appendEntry(log, room, 1, 3);
    let [underWay, most] = [0, 0];
    const held: (() => void)[] = [];
    const released = new Promise<void>((resolve) => {
      held.push(resolve);
    });
    const read: Options['read'] = {
      heads: (...asked) => log.heads(...asked),
      snapshot: (room) => log.snapshot(room),
      range: async (...asked) => {
        underWay += 1;
        most = Math.max(most, underWay);
        await released;
        underWay -= 1;
        return log.range(...asked);
      },
    };
    const { cached, counters } = await start({ log, store, read, tail: 0, reads: 2 });
    const asking = Promise.allSettled(rooms.map((room) => cached.range(room, 1, ALL)));
    await waitFor(() => underWay === 2, { what: 'two reads are under way' });
    await settle();
    for (const release of held) release();
    const answers = await asking;
    // Two at once, and twenty waiting for each.
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
    expect(refused).toEqual([expect.objectContaining({ code: 'overloaded' })]);
    expect(most).toBe(2);
    expect(counters.logReads).toBe(42);
  });

  it('[R7] what retention removed is not answered from memory: not from the tail, nor from a page', async () => {
    const store = new MemoryStore(200);
    const log = new MemoryLog({ clock: systemClock, store });
    const { cached, counters } = await start({ log, store, tail: 150_000 });
    for (let rev = 1; rev <= 240; rev += 1) await appendEntry(log, 'room', rev, 1);
    await cached.heads([]);
    const page = await cached.range('room', 1, { limit: 10, maxBytes: 1e9 });
    expect(revsOf(page)).toHaveLength(10);
    for (let rev = 241; rev <= 260; rev += 1) await appendEntry(log, 'room', rev, 1);
    await cached.heads([]);

    const truth = await log.range('room', 'first', ALL);
    const firstRev = revsOf(truth)[0] ?? 0;
    expect(firstRev).toBeGreaterThan(1);
    for (const from of [1, firstRev - 1]) {
      expect(await cached.range('room', from, ALL)).toMatchObject({ kind: 'truncated', firstRev });
    }
    for (const from of [firstRev, 230, 255]) {
      expect(revsOf(await cached.range('room', from, ALL))).toEqual(revsOf(await log.range('room', from, ALL)));
    }
    expect(counters.restarts).toBe(0);
  });

  it('[R7] other rooms are answered from memory after something was removed, once the leader was asked for each', async () => {
    const { log, store, cached, counters } = await start();
    for (const room of ['one', 'two', 'gone']) await appendEntry(log, room, 1, 5);
    await cached.heads([]);
    store.removeHistory('gone');
    const keptAsked = counters.keptAsked;
    for (let turn = 0; turn < 3; turn += 1) {
      for (const room of ['one', 'two']) expect(revsOf(await cached.range(room, 1, ALL))).toHaveLength(5);
    }
    expect(counters).toMatchObject({ logReads: 0, keptAsked: keptAsked + 2 });
  });

  it('[R7] a stream that was made again is not answered from memory, however alike it is', async () => {
    const store = new MemoryStore();
    const log = new MemoryLog({ clock: systemClock, store });
    let made = 'first';
    const whole: WholeLog = {
      followAll: (listener) => ({ ...log.followAll(listener), vouchesFor: (extent) => extent.made === 'first' }),
      extent: async () => ({ ...(await log.extent()), made }),
      keeps: (entry) => log.keeps(entry),
    };
    const { cached, counters } = await start({ log, store, whole });
    await appendEntry(log, 'room', 1, 3);
    await cached.heads([]);
    expect(revsOf(await cached.range('room', 1, ALL))).toHaveLength(3);
    expect(counters).toMatchObject({ logReads: 0, tailReads: 1 });
    made = 'again';
    await cached.range('room', 1, ALL);
    await cached.heads(['room']);
    expect(counters).toMatchObject({ logReads: 1, tailReads: 1, headsAsked: 1 });
  });

  it('[R7] a room that begins again is answered in its new numbering only', async () => {
    const { log, store, cached } = await start({ tail: 2_000 });
    for (let rev = 1; rev <= 400; rev += 1) await appendEntry(log, 'room', rev, 1);
    await cached.heads([]);
    await cached.range('room', 1, { limit: 200, maxBytes: 1e9 });
    store.removeHistory('room');
    const other = new MemoryLog({ clock: systemClock, store });
    for (let rev = 1; rev <= 300; rev += 1) await appendEntry(other, 'room', rev, 1);
    const { epoch } = (await log.heads(['room'])).get('room') ?? { epoch: '' };
    await cached.heads(['room']);

    const range = await cached.range('room', 1, { limit: 200, maxBytes: 1e9 });
    expect(range.kind === 'entries' && range.entries.every((entry) => entry.epoch === epoch)).toBe(true);
  });

  it('[R7] a leader that says less than was received is not believed, nor is memory: the heads are asked for', async () => {
    const store = new MemoryStore();
    const log = new MemoryLog({ clock: systemClock, store });
    let verified = 0;
    let lost = 0;
    const whole: WholeLog = {
      followAll(listener) {
        const following = log.followAll(listener);
        return {
          ...following,
          verify() {
            verified += 1;
          },
        };
      },
      extent: async () => ({ ...(await log.extent()), lastSeq: (await log.extent()).lastSeq - lost }),
      keeps: (entry) => log.keeps(entry),
    };
    const { cached, counters } = await start({ log, store, whole });
    await appendEntry(log, 'room', 1, 1);
    await appendEntry(log, 'room', 2, 1);
    await cached.heads(['room']);
    expect(counters.headsAsked).toBe(0);
    lost = 1;

    expect(await cached.heads(['room'])).toEqual(await log.heads(['room']));
    expect(counters.headsAsked).toBe(1);
    expect(verified).toBe(1);
  });

  const seed = testSeed();
  it(`[R5][R6] any ranges of any rooms are as the log has them (seed ${seed})`, async () => {
    const random = new Random(seed);
    const { log, cached } = await start({ tail: 40_000, pages: 100_000 });
    const heads = new Map<string, number>();
    for (let step = 0; step < 1_500; step += 1) {
      const room = `room ${random.whole(0, 5 - 1)}`;
      const head = heads.get(room) ?? 0;
      if (random.whole(0, 3 - 1) > 0) {
        const count = 1 + random.whole(0, 7 - 1);
        await appendEntry(log, room, head + 1, count);
        heads.set(room, head + count);
        continue;
      }
      if (random.whole(0, 2 - 1) === 0) await cached.heads([room]);
      const fromRev = random.whole(1, head + 2);
      const options = { limit: 1 + random.whole(0, 450 - 1), maxBytes: 1 + random.whole(0, 20_000 - 1) };
      const range = await cached.range(room, fromRev, options);
      const truth = await log.range(room, fromRev, ALL);
      if (truth.kind !== 'entries') {
        expect(range.kind).toBe(truth.kind);
        continue;
      }
      const expected = dataOf(truth.entries);
      const got = range.kind === 'entries' ? range.entries : [];
      expect(dataOf(got)).toEqual(expected.slice(0, dataOf(got).length));
      expect(dataOf(got).length).toBeLessThanOrEqual(options.limit);
      // A copy may be late, but it is never empty where it says that the room goes further.
      const upTo = range.kind === 'entries' ? range.head.rev : 0;
      if (upTo >= fromRev) expect(got.length).toBeGreaterThan(0);
      for (const [index, entry] of got.entries()) {
        const before = got[index - 1];
        expect(entry.firstRev).toBe(before === undefined ? fromRev : lastRev(before) + 1);
      }
    }
  });
});
