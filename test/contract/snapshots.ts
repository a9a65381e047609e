/** Snapshots, and rooms that begin with one: rules S1 to S4. */
import { describe, expect, test } from 'vitest';
import type { Entry, Log, NewSnapshot, Snapshot } from '../../services/log/log.js';
import { Random, testSeed } from '../support/random.js';
import { UnreliableSnapshots, UnreliableStore, type Fate } from '../support/unreliable-stores.js';
import { waitFor } from '../support/wait-for.js';
import { allEntries, data, many, newRoom, one, rejection, valuesOf, type LogHarness } from './harness.js';

const AMPLE = { limit: 1_000, maxBytes: 1e9 };

function at(rev: number, value: unknown, rest: Omit<NewSnapshot, 'rev' | 'data'> = {}): NewSnapshot {
  return { rev, data: data(value), ...rest };
}

/** The value of the room's snapshot, and where it stands. */
async function snapshotOf(log: Log, room: string): Promise<[rev: number, value: unknown] | null> {
  const snapshot = await log.snapshot(room);
  return snapshot === null ? null : [snapshot.rev, JSON.parse(Buffer.from(snapshot.data).toString()) as unknown];
}

/** With the data as text: adapters differ in the class of their bytes. */
function told(snapshot: Snapshot | null): object {
  return { ...snapshot, data: Buffer.from(snapshot?.data ?? []).toString() };
}

export function describeSnapshots(harness: () => LogHarness): void {
  describe('a snapshot', () => {
    test('[S1] is kept with position and time of its revision, in the middle of an entry too', async () => {
      const [log, other] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      const { epoch, tag, time } = await log.append(room, many([1, 2, 3]));
      await log.append(room, one(4));

      const put = await log.putSnapshot(room, at(2, 'sum of two'));

      expect(told(put)).toEqual({ epoch, rev: 2, tag, time, data: '"sum of two"' });
      for (const reader of [log, other]) expect(told(await reader.snapshot(room))).toEqual(told(put));
    });

    test('[S1] is the newest that was put, at the head too, and of its room', async () => {
      const log = await harness().open();
      const [room, other] = [newRoom(), newRoom()];
      await log.append(room, many([1, 2, 3]));
      await log.append(other, one(1));

      expect(await log.snapshot(room)).toBeNull();
      await log.putSnapshot(room, at(1, 'one'));
      await log.putSnapshot(room, at(3, 'three'));

      expect(await snapshotOf(log, room)).toEqual([3, 'three']);
      expect(await log.snapshot(other)).toBeNull();
      expect(await log.snapshot(newRoom())).toBeNull();
    });

    test('[S1] comes back byte for byte', async () => {
      const log = await harness().open();
      const room = newRoom();
      const bytes = Buffer.from('{"text":"ä \\u0000 \u{1F4A5}","n":1.50e3,"a":{},"a":12345678901234567890}');
      await log.append(room, one(1));
      await log.putSnapshot(room, { rev: 1, data: bytes });

      expect(Buffer.from((await log.snapshot(room))?.data ?? []).equals(bytes)).toBe(true);
    });

    test('[S2] above the head is refused with the head', async () => {
      const log = await harness().open();
      const room = newRoom();
      const { epoch, tag, time } = await log.append(room, many([1, 2]));

      expect(await rejection(log.putSnapshot(room, at(3, 'x')))).toMatchObject({
        code: 'snapshot_above_head',
        retryable: false,
        details: { head: { epoch, rev: 2, tag, time } },
      });
      expect(await log.snapshot(room)).toBeNull();
    });

    test('[S2] below the kept one is refused with where that stands, and so is another one there', async () => {
      const log = await harness().open();
      const room = newRoom();
      await log.append(room, many([1, 2, 3]));
      const { epoch, tag, time } = await log.putSnapshot(room, at(2, 'two'));

      for (const refused of [at(1, 'one'), at(2, 'another two')]) {
        expect(await rejection(log.putSnapshot(room, refused))).toMatchObject({
          code: 'snapshot_outdated',
          retryable: false,
          details: { kept: { epoch, rev: 2, tag, time } },
        });
      }
      expect(await snapshotOf(log, room)).toEqual([2, 'two']);
    });

    test('[S2] put again is answered as before', async () => {
      const [log, other] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      await log.append(room, many([1, 2]));
      const first = await log.putSnapshot(room, at(2, 'two'));
      await log.append(room, one(3));

      expect(told(await other.putSnapshot(room, at(2, 'two')))).toEqual(told(first));
      expect(told(await log.putSnapshot(room, at(2, 'two', { epoch: first.epoch })))).toEqual(told(first));
    });

    test('[S2] of another numbering is refused with the head', async () => {
      const log = await harness().open();
      const room = newRoom();
      const { epoch } = await log.append(room, one(1));

      expect(await rejection(log.putSnapshot(room, at(1, 'x', { epoch: 'another' })))).toMatchObject({
        code: 'epoch_changed',
        details: { head: { epoch, rev: 1 } },
      });
      expect(await rejection(log.putSnapshot(newRoom(), at(1, 'x', { epoch })))).toMatchObject({
        code: 'epoch_changed',
        details: { head: null },
      });
    });

    test('[S2] of a revision that is no longer kept is refused with the first that is', async () => {
      const room = newRoom();
      const log = await harness().openTrimmed(room, 60, 20);
      const range = await log.range(room, 1, AMPLE);
      const firstRev = range.kind === 'truncated' ? range.firstRev : 0;
      expect(firstRev).toBeGreaterThan(30);

      expect(await rejection(log.putSnapshot(room, at(firstRev - 1, 'x')))).toMatchObject({
        code: 'history_truncated',
        details: { firstRev, head: { rev: 60 } },
      });
      expect(await log.putSnapshot(room, at(firstRev, 'x'))).toMatchObject({ rev: firstRev });
    });

    test('[S2] too large for the log is refused and the kept one stays, and the empty room stays empty', async () => {
      const log = await harness().open();
      const [room, empty] = [newRoom(), newRoom()];
      await log.append(room, one(1));
      await log.putSnapshot(room, at(1, 'small'));
      const large = 'x'.repeat(9_000_000);

      await log.append(room, one(2));
      expect(await rejection(log.putSnapshot(room, at(2, large)))).toMatchObject({ code: 'too_large' });
      expect(await rejection(log.putSnapshot(empty, at(2, large)))).toMatchObject({ code: 'too_large' });

      expect(await snapshotOf(log, room)).toEqual([1, 'small']);
      expect(await log.heads([empty])).toEqual(new Map([[empty, null]]));
    });

    const seed = testSeed();
    test(`[S2] of producers that race, a lower one never replaces a higher one (seed ${seed})`, async () => {
      const random = new Random(seed);
      const writers = await Promise.all([harness().open(), harness().open(), harness().open()]);
      const room = newRoom();
      const revs = Array.from({ length: 30 }, (_, index) => index + 1);
      await writers[0]?.append(room, many(revs));
      let highest = 0;
      const orders = writers.map(() => revs.filter(() => random.chance(0.5)));

      await Promise.all(
        writers.map(async (writer, index) => {
          for (const rev of orders[index] ?? []) {
            try {
              await writer.putSnapshot(room, at(rev, rev));
            } catch (error) {
              expect(error).toMatchObject({ code: 'snapshot_outdated' });
            }
            const kept = await writer.snapshot(room);
            expect(kept?.rev).toBeGreaterThanOrEqual(rev);
            highest = Math.max(highest, rev);
          }
        }),
      );

      expect(await snapshotOf(await harness().open(), room)).toEqual([highest, highest]);
    });

    test('[S2] that another one overtakes between reading and putting does not replace it', async () => {
      const room = newRoom();
      const other = await harness().open();
      await other.append(room, many([1, 2, 3]));
      let store: UnreliableSnapshots | undefined;
      const log = await harness().open({
        wrapSnapshots: (inner) => (store = new UnreliableSnapshots(inner, () => 'arrives')),
      });
      if (store !== undefined) {
        store.beforePut = async () => {
          await other.putSnapshot(room, at(3, 'three'));
        };
      }

      expect(await rejection(log.putSnapshot(room, at(2, 'two')))).toMatchObject({ code: 'snapshot_outdated' });
      expect(await snapshotOf(log, room)).toEqual([3, 'three']);
    });

    test('[S3] of a history that was removed is as if there were none', async () => {
      const log = await harness().open();
      const room = newRoom();
      await log.append(room, many([1, 2, 3]));
      await log.putSnapshot(room, at(3, 'before'));

      await harness().removeHistory(room);
      expect(await log.snapshot(room)).toBeNull();
      await log.append(room, many([1, 2]));
      expect(await log.snapshot(room)).toBeNull();

      await log.putSnapshot(room, at(1, 'after'));
      expect(await snapshotOf(log, room)).toEqual([1, 'after']);
    });
  });

  describe('a put whose answer is lost', () => {
    for (const fate of ['answer_lost', 'request_lost', 'arrives_late'] as const) {
      test(`[S4] is resolved by reading (${fate})`, async () => {
        const { log, store } = await openUnreliable(harness(), (put) => (put === 1 ? fate : 'arrives'));
        const room = newRoom();
        await log.append(room, many([1, 2]));

        expect(await log.putSnapshot(room, at(1, 'one'))).toMatchObject({ rev: 1 });
        expect(await log.putSnapshot(room, at(2, 'two'))).toMatchObject({ rev: 2 });
        await store().settled();

        expect(await snapshotOf(log, room)).toEqual([2, 'two']);
      });

      test(`[S4] which began the room, likewise (${fate})`, async () => {
        const log = await harness().open({
          wrapStore: (inner) => new UnreliableStore(inner, (put) => (put === 1 ? fate : 'arrives')),
        });
        const room = newRoom();

        expect(await log.putSnapshot(room, at(1_000, 'base'))).toMatchObject({ rev: 1_000 });
        expect(await log.append(room, one('next'))).toMatchObject({ rev: 1_001 });
        expect(valuesOf(await allEntries(log, room))).toEqual([[1_001, 'next']]);
      });
    }

    test('[S4] is outcome_unknown at the deadline, and log_unavailable when it certainly was not sent', async () => {
      const lost = await openUnreliable(harness(), () => 'request_lost', 300);
      const refused = await openUnreliable(harness(), () => 'refused', 300);
      const room = newRoom();
      await lost.log.append(room, one(1));

      expect(await rejection(lost.log.putSnapshot(room, at(1, 'x')))).toMatchObject({ code: 'outcome_unknown' });
      expect(await rejection(refused.log.putSnapshot(room, at(1, 'x')))).toMatchObject({ code: 'log_unavailable' });
      refused.store().unreadable = true;
      expect(await rejection(refused.log.putSnapshot(room, at(1, 'x')))).toMatchObject({ code: 'log_unavailable' });
    });
  });

  describeBeginnings(harness);
}

async function openUnreliable(
  harness: LogHarness,
  fate: (put: number) => Fate,
  appendDeadlineMs = 10_000,
): Promise<{ log: Log; store: () => UnreliableSnapshots }> {
  let store: UnreliableSnapshots | undefined;
  const log = await harness.open({
    appendDeadlineMs,
    wrapSnapshots: (inner) => (store = new UnreliableSnapshots(inner, fate)),
  });
  return {
    log,
    store: () => {
      if (store === undefined) throw new Error('the log has not wrapped its store');
      return store;
    },
  };
}

function describeBeginnings(harness: () => LogHarness): void {
  describe('a room that begins with a snapshot', () => {
    for (const rev of [0, 1, 1_000] as const) {
      test(`[S5] at revision ${rev} has it as its head, and is numbered on from there`, async () => {
        const [log, other] = await Promise.all([harness().open(), harness().open()]);
        const room = newRoom();

        const begun = await log.putSnapshot(room, at(rev, 'document'));

        expect(told(begun)).toMatchObject({ rev, data: '"document"' });
        expect([begun.epoch, begun.tag]).toEqual([
          expect.stringMatching(/./u),
          expect.stringMatching(/^[0-9a-f]{8}$/u),
        ]);
        expect((await other.heads([room])).get(room)).toMatchObject(positionOf(begun));
        expect(await snapshotOf(other, room)).toEqual([rev, 'document']);
        const next = await other.append(room, many(['a', 'b'], { expectedRev: rev }));
        expect(next).toMatchObject({ epoch: begun.epoch, firstRev: rev + 1, rev: rev + 2 });
        expect(await log.append(room, one('c'))).toMatchObject({ epoch: begun.epoch, rev: rev + 3 });
        expect(valuesOf(await allEntries(log, room))).toEqual([
          [rev + 1, 'a'],
          [rev + 2, 'b'],
          [rev + 3, 'c'],
        ]);
        expect(await snapshotOf(log, room)).toEqual([rev, 'document']);
      });
    }

    test('[S5] gives no revision for it: ranges begin behind it, above it they are empty', async () => {
      const log = await harness().open();
      const room = newRoom();
      await log.putSnapshot(room, at(1_000, 'document'));
      const head = (await log.heads([room])).get(room);

      expect(await log.range(room, 'first', AMPLE)).toEqual({ kind: 'entries', entries: [], head });
      expect(await log.range(room, 1_001, AMPLE)).toEqual({ kind: 'entries', entries: [], head });
      for (const from of [1, 999, 1_000]) {
        expect(await log.range(room, from, AMPLE)).toEqual({ kind: 'truncated', firstRev: 1_001, head });
      }
      for (let i = 1; i <= 40; i += 1) await log.append(room, one(i));
      for (const from of ['first', 1_001, 1_017] as const) {
        const range = await log.range(room, from, AMPLE);
        const begin = from === 'first' ? 1_001 : from;
        expect(range.kind === 'entries' && valuesOf(range.entries)).toEqual(
          Array.from({ length: 1_041 - begin }, (_, index) => [begin + index, begin + index - 1_000]),
        );
        expect(range.kind === 'entries' && range.entries.every(({ revisions }) => revisions.length > 0)).toBe(true);
      }
      expect(await log.range(room, 1_000, AMPLE)).toMatchObject({ kind: 'truncated', firstRev: 1_001 });
    });

    test('[S5] is told to followers as an entry without revisions', async () => {
      const [log, writer] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      const seen: Entry[] = [];
      const following = log.follow([room], (entry) => seen.push(entry));
      await following.ready;

      const begun = await writer.putSnapshot(room, at(7, 'document'));
      await writer.append(room, one('a'));

      await waitFor(() => seen.length === 2, { what: 'both entries were delivered' });
      const [base, next] = seen;
      expect(base).toMatchObject({ epoch: begun.epoch, tag: begun.tag, firstRev: 8, revisions: [] });
      const { epoch, time: previousTime, tag: previousTag } = begun;
      expect(next).toMatchObject({ epoch, firstRev: 8, previousTime, previousTag, previousSeq: base?.seq });
      following.stop();
    });

    test('[S5] of producers that race one begins it, the others are told, and its snapshot is the winner’s', async () => {
      const writers = await Promise.all(Array.from({ length: 4 }, () => harness().open()));
      const room = newRoom();

      const raced = await Promise.allSettled(
        writers.map((writer, index) => writer.putSnapshot(room, at(100 + index, `by ${index}`))),
      );

      // A lower one that comes second is outdated, a higher one is above the head that the winner made.
      const won = raced.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(won).toHaveLength(1);
      for (const result of raced) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: /^snapshot_/u });
      }
      const [winner] = won;
      expect(await snapshotOf(await harness().open(), room)).toEqual([winner?.rev, `by ${(winner?.rev ?? 0) - 100}`]);
      expect((await writers[0]?.heads([room]))?.get(room)).toMatchObject(positionOf(winner));
    });

    test('[S5] races with appends: either the room begins with the snapshot, or that is refused', async () => {
      for (let round = 0; round < 10; round += 1) {
        const [left, right] = await Promise.all([harness().open(), harness().open()]);
        const room = newRoom();
        const [put, appended] = await Promise.allSettled([
          left.putSnapshot(room, at(50, 'document')),
          right.append(room, one('a')),
        ]);

        expect(appended.status).toBe('fulfilled');
        const values = valuesOf(await allEntries(left, room));
        if (put.status === 'fulfilled') expect(values).toEqual([[51, 'a']]);
        else {
          expect(put.reason).toMatchObject({ code: 'snapshot_above_head' });
          expect(values).toEqual([[1, 'a']]);
        }
      }
    });

    test('[S5] is one history with what the same producer appends at once, before it or behind it', async () => {
      const log = await harness().open();
      const room = newRoom();
      const appends = Array.from({ length: 20 }, (_, index) => index);

      const putting = log.putSnapshot(room, at(1_000, 'document')).catch((error: unknown) => error);
      const appended = await Promise.all(appends.map((index) => log.append(room, one(index, { key: `k${index}` }))));

      const put = await putting;
      if (put instanceof Error) expect(put).toMatchObject({ code: 'snapshot_above_head' });
      const before = put instanceof Error ? 0 : 1_000;
      const revs = appended.map(({ rev }) => rev).sort((a, b) => a - b);
      expect(revs).toEqual(appends.map((index) => before + index + 1));
    });

    test('[S5] put again is answered as before, by other producers and after appends', async () => {
      const [log, other] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      const begun = await log.putSnapshot(room, at(5, 'document'));
      await log.append(room, one('a'));

      expect(told(await other.putSnapshot(room, at(5, 'document')))).toEqual(told(begun));
      expect(await rejection(other.putSnapshot(room, at(5, 'another')))).toMatchObject({ code: 'snapshot_outdated' });
      expect(await rejection(other.putSnapshot(room, at(4, 'document')))).toMatchObject({ code: 'snapshot_outdated' });
      expect(await log.putSnapshot(room, at(6, 'newer'))).toMatchObject({ rev: 6, epoch: begun.epoch });
      expect(await snapshotOf(other, room)).toEqual([6, 'newer']);
    });

    test('[S5] has it even if the copy beside the entries was never made', async () => {
      const { log } = await openUnreliable(harness(), () => 'refused', 300);
      const other = await harness().open();
      const room = newRoom();

      expect(await rejection(log.putSnapshot(room, at(5, 'document')))).toMatchObject({ code: 'log_unavailable' });

      expect(await snapshotOf(other, room)).toEqual([5, 'document']);
      await other.append(room, many(['a', 'b']));
      await other.append(room, one('c'));
      expect(await snapshotOf(other, room)).toEqual([5, 'document']);
      // The producer's retry finds it, and makes the copy.
      expect(await other.putSnapshot(room, at(5, 'document'))).toMatchObject({ rev: 5 });
      expect(await snapshotOf(log, room)).toEqual([5, 'document']);
    });

    test('[S5] goes with its history, and the room may begin anew', async () => {
      const log = await harness().open();
      const room = newRoom();
      const before = await log.putSnapshot(room, at(1_000, 'before'));
      await harness().removeHistory(room);

      expect(await log.snapshot(room)).toBeNull();
      expect(await log.heads([room])).toEqual(new Map([[room, null]]));
      const after = await log.putSnapshot(room, at(3, 'after'));

      expect(after.epoch).not.toBe(before.epoch);
      expect(await snapshotOf(log, room)).toEqual([3, 'after']);
      expect(await log.append(room, one('a'))).toMatchObject({ rev: 4, epoch: after.epoch });
    });

    test('[S5] remembers keys, times that do not go back, and expectations from there on', async () => {
      const log = await harness().open();
      const room = newRoom();
      const begun = await log.putSnapshot(room, at(20, 'document'));
      const first = await log.append(room, one('a', { key: 'k' }));

      expect(await (await harness().open()).append(room, one('a', { key: 'k' }))).toEqual({
        ...first,
        duplicate: true,
      });
      expect(first.time).toBeGreaterThanOrEqual(begun.time);
      expect(await rejection(log.append(room, one('b', { expectedRev: 20 })))).toMatchObject({
        code: 'conflict',
        details: { head: { rev: 21 } },
      });
    });

    test('[S6] a new numbering takes the place of one that it names, at any revision, once', async () => {
      const [log, other] = await Promise.all([harness().open(), harness().open()]);
      const room = newRoom();
      const { epoch } = await log.append(room, many([1, 2, 3]));
      await log.putSnapshot(room, at(3, 'old'));

      const begun = await other.putSnapshot(room, at(2, 'new', { replaces: epoch }));

      expect(begun.rev).toBe(2);
      expect(begun.epoch).not.toBe(epoch);
      expect(told(await other.putSnapshot(room, at(2, 'new', { replaces: epoch })))).toEqual(told(begun));
      expect(await snapshotOf(log, room)).toEqual([2, 'new']);
      expect(await log.append(room, one('a'))).toMatchObject({ epoch: begun.epoch, rev: 3 });
      expect(valuesOf(await allEntries(log, room))).toEqual([[3, 'a']]);
      expect(await rejection(log.putSnapshot(room, at(9, 'x', { replaces: epoch })))).toMatchObject({
        code: 'epoch_changed',
        details: { head: { epoch: begun.epoch, rev: 3 } },
      });
    });
  });
}

function positionOf(snapshot: Snapshot | undefined): object {
  const { epoch, rev, tag, time } = snapshot ?? {};
  return { epoch, rev, tag, time };
}
