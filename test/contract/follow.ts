/** Following: rules L5 and L6. */
import { describe, expect, test } from 'vitest';
import { lastRev, type Entry } from '../../services/log/log.js';
import { waitFor } from '../support/wait-for.js';
import { allEntries, newRoom, one, rawEntry, valuesOf, type LogHarness } from './harness.js';

export function describeFollow(harness: () => LogHarness): void {
  describe('follow', () => {
    test('[L6] delivers every entry of the rooms in the order of rev, from when it is ready until it is stopped', async () => {
      const [log, first, second] = await Promise.all([harness().open(), harness().open(), harness().open()]);
      const [room, other, foreign] = [newRoom(), newRoom(), newRoom()];
      const before = await first.append(room, one('before'));
      const seen: Entry[] = [];
      // What was committed before may come, what is committed after it is ready must.
      const following = log.follow([room, other], (entry) => entry.seq > before.seq && seen.push(entry));
      await following.ready;

      const append = async (writer: typeof log): Promise<void> => {
        for (let i = 0; i < 40; i += 1) {
          await Promise.all([room, other, foreign].map((name) => writer.append(name, one(i))));
        }
      };
      await Promise.all([append(first), append(second)]);
      const heads = await log.heads([room, other]);
      for (const name of [room, other]) {
        const rev = heads.get(name)?.rev;
        await waitFor(() => seen.some((entry) => entry.room === name && lastRev(entry) === rev), {
          what: 'the head was delivered',
        });
      }

      const stored = [...(await allEntries(log, room)).slice(1), ...(await allEntries(log, other))];
      expect(seen.filter((entry) => entry.room === room)).toEqual(stored.filter((entry) => entry.room === room));
      expect(seen.filter((entry) => entry.room === other)).toEqual(stored.filter((entry) => entry.room === other));
      expect(seen.filter((entry) => entry.room === foreign)).toEqual([]);

      following.stop();
      following.stop();
      const count = seen.length;
      const again: Entry[] = [];
      const later = log.follow([room], (entry) => again.push(entry));
      await later.ready;
      await first.append(room, one('after'));
      await waitFor(() => again.length === 1, { what: 'the later follower got it' });
      expect(seen).toHaveLength(count);
      later.stop();
    });

    test('[L6] calls from a turn of its own, never from inside append', async () => {
      const log = await harness().open();
      const room = newRoom();
      let insideAppend = false;
      const calls: boolean[] = [];
      const following = log.follow([room], () => calls.push(insideAppend));
      await following.ready;

      for (let i = 0; i < 5; i += 1) {
        insideAppend = true;
        const appending = log.append(room, one(i));
        insideAppend = false;
        await appending;
      }

      await waitFor(() => calls.length === 5, { what: 'all entries were delivered' });
      expect(calls).toEqual([false, false, false, false, false]);
      following.stop();
    });

    test('[L5] a follower never sees what the log rejected', async () => {
      const [log, writer] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      const seen: Entry[] = [];
      const following = log.follow([room], (entry) => seen.push(entry));
      await following.ready;

      for (let i = 0; i < 10; i += 1) {
        await harness().publishRejected(rawEntry(room, { firstRev: i + 1 }), 1_000_000 + i);
        await writer.append(room, one(i));
      }

      await waitFor(() => seen.length === 10, { what: 'the committed entries were delivered' });
      const committed = await allEntries(log, room);
      expect(seen).toEqual(committed);
      expect(valuesOf(committed).map(([, value]) => value)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      following.stop();
    });

    test('[L6] two followers of one room both get everything, and one may stop', async () => {
      const log = await harness().open();
      const room = newRoom();
      const [left, right]: [Entry[], Entry[]] = [[], []];
      const leaving = log.follow([room], (entry) => {
        left.push(entry);
        leaving.stop();
      });
      const staying = log.follow([room], (entry) => right.push(entry));
      await Promise.all([leaving.ready, staying.ready]);

      for (let i = 0; i < 3; i += 1) await log.append(room, one(i));

      await waitFor(() => right.length === 3, { what: 'the staying follower got all' });
      expect(left).toHaveLength(1);
      staying.stop();
    });
  });
}
