import { describe, expect, it } from 'vitest';
import type { Appended, Entry, Range } from '../../services/log/log.js';
import type { ClientPosition, RangeQuery } from '../../services/revision/contract.js';
import { RevisionService } from '../../services/revision/service.js';
import { RevcastError } from '../../services/shared/errors.js';
import { Random, testSeed } from '../support/random.js';
import {
  appendEntries,
  appendEntry,
  DisturbedLog,
  hastyClock,
  memoryLog,
  settings,
  told,
} from '../support/revision-parts.js';

const ROOM = 'doc-1';
const seed = testSeed();

/** A service over a memory log whose room has entries of these sizes. */
async function serving(sizes: readonly number[], keep?: number) {
  const { log, store } = memoryLog(keep);
  const appended = await appendEntries(log, ROOM, sizes);
  const source = new DisturbedLog(log);
  const service = new RevisionService({ log: source, clock: hastyClock, settings });
  const range = (after: ClientPosition | null, query: Partial<RangeQuery> = {}) =>
    service.range({ room: ROOM, after, limit: 100, maxBytes: 100_000, ...query });
  return { log, store, source, service, appended, range };
}

function at(entry: Appended | undefined, rev = entry?.rev ?? 0): Required<ClientPosition> {
  if (entry === undefined) throw new Error('there is no such entry');
  return { epoch: entry.epoch, rev, tag: entry.tag };
}

function known(room: string, position: ClientPosition | null) {
  return { room, position };
}

describe('heads', () => {
  it('[R1] answers the rooms whose head differs from what the asker knows, and no others', async () => {
    const { log, service, appended } = await serving([2, 3]);
    const other = await appendEntry(log, 'doc-2', 1, 1);
    const head = at(appended[1]);
    expect(await service.heads([known(ROOM, head), known('doc-2', at(other))])).toEqual([]);
    expect(await service.heads([known(ROOM, { epoch: head.epoch, rev: head.rev })])).toEqual([]);
    for (const differs of [
      { ...head, rev: 4 },
      { ...head, rev: 6 },
      { ...head, epoch: 'other' },
      { ...head, tag: '00000001' },
      { epoch: '', rev: 0 },
      null,
    ]) {
      expect(await service.heads([known('doc-2', at(other)), known(ROOM, differs)])).toEqual([
        { room: ROOM, head: { ...head, seq: appended[1]?.seq, time: appended[1]?.time } },
      ]);
    }
  });

  it('[R1] tells of a room without revisions only who thinks otherwise, or knows nothing', async () => {
    const { service } = await serving([]);
    expect(await service.heads([known(ROOM, { epoch: '', rev: 0 })])).toEqual([]);
    expect(await service.heads([known(ROOM, null)])).toEqual([{ room: ROOM, head: null }]);
    expect(await service.heads([known(ROOM, { epoch: 'e', rev: 3 })])).toEqual([{ room: ROOM, head: null }]);
  });

  it('[R1] a room that cannot be read is left out, and nothing is concluded of it', async () => {
    const { service, source, appended, range } = await serving([1]);
    source.nextHeads(() => Promise.resolve(new Map()));
    expect(await service.heads([known(ROOM, null)])).toEqual([]);
    source.nextHeads(() => Promise.resolve(new Map()));
    await expect(range({ ...at(appended[0]), rev: 5 })).rejects.toMatchObject({ code: 'internal' });
  });

  it('[R1] asks nothing of the log for no rooms, and passes on that the log cannot be reached', async () => {
    const { service, source } = await serving([1]);
    expect(await service.heads([])).toEqual([]);
    expect(source.asked.heads).toBe(0);
    source.nextHeads(unreachable);
    await expect(service.heads([known(ROOM, null)])).rejects.toMatchObject({
      code: 'log_unavailable',
      retryable: true,
    });
  });
});

describe('a range', () => {
  it('[R2] follows the position, within an entry and behind it, and ends empty at the head', async () => {
    const { range, appended } = await serving([2, 3, 1]);
    expect(told(await range(null))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(told(await range({ epoch: '', rev: 0 }))).toEqual([1, 2, 3, 4, 5, 6]);
    expect(told(await range(at(appended[0], 1)))).toEqual([2, 3, 4, 5, 6]);
    expect(told(await range(at(appended[0], 2)))).toEqual([3, 4, 5, 6]);
    expect(told(await range({ epoch: at(appended[0]).epoch, rev: 4 }))).toEqual([5, 6]);
    expect(await range(at(appended[2]))).toMatchObject({ kind: 'entries', entries: [], head: { rev: 6 } });
    expect(await range({ epoch: at(appended[2]).epoch, rev: 6 })).toMatchObject({ entries: [], head: { rev: 6 } });
  });

  it('[R2] keeps tag, seq and the time before a cut entry', async () => {
    const { range, appended } = await serving([3]);
    const answer = await range(at(appended[0], 1));
    expect(answer).toMatchObject({
      entries: [
        {
          firstRev: 2,
          tag: appended[0]?.tag,
          seq: appended[0]?.seq,
          previousTime: appended[0]?.time,
          previousTag: appended[0]?.tag,
        },
      ],
    });
  });

  it('[R2] says epoch_changed for another epoch, another tag, and a position above the head', async () => {
    const { range, appended } = await serving([2, 3]);
    const head = at(appended[1]);
    const wrong: ClientPosition[] = [
      { ...head, epoch: 'other' },
      { epoch: 'other', rev: 0 },
      { epoch: '', rev: 3 },
      { ...head, tag: '00000001' },
      { ...head, rev: 3, tag: at(appended[0]).tag },
      { ...at(appended[0], 1), tag: head.tag },
      { ...head, rev: 6 },
      { epoch: head.epoch, rev: 6 },
      { ...head, rev: Number.MAX_SAFE_INTEGER - 1 },
    ];
    for (const position of wrong) {
      expect({ position, answer: await range(position) }).toMatchObject({
        position,
        answer: { kind: 'epoch_changed', head },
      });
    }
  });

  it('[R2] of a room without revisions is empty, and epoch_changed for who stands in one', async () => {
    const { range } = await serving([]);
    expect(await range(null)).toEqual({ kind: 'entries', entries: [], head: null });
    expect(await range({ epoch: '', rev: 0 })).toEqual({ kind: 'entries', entries: [], head: null });
    expect(await range({ epoch: 'e', rev: 1, tag: '00000001' })).toEqual({ kind: 'epoch_changed', head: null });
    expect(await range({ epoch: 'e', rev: 0 })).toEqual({ kind: 'epoch_changed', head: null });
  });

  it('[R2] is truncated where the next revision is gone; just before the oldest kept what follows tells the tag', async () => {
    const { range, appended, log, source } = await serving(
      Array.from({ length: 20 }, () => 2),
      16,
    );
    const kept = await log.range(ROOM, 'first', { limit: 1, maxBytes: 1 });
    const firstRev = kept.kind === 'entries' ? (kept.entries[0]?.firstRev ?? 0) : 0;
    expect(firstRev).toBeGreaterThan(4);
    const { epoch } = at(appended[0]);

    for (const gone of [{ epoch: '', rev: 0 }, { epoch, rev: 0 }, at(appended[0], 1), { epoch, rev: firstRev - 2 }]) {
      expect(await range(gone)).toMatchObject({ kind: 'truncated', firstRev, head: { epoch, rev: 40 } });
    }
    const wanted = Array.from({ length: 41 - firstRev }, (_, index) => firstRev + index);
    expect(told(await range({ epoch, rev: firstRev - 1, tag: '00000001' }))).toBe('epoch_changed');
    expect(told(await range(at(appended.find(({ rev }) => rev === firstRev - 1))))).toEqual(wanted);
    expect(told(await range({ epoch, rev: firstRev - 1 }))).toEqual(wanted);
    expect(told(await range(null))).toEqual(wanted);
    expect(told(await range({ epoch: 'other', rev: firstRev - 1, tag: '00000001' }))).toBe('epoch_changed');
    expect(told(await range({ epoch: 'other', rev: 1 }))).toBe('epoch_changed');
    // Entries that were stored before they told it: the epoch decides.
    source.range = async (...call) => withoutPreviousTags(await log.range(...call));
    expect(told(await range({ epoch, rev: firstRev - 1, tag: '00000001' }))).toEqual(wanted);
  });

  it('[R2] [L16] just before the oldest kept, in a room that began with a snapshot, the tag is compared too', async () => {
    const { range, log } = await serving([]);
    const base = await log.putSnapshot(ROOM, { rev: 7, data: Buffer.from('{}') });
    await appendEntry(log, ROOM, 8, 2);
    const { epoch, rev, tag } = base;
    expect(told(await range({ epoch, rev, tag }))).toEqual([8, 9]);
    expect(told(await range({ epoch, rev }))).toEqual([8, 9]);
    expect(told(await range({ epoch, rev, tag: '00000001' }))).toBe('epoch_changed');
  });

  it('[R2] keeps to the asked limit and to its own, and has at least one revision', async () => {
    const { range, appended, service } = await serving([2, 3, 4]);
    expect(told(await range(at(appended[0], 1), { limit: 3 }))).toEqual([2, 3, 4]);
    expect(told(await range(at(appended[0]), { limit: 1 }))).toEqual([3]);
    expect(told(await range(at(appended[0]), { maxBytes: 1 }))).toEqual([3, 4, 5]);
    expect(told(await range(at(appended[0]), { limit: 0, maxBytes: 0 }))).toEqual([3]);
    const small = new RevisionService({
      log: (await serving([2, 3, 4])).log,
      clock: hastyClock,
      settings: { ...settings, revisionPageRevisions: 2, revisionPageBytes: 1_024 },
    });
    expect(told(await small.range({ room: ROOM, after: null, limit: 1e9, maxBytes: 1e9 }))).toEqual([1, 2]);
    expect(told(await service.range({ room: ROOM, after: null, limit: 1e9, maxBytes: 1e9 }))).toHaveLength(9);
  });

  it(`[R2] page after page gives each revision once, wherever the pages end (seed ${seed})`, async () => {
    const random = new Random(seed);
    const sizes = Array.from({ length: 40 }, () => random.whole(1, 7));
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const { service } = await serving(sizes);
    for (const withTag of [true, false]) {
      let after: ClientPosition | null = null;
      const seen: number[] = [];
      while (seen.length < total) {
        const answer = await service.range({
          room: ROOM,
          after,
          limit: random.whole(1, 9),
          maxBytes: random.whole(1, 60),
        });
        if (answer.kind !== 'entries') throw new Error(answer.kind);
        const last = answer.entries.at(-1);
        if (last === undefined) throw new Error('an empty page below the head');
        seen.push(...(told(answer) as number[]));
        const rev = last.firstRev + last.revisions.length - 1;
        after = { epoch: last.epoch, rev, ...(withTag ? { tag: last.tag } : {}) };
      }
      expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    }
  });
});

describe('a range while the room changes, or a read is stale', () => {
  it('[R2] a read that lags behind the confirmed head is done again', async () => {
    const { source, range, log } = await serving([2, 3]);
    const old = await log.range(ROOM, 6, { limit: 9, maxBytes: 9_999 });
    const position = at(await appendEntry(log, ROOM, 6, 2));
    await appendEntry(log, ROOM, 8, 1);
    // Stale reads that do not know the position yet, or nothing at all; then the log's own.
    source.nextRange(answering(old), answering({ kind: 'empty' }));
    expect(told(await range(position))).toEqual([8]);
    expect(source.asked.range).toBe(3);
    // A stale read that holds the position for the head.
    source.nextRange(answering(old));
    expect(told(await range({ epoch: position.epoch, rev: 5 }))).toEqual([6, 7, 8]);
    source.nextRange(answering({ kind: 'empty' }));
    expect(told(await range(null))).toHaveLength(8);
  });

  it('[R2] reads that lag for ever are log_unavailable, never a claim about the history', async () => {
    const { source, range, appended } = await serving([2, 3]);
    source.range = answering({ kind: 'empty' });
    await expect(range(at(appended[0]))).rejects.toMatchObject({ code: 'log_unavailable', retryable: true });
    await expect(range(null)).rejects.toMatchObject({ code: 'log_unavailable' });
  });

  it('[R2] nothing is concluded while the leader cannot be asked', async () => {
    const { source, range, appended } = await serving([2]);
    source.heads = unreachable;
    await expect(range({ ...at(appended[0]), rev: 3 })).rejects.toMatchObject({ code: 'log_unavailable' });
    await expect(range({ ...at(appended[0]), epoch: 'other' })).rejects.toMatchObject({ code: 'log_unavailable' });
    expect(told(await range(at(appended[0], 1)))).toEqual([2]);
  });

  it('[R2] a head that moves between read and confirmation is read on to', async () => {
    const { source, range, appended, log } = await serving([2]);
    source.nextHeads(async (rooms) => {
      await appendEntry(log, ROOM, 3, 2);
      return log.heads(rooms);
    });
    expect(await range(at(appended[0]))).toMatchObject({ entries: [{ firstRev: 3 }], head: { rev: 4 } });
  });

  it('[R2] a history removed between two reads, and begun anew, is epoch_changed, or the new one for a newcomer', async () => {
    const { source, range, appended, log, store } = await serving([1, 1]);
    const beginAnew = async () => {
      store.removeHistory(ROOM);
      await appendEntry(log, ROOM, 1, 3);
    };
    // The first read shows the position and has room for nothing else.
    source.nextRange(async (...call) => {
      const range = await log.range(...call);
      await beginAnew();
      return range;
    });
    const answer = await range(at(appended[0]), { maxBytes: 1 });
    expect(answer).toMatchObject({ kind: 'epoch_changed', head: { rev: 3 } });

    // A newcomer's read saw nothing, because the history was just gone.
    source.nextRange(answering({ kind: 'empty' }));
    expect(told(await range(null))).toEqual([1, 2, 3]);
  });

  it('[R2] a purge between two reads is truncated, not a hole', async () => {
    const { source, range, appended, log } = await serving([1, 1, 1, 1]);
    const head = { ...at(appended[3]), seq: 4, time: 1 };
    source.nextRange((...call) => log.range(...call), answering({ kind: 'truncated', firstRev: 4, head }));
    expect(await range(at(appended[0]), { maxBytes: 1 })).toMatchObject({ kind: 'truncated', firstRev: 4 });
    // The position itself was the last one purged before the first read, the next one before the second.
    source.nextRange(
      answering({ kind: 'truncated', firstRev: 2, head }),
      answering({ kind: 'truncated', firstRev: 3, head }),
    );
    expect(await range(at(appended[0]))).toMatchObject({ kind: 'truncated', firstRev: 3 });
  });

  it('[R2] entries of a numbering that began while they were read are left to the next answer', async () => {
    const { source, range, appended, log, store } = await serving([1, 1]);
    const before = await log.range(ROOM, 1, { limit: 9, maxBytes: 999 });
    store.removeHistory(ROOM);
    await appendEntry(log, ROOM, 1, 1);
    const after = await log.range(ROOM, 1, { limit: 9, maxBytes: 999 });
    if (before.kind !== 'entries' || after.kind !== 'entries') throw new Error('both have entries');
    // The head was looked up before, the entries were read on both sides.
    source.nextRange(answering({ ...before, entries: [...before.entries, ...after.entries] }));
    expect(told(await range(at(appended[0])))).toEqual([2]);
    expect(told(await range(at(appended[1])))).toBe('epoch_changed');
  });

  it('[R2] a log that breaks its own rule is a fault, never an answer', async () => {
    const { source, range, log, appended } = await serving([1, 1, 1]);
    const third = await log.range(ROOM, 3, { limit: 9, maxBytes: 999 });
    source.nextRange(answering(third), answering(third));
    await expect(range({ epoch: at(appended[0]).epoch, rev: 1 })).rejects.toThrow('invariant broken');
    await expect(range(at(appended[0]))).rejects.toThrow('invariant broken');
  });
});

function withoutPreviousTags(range: Range): Range {
  if (range.kind !== 'entries') return range;
  const entries = range.entries.map((entry) => {
    const older: { -readonly [Field in keyof Entry]: Entry[Field] } = { ...entry };
    delete older.previousTag;
    return older;
  });
  return { ...range, entries };
}

function answering(range: Range) {
  return () => Promise.resolve(range);
}

function unreachable(): Promise<never> {
  return Promise.reject(new RevcastError('log_unavailable', 'nobody there'));
}
