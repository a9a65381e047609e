/** Ranges and heads: rules L7 and L8. */
import { beforeAll, describe, expect, test } from 'vitest';
import { headOf, type Entry, type Log } from '../../services/log/log.js';
import { Random, testSeed } from '../support/random.js';
import { allEntries, many, newRoom, numbered, one, valuesOf, type LogHarness } from './harness.js';

const AMPLE = { limit: 10_000, maxBytes: 1e9 };

export function describeReads(harness: () => LogHarness): void {
  describe('range', () => {
    const seed = testSeed();
    const random = new Random(seed);
    let log: Log;
    let room: string;
    let entries: Entry[];
    let values: [number, unknown][];
    let foreignSeqs: number[];

    /** Entries of one to nine revisions, between those of two other rooms. */
    beforeAll(async () => {
      log = await harness().open();
      room = newRoom();
      const others = [newRoom(), newRoom()] as const;
      foreignSeqs = [];
      for (let i = 0; i < 70; i += 1) {
        await log.append(room, many(Array.from({ length: random.whole(1, 9) }, (_, index) => `${i}.${index}`)));
        for (const other of others) {
          if (random.chance(0.5)) foreignSeqs.push((await log.append(other, one(i))).seq);
        }
      }
      entries = await allEntries(log, room);
      values = valuesOf(entries);
    });

    /** What the range answers, and what it should. */
    const compared = async (from: number, limit: number, hint?: number): Promise<{ got: object; wanted: object }> => {
      const asked = { from, limit, hint };
      const range = await log.range(room, from, { limit, maxBytes: 1e9, ...(hint === undefined ? {} : { hint }) });
      const got = range.kind === 'entries' ? { ...range, entries: valuesOf(range.entries) } : range;
      const head = headOf(entries.at(-1) as Entry);
      const wanted = { kind: 'entries', entries: values.slice(from - 1, from - 1 + limit), head };
      return { got: { ...asked, ...got }, wanted: { ...asked, ...wanted } };
    };

    test(`[L7] answers consecutive revisions from any rev on, in the middle of entries too (seed ${seed})`, async () => {
      expect(values).toEqual(numbered(values.map(([, value]) => value)));
      for (let i = 0; i < 60; i += 1) {
        const { got, wanted } = await compared(random.whole(1, values.length), random.whole(1, 120));
        expect(got).toEqual(wanted);
      }
    });

    test(`[L7] with the right hint, an early one, or a wrong one likewise (seed ${seed})`, async () => {
      for (let i = 0; i < 60; i += 1) {
        const from = random.whole(1, values.length);
        const holder = entries.findIndex(({ firstRev, revisions }) => firstRev + revisions.length > from);
        const hints = [
          entries[holder]?.seq,
          entries[random.whole(0, holder)]?.seq,
          entries[random.whole(0, entries.length - 1)]?.seq,
          foreignSeqs[random.whole(0, foreignSeqs.length - 1)],
          (entries.at(-1)?.seq ?? 0) + random.whole(1, 1_000_000),
          0,
          -5,
        ];
        for (const hint of hints) {
          const { got, wanted } = await compared(from, random.whole(1, 40), hint);
          expect(got).toEqual(wanted);
        }
      }
    });

    test('[L7] entries cut to the range keep tag and seq, and the time before their first revision', async () => {
      const whole = entries.find(({ revisions }) => revisions.length >= 3);
      if (whole === undefined) throw new Error('no entry of three revisions');
      const range = await log.range(room, whole.firstRev + 1, { limit: 1, maxBytes: 1e9 });

      expect(range).toMatchObject({
        kind: 'entries',
        entries: [
          {
            tag: whole.tag,
            seq: whole.seq,
            epoch: whole.epoch,
            firstRev: whole.firstRev + 1,
            previousTime: whole.revisions[0]?.time,
            revisions: [whole.revisions[1]],
          },
        ],
      });
    });

    test('[L7] first begins with the oldest kept revision', async () => {
      const range = await log.range(room, 'first', AMPLE);

      expect(range).toMatchObject({ kind: 'entries' });
      expect(range.kind === 'entries' && valuesOf(range.entries)).toEqual(values);
    });

    test('[L7] above the head it is empty and tells the head', async () => {
      const head = headOf(entries.at(-1) as Entry);

      expect(await log.range(room, head.rev + 1, AMPLE)).toEqual({ kind: 'entries', entries: [], head });
      expect(await log.range(room, head.rev + 1_000, AMPLE)).toEqual({ kind: 'entries', entries: [], head });
    });

    test('[L7] of a room without revisions is empty', async () => {
      expect(await log.range(newRoom(), 1, AMPLE)).toEqual({ kind: 'empty' });
      expect(await log.range(newRoom(), 'first', AMPLE)).toEqual({ kind: 'empty' });
    });

    test('[L7] stops before maxBytes are exceeded, but answers one entry at least', async () => {
      const big = newRoom();
      const part = 'x'.repeat(20_000);
      for (let i = 0; i < 30; i += 1) await log.append(big, one(`${i} ${part}`));

      const some = await log.range(big, 5, { limit: 100, maxBytes: 100_000 });
      const least = await log.range(big, 5, { limit: 100, maxBytes: 10 });

      expect(some.kind === 'entries' && some.entries.map(({ firstRev }) => firstRev)).toEqual([5, 6, 7, 8]);
      expect(least.kind === 'entries' && least.entries.map(({ firstRev }) => firstRev)).toEqual([5]);
    });

    test('[L7] older than what is kept is answered with the first revision that is kept', async () => {
      const trimmedRoom = newRoom();
      const trimmed = await harness().openTrimmed(trimmedRoom, 60, 20);

      const range = await trimmed.range(trimmedRoom, 1, AMPLE);

      if (range.kind !== 'truncated') throw new Error(`expected truncated, got ${range.kind}`);
      expect(range.head.rev).toBe(60);
      expect(range.firstRev).toBeGreaterThan(30);
      expect(await trimmed.range(trimmedRoom, range.firstRev - 1, AMPLE)).toEqual(range);
      for (const from of [range.firstRev, 'first'] as const) {
        const kept = await trimmed.range(trimmedRoom, from, AMPLE);
        expect(kept.kind === 'entries' && valuesOf(kept.entries).map(([rev]) => rev)).toEqual(
          Array.from({ length: 60 - range.firstRev + 1 }, (_, index) => range.firstRev + index),
        );
      }
    });

    test('[L7] many ranges at once are all answered', async () => {
      const starts = Array.from({ length: 60 }, () => random.whole(1, values.length));

      const answers = await Promise.all(starts.map((from) => compared(from, 50)));

      expect(answers.map(({ got }) => got)).toEqual(answers.map(({ wanted }) => wanted));
    });
  });

  describe('heads', () => {
    test('[L8] of 1,000 rooms are answered in one batch, null where there are no revisions', async () => {
      const [log, writer] = await Promise.all([harness().open(), harness().open()]);
      const rooms = Array.from({ length: 1_000 }, () => newRoom());
      const appended = await Promise.all(
        rooms.map(async (room, index) => (index % 2 === 0 ? writer.append(room, many([index, 'x'])) : null)),
      );

      const heads = await log.heads(rooms);

      expect(heads.size).toBe(1_000);
      for (const [index, room] of rooms.entries()) {
        const last = appended[index];
        const { epoch, rev, tag, seq, time } = last ?? {};
        expect(heads.get(room)).toEqual(last === null ? null : { epoch, rev, tag, seq, time });
      }
    });

    test('[L8] are what was acknowledged last, at once and at every reader', async () => {
      const [writer, reader] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();

      for (let i = 1; i <= 200; i += 1) {
        const { rev } = await writer.append(room, one(i));
        expect((await reader.heads([room])).get(room)?.rev).toBe(rev);
      }
    });

    test('[L8] of no rooms is nothing, and of a room named twice is one', async () => {
      const log = await harness().open();
      const room = newRoom();
      await log.append(room, one(1));

      expect(await log.heads([])).toEqual(new Map());
      expect((await log.heads([room, room])).size).toBe(1);
    });
  });
}
