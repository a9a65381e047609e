/** Numbering: rules L1, L2, L3, L9, L10, L11. */
import { describe, expect, test } from 'vitest';
import type { Appended } from '../../services/log/log.js';
import { Random, testSeed } from '../support/random.js';
import { ShiftedClock } from '../support/shifted-clock.js';
import { allEntries, data, many, newRoom, numbered, one, rejection, valuesOf, type LogHarness } from './harness.js';

const HOUR_MS = 3_600_000;

export function describeAppends(harness: () => LogHarness): void {
  describe('append', () => {
    test('[L1] the first append of a room mints an epoch and is revision 1', async () => {
      const log = await harness().open();
      const room = newRoom();

      const first = await log.append(room, one('a'));
      const second = await log.append(room, one('b'));

      expect(first).toMatchObject({ firstRev: 1, rev: 1, duplicate: false });
      expect(second).toMatchObject({ epoch: first.epoch, firstRev: 2, rev: 2, duplicate: false });
      expect(first.epoch).not.toBe('');
      expect(first.tag).toMatch(/^[0-9a-f]{8}$/u);
      expect(second.seq).toBeGreaterThan(first.seq);
      expect(second.tag).not.toBe(first.tag);
    });

    const seed = testSeed();
    test(`[L1] several writers number a room without holes, and each is told its own place (seed ${seed})`, async () => {
      const random = new Random(seed);
      const writers = await Promise.all([harness().open(), harness().open(), harness().open()]);
      const room = newRoom();
      const told = new Map<number, unknown>();

      await Promise.all(
        writers.map(async (writer, w) => {
          for (let i = 0; i < 30; i += 1) {
            const burst = Array.from({ length: random.whole(1, 4) }, (_, b) =>
              Array.from({ length: random.whole(1, 3) }, (_each, v) => `${w}.${i}.${b}.${v}`),
            );
            await Promise.all(
              burst.map(async (values) => {
                const { firstRev, rev } = await writer.append(room, many(values));
                expect(rev - firstRev + 1).toBe(values.length);
                values.forEach((value, index) => told.set(firstRev + index, value));
              }),
            );
          }
        }),
      );

      const stored = valuesOf(await allEntries(await harness().open(), room));
      expect(stored.map(([rev]) => rev)).toEqual(stored.map((_, index) => index + 1));
      expect(new Map(stored)).toEqual(told);
    });

    test('[L1] rooms are numbered independently, whatever their names', async () => {
      const log = await harness().open();
      const names = ['文档/ß 💥', 'a.b.c', '*', '>', ' ', 'x'.repeat(200), 'rev.1.YQ', 'Ünïcödé'];

      for (const name of names) await log.append(name, one(name));
      const other = await harness().open();

      for (const name of names) {
        expect(valuesOf(await allEntries(other, name))).toEqual([[1, name]]);
      }
    });

    test('[L2] an append of many revisions is one entry with one tag', async () => {
      const log = await harness().open();
      const room = newRoom();
      const values = Array.from({ length: 500 }, (_, index) => index);

      const appended = await log.append(room, many(values));

      const entries = await allEntries(log, room);
      expect(entries).toHaveLength(1);
      expect(entries[0]).toMatchObject({ firstRev: 1, tag: appended.tag, seq: appended.seq, epoch: appended.epoch });
      expect(valuesOf(entries)).toEqual(numbered(values));
    });

    test('[L2] an append that does not fit into one entry is refused and nothing of it is stored', async () => {
      const log = await harness().open();
      const room = newRoom();
      const part = data('x'.repeat(900_000));

      const error = await rejection(
        log.append(room, { revisions: Array.from({ length: 10 }, () => ({ data: part })) }),
      );

      expect(error).toMatchObject({ code: 'too_large', retryable: false });
      expect(await log.heads([room])).toEqual(new Map([[room, null]]));
    });

    test('[L2] data, authors and keys come back byte for byte', async () => {
      const log = await harness().open();
      const room = newRoom();
      const bytes = data({ text: 'ä "quoted" \u{1F4A5}', n: 1.5, nested: [null, true, { a: [] }] });

      await log.append(room, { revisions: [{ data: bytes, author: 'Zoë' }, { data: bytes }], key: 'schlüssel' });

      const [entry] = await allEntries(await harness().open(), room);
      expect(entry?.revisions.map((revision) => Buffer.from(revision.data).equals(bytes))).toEqual([true, true]);
      expect(entry?.revisions.map(({ author }) => author)).toEqual(['Zoë', undefined]);
      expect(entry?.revisions.map(({ key, appendSize }) => [key, appendSize])).toEqual([
        ['schlüssel', 2],
        [undefined, undefined],
      ]);
    });

    test('[L3] writers that race for one place both get one', async () => {
      const [left, right] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      await left.append(room, one(0));
      await right.append(room, one(1));

      const raced = await Promise.all([left.append(room, one('left')), right.append(room, one('right'))]);

      expect(raced.map(({ rev }) => rev).sort((a, b) => a - b)).toEqual([3, 4]);
      const stored = new Map(valuesOf(await allEntries(left, room)));
      expect(stored.get(raced[0].rev)).toBe('left');
      expect(stored.get(raced[1].rev)).toBe('right');
    });

    test('[L3] writers that race for the first place agree on one epoch', async () => {
      const writers = await Promise.all(Array.from({ length: 4 }, () => harness().open()));
      const room = newRoom();

      const raced = await Promise.all(writers.map((writer, index) => writer.append(room, one(index))));

      expect(new Set(raced.map(({ epoch }) => epoch)).size).toBe(1);
      expect(raced.map(({ rev }) => rev).sort((a, b) => a - b)).toEqual([1, 2, 3, 4]);
    });

    test('[L3] of appends that expect the same head one wins, the others get the head it made', async () => {
      const writers = await Promise.all(Array.from({ length: 4 }, () => harness().open()));
      const room = newRoom();
      await writers[0]?.append(room, many([1, 2]));

      const raced = await Promise.allSettled(
        writers.map((writer, index) => writer.append(room, one(`winner ${index}`, { expectedRev: 2 }))),
      );

      const won = raced.filter((result) => result.status === 'fulfilled');
      const lost = raced.filter((result) => result.status === 'rejected');
      expect(won).toHaveLength(1);
      expect(lost).toHaveLength(3);
      const { epoch, tag } = won.map(({ value }) => value)[0] as Appended;
      for (const { reason } of lost) {
        expect(reason).toMatchObject({ code: 'conflict', retryable: false, details: { head: { epoch, rev: 3, tag } } });
      }
      expect(valuesOf(await allEntries(await harness().open(), room))).toHaveLength(3);
    });

    test('[L3] expecting the empty room holds once, and a head above the real one never', async () => {
      const log = await harness().open();
      const room = newRoom();

      expect(await log.append(room, one('a', { expectedRev: 0 }))).toMatchObject({ rev: 1 });
      expect(await rejection(log.append(room, one('b', { expectedRev: 0 })))).toMatchObject({ code: 'conflict' });
      expect(await rejection(log.append(room, one('c', { expectedRev: 2 })))).toMatchObject({
        code: 'conflict',
        details: { head: { rev: 1 } },
      });
      expect(valuesOf(await allEntries(log, room))).toEqual([[1, 'a']]);
    });

    test('[L3] an expected head that another writer made is known without a conflict', async () => {
      const [log, other] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      await log.append(room, one('a'));
      await other.append(room, one('b'));

      expect(await log.append(room, one('c', { expectedRev: 2 }))).toMatchObject({ rev: 3 });
    });

    test('[L9] a room whose history was removed begins again at 1 under a new epoch, at every writer', async () => {
      const [log, other] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      const before = await log.append(room, many([1, 2, 3]));
      await other.append(room, one(4));

      await harness().removeHistory(room);

      expect(await log.heads([room])).toEqual(new Map([[room, null]]));
      expect(await log.range(room, 1, { limit: 1, maxBytes: 1 })).toEqual({ kind: 'empty' });
      const after = await log.append(room, one('again'));
      expect(after).toMatchObject({ firstRev: 1, rev: 1 });
      expect(after.epoch).not.toBe(before.epoch);
      expect(await other.append(room, one('more'))).toMatchObject({ rev: 2, epoch: after.epoch });
      const fresh = await harness().open();
      expect(await fresh.append(room, one('still more'))).toMatchObject({ rev: 3, epoch: after.epoch });
      expect(valuesOf(await allEntries(fresh, room))).toEqual(numbered(['again', 'more', 'still more']));
    });

    test('[L10] times do not go back with the clock, and each entry carries the time before it', async () => {
      const clock = new ShiftedClock();
      const [log, other] = await Promise.all([harness().open({ clock }), harness().open({ clock })]);
      const room = newRoom();

      await log.append(room, one('now'));
      clock.offsetMs = -HOUR_MS;
      await log.append(room, many(['an hour ago', 'too']));
      await other.append(room, one('at another writer'));
      clock.offsetMs = HOUR_MS;
      await log.append(room, one('in an hour'));

      const entries = await allEntries(log, room);
      const times = entries.flatMap((entry) => entry.revisions.map(({ time }) => time));
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(times[3]).toBe(times[0]);
      expect((times[4] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(HOUR_MS);
      expect(entries.map(({ previousTime }) => previousTime)).toEqual([0, times[0], times[2], times[3]]);
    });

    test('[L16] each entry carries the tag of the revision before it, the first of a numbering none', async () => {
      const [log, other] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      for (const writer of [log, other, other, log]) await writer.append(room, many(['a', 'b']));

      const entries = await allEntries(log, room);
      const [one, two, three] = entries.map(({ tag }) => tag);
      expect(entries.map(({ previousTag }) => previousTag)).toEqual([undefined, one, two, three]);
      const cut = await log.range(room, 4, { limit: 2, maxBytes: 1e6 });
      expect(cut).toMatchObject({
        entries: [
          { firstRev: 4, previousTag: two },
          { firstRev: 5, previousTag: two },
        ],
      });
    });

    test('[L11] appends that arrive together share entries', async () => {
      const log = await harness().open();
      const room = newRoom();

      const appended = await Promise.all(Array.from({ length: 64 }, (_, index) => log.append(room, one(index))));

      expect(appended.map(({ rev }) => rev)).toEqual(Array.from({ length: 64 }, (_, index) => index + 1));
      expect((await allEntries(log, room)).length).toBeLessThanOrEqual(4);
    });
  });
}
