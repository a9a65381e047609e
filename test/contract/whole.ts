/** Following the whole log: rule L15. */
import { describe, expect, test } from 'vitest';
import type { Entry, Log, WholeListener, WholeLog } from '../../services/log/log.js';
import { waitFor } from '../support/wait-for.js';
import { allEntries, newRoom, one, type LogHarness } from './harness.js';

/** Remembers what it is told. */
class Witness implements WholeListener {
  entries: Entry[] = [];
  reached = 0;
  restarts = 0;

  onEntry(entry: Entry): void {
    this.entries.push(entry);
  }

  onReached(seq: number): void {
    this.reached = seq;
  }

  onRestart(): void {
    this.restarts += 1;
    this.entries = [];
    this.reached = 0;
  }

  of(room: string): Entry[] {
    return this.entries.filter((entry) => entry.room === room);
  }

  async catchesUp(log: WholeLog): Promise<void> {
    const { lastSeq } = await log.extent();
    await waitFor(() => this.reached >= lastSeq, { what: `seq ${lastSeq} is reached` });
  }
}

function isAscending(entries: readonly Entry[]): boolean {
  return entries.every(({ seq }, index) => index === 0 || seq > (entries[index - 1]?.seq ?? 0));
}

async function appendTo(log: Log, rooms: readonly string[], count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await Promise.all(rooms.map((room) => log.append(room, one(i))));
}

export function describeWhole(harness: () => LogHarness): void {
  describe('follow the whole log', () => {
    test('[L15] gives the newest entry of each room, then every entry of all rooms once, in seq order', async () => {
      const [log, writer] = await Promise.all([harness().open(), harness().open()]);
      const rooms = [newRoom(), newRoom(), newRoom()];
      await appendTo(log, rooms, 5);
      const witness = new Witness();
      const following = log.followAll(witness);
      await witness.catchesUp(log);
      for (const room of rooms) expect(witness.of(room)).toEqual((await allEntries(log, room)).slice(-1));

      const later = newRoom();
      await Promise.all([appendTo(writer, [...rooms, later], 30), appendTo(log, rooms, 30)]);
      await witness.catchesUp(log);

      expect(isAscending(witness.entries)).toBe(true);
      for (const room of rooms) expect(witness.of(room)).toEqual((await allEntries(log, room)).slice(4));
      expect(witness.of(later)).toEqual(await allEntries(log, later));
      expect(witness.restarts).toBe(0);
      following.stop();
    });

    test('[L15] goes on where it stood after a look at what was given, and begins again when asked to', async () => {
      const log = await harness().open();
      const room = newRoom();
      await appendTo(log, [room], 3);
      const witness = new Witness();
      const following = log.followAll(witness);
      await witness.catchesUp(log);
      following.verify();
      await appendTo(log, [room], 3);
      await waitFor(() => witness.of(room).length === 4, { what: 'the entries behind the look' });
      expect(isAscending(witness.entries)).toBe(true);
      expect(witness.restarts).toBe(0);

      following.restart();
      await witness.catchesUp(log);
      expect(witness.restarts).toBe(1);
      expect(witness.of(room)).toEqual((await allEntries(log, room)).slice(-1));
      following.stop();
      await appendTo(log, [room], 1);
      const probe = new Witness();
      const after = log.followAll(probe);
      await probe.catchesUp(log);
      after.stop();
      expect(witness.of(room)).toHaveLength(1);
    });

    test('[L15] the extent counts the rooms, and a room whose history was removed no more', async () => {
      const log = await harness().open();
      const room = newRoom();
      const before = await log.extent();
      const { seq } = await log.append(room, one('new'));
      const having = await log.extent();
      await harness().removeHistory(room);
      const without = await log.extent();

      expect(having.rooms).toBe(before.rooms + 1);
      expect(having.lastSeq).toBeGreaterThanOrEqual(seq);
      expect(without).toMatchObject({ lastSeq: having.lastSeq, rooms: before.rooms, removed: having.removed + 1 });
    });

    test('[L15] an entry is kept, or not, as its seq and tag say', async () => {
      const log = await harness().open();
      const room = newRoom();
      const { seq, tag } = await log.append(room, one('kept'));
      expect(await log.keeps({ room, seq, tag })).toBe(true);
      expect(await log.keeps({ room, seq, tag: '00000000' })).toBe(false);
      await harness().removeHistory(room);
      expect(await log.keeps({ room, seq, tag })).toBe(false);
    });

    test('[L15] vouches for what was given while the stream is the one that it is of', async () => {
      const log = await harness().open();
      const room = newRoom();
      await appendTo(log, [room], 3);
      const witness = new Witness();
      const following = log.followAll(witness);
      await witness.catchesUp(log);
      expect(following.vouchesFor(await log.extent())).toBe(true);
      following.restart();
      await witness.catchesUp(log);
      expect(following.vouchesFor(await log.extent())).toBe(true);
      following.stop();
    });

    test('[L15] who begins to follow while others append is told what is reached only when all heads are there', async () => {
      const log = await harness().open();
      const rooms = Array.from({ length: 40 }, () => newRoom());
      await appendTo(log, rooms, 2);
      const appending = appendTo(log, rooms, 30);
      for (let turn = 0; turn < 10; turn += 1) {
        const witness = new Witness();
        const following = log.followAll(witness);
        await waitFor(() => witness.reached > 0, { what: 'something is reached' });
        const given = new Set(witness.entries.map(({ room }) => room));
        expect(rooms.filter((room) => !given.has(room))).toEqual([]);
        following.stop();
      }
      await appending;
    });
  });
}
