/** The revision service's memory under random appends, purges and retention, against the log itself: rules R5 to R7. */
import { expect, it } from 'vitest';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { lastRev, type Range } from '../../services/log/log.js';
import { CachedLog } from '../../services/revision/cached-log.js';
import { RevisionCounters } from '../../services/revision/counters.js';
import { systemClock } from '../../services/shared/clock.js';
import { ManualClock } from '../support/manual-clock.js';
import { Random, testSeed } from '../support/random.js';

const STEPS = 4_000;
const ROOMS = 6;
/** Beyond these retention removes a room's oldest. */
const KEPT_REVISIONS = 500;
const SETTINGS = { revisionTailBytes: 60_000, revisionCacheBytes: 200_000, revisionLogReads: 16 };

/** What matters of a range: each revision and the entry it is of, which may come in pieces where pages meet. */
function told(range: Range): unknown {
  if (range.kind !== 'entries') return range;
  return range.entries.flatMap(({ epoch, tag, seq, firstRev, previousTime, revisions }) =>
    revisions.map(({ time }, i) => [epoch, tag, seq, firstRev + i, time, revisions[i - 1]?.time ?? previousTime]),
  );
}

const seed = testSeed();
it(`[R5] [R6] [R7] heads and ranges are always the log's, whatever was removed (seed ${seed})`, async () => {
  const random = new Random(seed);
  const store = new MemoryStore(KEPT_REVISIONS);
  const log = new MemoryLog({ clock: systemClock, store });
  const counters = new RevisionCounters();
  const clock = new ManualClock();
  const cached = new CachedLog({ log, whole: log, clock, counters, settings: SETTINGS });
  const append = async (room: string): Promise<void> => {
    const revisions = Array.from({ length: random.whole(1, 12) }, (_, i) => ({ data: Buffer.from(`"${i}"`) }));
    await log.append(room, { revisions });
  };
  const compareRange = async (room: string): Promise<void> => {
    const head = (await log.heads([room])).get(room)?.rev ?? 0;
    const from = random.whole(1, head + 3);
    const options = { limit: random.whole(1, 300), maxBytes: 1e9 };
    const hint = random.whole(0, 2) === 0 ? { hint: random.whole(1, 20_000) } : {};
    const answer = await cached.range(room, from, { ...options, ...hint });
    expect(told(answer)).toEqual(told(await log.range(room, from, options)));
    if (answer.kind === 'entries') expect(answer.head).toEqual((await log.heads([room])).get(room));
  };

  for (let step = 0; step < STEPS; step += 1) {
    const room = `room ${random.whole(0, ROOMS - 1)}`;
    const dice = random.whole(0, 99);
    if (dice < 45) await append(room);
    else if (dice < 85) await compareRange(room);
    else if (dice < 97) expect(await cached.heads([room])).toEqual(await log.heads([room]));
    else if (dice < 98) store.removeHistory(room);
    else clock.skip(random.whole(0, 20_000));
    // What was stored reaches the follower from a turn of its own.
    await new Promise((resolve) => setImmediate(resolve));
  }
  cached.stop();
  // All ways were gone.
  for (const count of [counters.tailReads, counters.pageReads, counters.logReads]) expect(count).toBeGreaterThan(20);
  for (const count of [counters.headsConfirmed, counters.headsAsked, counters.keptAsked])
    expect(count).toBeGreaterThan(5);
});

const ROUNDS = 15;
const PLENTY = 1e9;

/** A cache in front of a log of one room, of which the tail holds nothing but the head; what it costs to read on in it. */
async function pagesOver(log: MemoryLog, maxBytes = PLENTY) {
  const counters = new RevisionCounters();
  const settings = { revisionTailBytes: 0, revisionCacheBytes: maxBytes, revisionLogReads: 16 };
  const cached = new CachedLog({ log, whole: log, clock: systemClock, counters, settings });
  await new Promise((resolve) => setImmediate(resolve));
  await cached.heads([]);
  const readOn = async (from: number, limit = 200): Promise<unknown[]> => {
    const read: unknown[] = [];
    for (let rev = from; ;) {
      const range = await cached.range('room', rev, { limit, maxBytes: PLENTY });
      read.push(...(told(range) as unknown[]));
      const last = range.kind === 'entries' ? range.entries.at(-1) : undefined;
      if (range.kind !== 'entries' || last === undefined || lastRev(last) >= range.head.rev) return read;
      rev = lastRev(last) + 1;
    }
  };
  return { cached, counters, readOn };
}

it(`[R6] readers from everywhere cost the log what one costs that reads all, and then nothing (seed ${seed})`, async () => {
  const random = new Random(seed);
  for (let round = 0; round < ROUNDS; round += 1) {
    const count = random.whole(50, 700);
    const store = new MemoryStore(random.chance(0.8) ? random.whole(20, count) : undefined);
    const log = new MemoryLog({ clock: systemClock, store });
    const large = random.chance(0.5) ? random.next() / 2 : 0;
    for (let rev = 1; rev <= count; rev += 1) {
      const bytes = random.chance(large) ? random.whole(20_000, 90_000) : 10;
      await log.append('room', { revisions: [{ data: Buffer.from(`"${'x'.repeat(bytes)}"`) }] });
    }
    const oldest = store.entriesOf('room')[0]?.firstRev ?? 0;
    const all = told(await log.range('room', 'first', { limit: count, maxBytes: PLENTY })) as unknown[];
    const lone = await pagesOver(log);
    expect(await lone.readOn(oldest)).toEqual(all);
    // One read more, which tells where the room begins.
    const distinct = lone.counters.logReads;

    const { cached, counters, readOn } = await pagesOver(log);
    const positions = Array.from({ length: 20 }, () => random.whole(oldest, count));
    const read = await Promise.all(positions.map((from) => readOn(from)));
    for (const [index, from] of positions.entries()) expect(read[index]).toEqual(all.slice(from - oldest));
    expect(counters.logReads).toBeLessThanOrEqual(distinct + 2);
    await readOn(oldest);
    const { logReads } = counters;
    for (const from of positions) expect(await readOn(from)).toEqual(all.slice(from - oldest));
    expect(counters.logReads).toBe(logReads);
    cached.stop();
    lone.cached.stop();
  }
});

it('[R6] a block whose beginning is not kept is read once for all, whether they ask at once or in turn', async () => {
  const store = new MemoryStore();
  const log = new MemoryLog({ clock: systemClock, store });
  await log.putSnapshot('room', { rev: 1_050, data: Buffer.from('0') });
  for (let i = 0; i < 350; i += 1) await log.append('room', { revisions: [{ data: Buffer.from('1') }] });
  const { cached, counters } = await pagesOver(log);
  const read = async () => {
    const range = await cached.range('room', 1_051, { limit: 100, maxBytes: PLENTY });
    expect(told(range)).toHaveLength(100);
  };
  await Promise.all(Array.from({ length: 40 }, read));
  expect(counters.logReads).toBe(2);
  for (let turn = 0; turn < 20; turn += 1) await read();
  expect(counters.logReads).toBe(2);
  cached.stop();
});

it('[R6] the newest block of a room is read once after a start, and what comes since is added from the tail', async () => {
  const store = new MemoryStore();
  const log = new MemoryLog({ clock: systemClock, store });
  const append = async (count: number) => {
    const revisions = Array.from({ length: count }, () => ({ data: Buffer.from('1') }));
    await log.append('room', { revisions });
    await new Promise((resolve) => setImmediate(resolve));
  };
  for (let i = 0; i < 30; i += 1) await append(3);
  const counters = new RevisionCounters();
  const settings = { revisionTailBytes: PLENTY, revisionCacheBytes: PLENTY, revisionLogReads: 16 };
  const cached = new CachedLog({ log, whole: log, clock: systemClock, counters, settings });
  await new Promise((resolve) => setImmediate(resolve));
  for (let turn = 0; turn < 80; turn += 1) {
    for (const limit of [7, 40, 500]) {
      expect(told(await cached.range('room', 11, { limit, maxBytes: PLENTY }))).toEqual(
        told(await log.range('room', 11, { limit, maxBytes: PLENTY })),
      );
    }
    await append(1 + (turn % 3));
  }
  expect(counters.logReads).toBe(1);
  cached.stop();
});

it('[R6] a newest block that the tail does not go on from is read again once for all who need what came', async () => {
  const store = new MemoryStore();
  const log = new MemoryLog({ clock: systemClock, store });
  const append = () => log.append('room', { revisions: [{ data: Buffer.from('1') }] });
  for (let i = 0; i < 90; i += 1) await append();
  const { cached, counters } = await pagesOver(log);
  for (let turn = 1; turn <= 5; turn += 1) {
    const read = async () => {
      expect(told(await cached.range('room', 11, { limit: 500, maxBytes: PLENTY }))).toHaveLength(79 + turn);
    };
    await Promise.all(Array.from({ length: 20 }, read));
    for (let again = 0; again < 5; again += 1) await read();
    expect(counters.logReads).toBe(turn);
    await append();
    await cached.heads([]);
  }
  cached.stop();
});
