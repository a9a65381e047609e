/** Idempotency keys: rule L12. */
import { describe, expect, test } from 'vitest';
import { ShiftedClock } from '../support/shifted-clock.js';
import { allEntries, many, newRoom, numbered, one, valuesOf, type LogHarness } from './harness.js';

const MINUTE_MS = 60_000;

export function describeKeys(harness: () => LogHarness): void {
  describe('a repeated key', () => {
    test('[L12] answers the place of the first append, at the same writer, another one, and one opened later', async () => {
      const [log, other] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      await log.append(room, one('before'));
      const first = await log.append(room, many(['a', 'b', 'c'], { key: 'k' }));
      await other.append(room, one('after'));

      const again = [
        await log.append(room, many(['a', 'b', 'c'], { key: 'k' })),
        await other.append(room, many(['a', 'b', 'c'], { key: 'k' })),
        await (await harness().open()).append(room, many(['a', 'b', 'c'], { key: 'k' })),
      ];

      expect(first).toMatchObject({ firstRev: 2, rev: 4, duplicate: false });
      for (const answer of again) expect(answer).toEqual({ ...first, duplicate: true });
      expect(valuesOf(await allEntries(log, room))).toEqual(numbered(['before', 'a', 'b', 'c', 'after']));
    });

    test('[L12] is stored once when writers publish it at the same time', async () => {
      const writers = await Promise.all([harness().open(), harness().open(), harness().open()]);
      const room = newRoom();

      const answers = await Promise.all(
        writers.flatMap((writer) => [
          writer.append(room, one('x', { key: 'k' })),
          writer.append(room, one('x', { key: 'k' })),
          writer.append(room, one('y')),
        ]),
      );

      const keyed = answers.filter((_, index) => index % 3 !== 2);
      expect(new Set(keyed.map(({ rev }) => rev)).size).toBe(1);
      expect(keyed.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
      const values = valuesOf(await allEntries(await harness().open(), room)).map(([, value]) => value);
      expect(values.filter((value) => value === 'x')).toHaveLength(1);
      expect(values).toHaveLength(4);
    });

    test('[L12] is found where it stands in the middle of a shared entry', async () => {
      const log = await harness().open();
      const room = newRoom();
      const appended = await Promise.all(
        Array.from({ length: 20 }, (_, index) => log.append(room, many([index, index], { key: `k${index}` }))),
      );

      const other = await harness().open();

      for (const [index, first] of appended.entries()) {
        const again = await other.append(room, many([index, index], { key: `k${index}` }));
        expect(again).toEqual({ ...first, duplicate: true });
      }
    });

    test('[L12] is of its room: another room does not know it', async () => {
      const log = await harness().open();

      const first = await log.append(newRoom(), one('a', { key: 'k' }));
      const elsewhere = await log.append(newRoom(), one('a', { key: 'k' }));

      expect([first.duplicate, elsewhere.duplicate]).toEqual([false, false]);
    });

    test('[L12] wins over an expectation that no longer holds', async () => {
      const log = await harness().open();
      const room = newRoom();
      await log.append(room, one('a', { key: 'k', expectedRev: 0 }));

      expect(await log.append(room, one('a', { key: 'k', expectedRev: 0 }))).toMatchObject({ rev: 1, duplicate: true });
    });

    test('[L12] is remembered by revisions and by age, whichever reaches further', async () => {
      const clock = new ShiftedClock();
      const window = { clock, keyWindowRevisions: 3, keyWindowMinutes: 10 };
      const log = await harness().open(window);
      const room = newRoom();
      await log.append(room, one('a', { key: 'k' }));
      for (let i = 0; i < 5; i += 1) await log.append(room, one(i));

      // Outside the revisions, inside the age: at a writer that reads the room anew, too.
      expect(await log.append(room, one('a', { key: 'k' }))).toMatchObject({ rev: 1, duplicate: true });
      expect(await (await harness().open(window)).append(room, one('a', { key: 'k' }))).toMatchObject({ rev: 1 });

      // Inside the revisions, outside the age.
      await log.append(room, one('b', { key: 'young' }));
      clock.offsetMs = 11 * MINUTE_MS;
      expect(await log.append(room, one('b', { key: 'young' }))).toMatchObject({ rev: 7, duplicate: true });
      expect(await (await harness().open(window)).append(room, one('b', { key: 'young' }))).toMatchObject({ rev: 7 });
    });

    test('[L12] reads a long window of a room that is written together with others', async () => {
      const log = await harness().open();
      const [room, noise] = [newRoom(), newRoom()];
      for (let i = 0; i < 60; i += 1) {
        await log.append(room, one(i, { key: `k${i}` }));
        if (i % 3 === 0) await log.append(noise, one(i));
      }

      const other = await harness().open({ keyWindowRevisions: 40, keyWindowMinutes: 0 });

      expect(await other.append(room, one(59, { key: 'k59' }))).toMatchObject({ rev: 60, duplicate: true });
      expect(await other.append(room, one(20, { key: 'k20' }))).toMatchObject({ rev: 21, duplicate: true });
    });
  });
}
