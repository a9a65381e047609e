/** The revision service on rooms that begin with a snapshot, and its answers about snapshots. */
import { describe, expect, it } from 'vitest';
import type { Log, Snapshot } from '../../services/log/log.js';
import type { MemoryLog } from '../../services/log/memory-log.js';
import type { ClientPosition, SnapshotAnswer } from '../../services/revision/contract.js';
import { createRevisionHttp } from '../../services/revision/http.js';
import { RevisionClient } from '../../services/revision/rpc-client.js';
import { RevisionRpcServer } from '../../services/revision/rpc-server.js';
import { RevisionService } from '../../services/revision/service.js';
import { silentLogger } from '../../services/shared/logger.js';
import { LoopedLink } from '../support/looped-link.js';
import { ManualClock } from '../support/manual-clock.js';
import {
  appendEntries,
  appendEntry,
  clientSettings,
  hastyClock,
  memoryLog,
  settings,
  told,
} from '../support/revision-parts.js';

const ROOM = 'doc-1';
const PATH = `/v1/rooms/${ROOM}/snapshot`;
const START: ClientPosition = { epoch: '', rev: 0 };

function put(log: Pick<Log, 'putSnapshot'>, rev: number, text: string): Promise<Snapshot> {
  return log.putSnapshot(ROOM, { rev, data: Buffer.from(text) });
}

/** A service over a room that begins with a snapshot at `rev`, and has `count` revisions behind it. */
async function begunAt(rev: number, count = 0) {
  const { log, store } = memoryLog();
  const begun = await put(log, rev, '"document"');
  for (let i = 1; i <= count; i += 1) await appendEntry(log, ROOM, rev + i, 1);
  const service = new RevisionService({ log, clock: hastyClock, settings });
  const range = (after: ClientPosition | null) => service.range({ room: ROOM, after, limit: 100, maxBytes: 100_000 });
  const { epoch, tag } = begun;
  return { log, store, service, range, begun, base: { epoch, rev, tag } };
}

/** The answer with its data as text, and of the head only where it stands. */
function inShort(answer: SnapshotAnswer): object {
  const head = answer.head === null ? null : answer.head.rev;
  if (answer.kind !== 'snapshot') return { ...answer, head };
  const { rev, data } = answer.snapshot;
  return { kind: 'snapshot', rev, data: Buffer.from(data).toString(), head };
}

/** JSON text of about so many bytes. */
function textOf(bytes: number): Buffer {
  return Buffer.from(JSON.stringify('x'.repeat(bytes)));
}

const ready = () => ({ ok: true, detail: '' });

/** The log, counting how often a snapshot is read. */
function countingReads(log: MemoryLog, onRead: () => void) {
  return {
    range: log.range.bind(log),
    heads: log.heads.bind(log),
    snapshot: (room: string) => {
      onRead();
      return log.snapshot(room);
    },
  };
}

/** The service over HTTP. */
function over(service: RevisionService) {
  const { app } = createRevisionHttp({ settings, reader: service, logger: silentLogger, ready });
  return async (url: string) => {
    const { statusCode: status, body, headers } = await app.inject({ method: 'GET', url });
    return { status, body, type: headers['content-type'] };
  };
}

describe('ranges of a room that begins with a snapshot', () => {
  for (const rev of [0, 1, 1_000]) {
    it(`[S7] at ${rev} follow it, and the oldest kept is what follows it`, async () => {
      for (const count of [0, 3]) {
        const { range, base } = await begunAt(rev, count);
        const following = Array.from({ length: count }, (_, index) => rev + index + 1);
        expect(told(await range(base))).toEqual(following);
        expect(told(await range({ epoch: base.epoch, rev }))).toEqual(following);
        expect(told(await range(null))).toEqual(following);
        expect(await range(null)).toMatchObject({ kind: 'entries', head: { epoch: base.epoch, rev: rev + count } });
      }
    });

    it(`[S7] at ${rev} do not follow the start of the room: who has nothing would miss it`, async () => {
      for (const count of [0, 3]) {
        const { range, base } = await begunAt(rev, count);
        expect(await range(START)).toMatchObject({
          kind: 'truncated',
          firstRev: rev + 1,
          head: { epoch: base.epoch, rev: rev + count },
        });
      }
    });

    it(`[S7] at ${rev} of another epoch, or above the head, are another history`, async () => {
      const { range, base } = await begunAt(rev, 2);
      expect(await range({ epoch: 'another', rev })).toMatchObject({ kind: 'epoch_changed' });
      expect(await range({ epoch: base.epoch, rev: rev + 3 })).toMatchObject({ kind: 'epoch_changed' });
    });
  }

  it('[S7] heads tell one at revision 0 from the empty room', async () => {
    const { service, base } = await begunAt(0);
    const known = (position: ClientPosition | null) => service.heads([{ room: ROOM, position }]);
    expect(await known(null)).toMatchObject([{ head: { epoch: base.epoch, rev: 0 } }]);
    expect(await known(START)).toMatchObject([{ head: { epoch: base.epoch, rev: 0 } }]);
    expect(await known(base)).toEqual([]);
    expect(await known({ epoch: 'another', rev: 0 })).toMatchObject([{ head: { epoch: base.epoch } }]);
  });

  it('[D4] [R2] another tag at the base is another history where the base is the head', async () => {
    const { range, base } = await begunAt(150);
    const head = { epoch: base.epoch, rev: 150, tag: base.tag };
    expect(await range(base)).toMatchObject({ kind: 'entries', entries: [], head });
    expect(await range({ ...base, tag: '00000000' })).toMatchObject({ kind: 'epoch_changed', head });
  });
});

describe('a snapshot', () => {
  it('[S7] is answered with the head when what follows it is kept', async () => {
    const { service, log } = await begunAt(1_000, 5);
    expect(inShort(await service.snapshot(ROOM))).toEqual({
      kind: 'snapshot',
      rev: 1_000,
      data: '"document"',
      head: 1_005,
    });
    await put(log, 1_004, '"newer"');
    const fresh = new RevisionService({ log, clock: hastyClock, settings });
    expect(inShort(await fresh.snapshot(ROOM))).toMatchObject({ rev: 1_004, data: '"newer"' });
  });

  it('[S7] that is not there is none where all revisions are kept, and the empty room has none', async () => {
    const { log } = memoryLog();
    const service = new RevisionService({ log, clock: hastyClock, settings });
    expect(await service.snapshot(ROOM)).toEqual({ kind: 'none', head: null });
    await appendEntries(log, ROOM, [1, 2]);
    expect(inShort(await service.snapshot(ROOM))).toEqual({ kind: 'none', head: 3 });
  });

  it('[S7] is truncated where what follows it is no longer kept, and so is none without the beginning', async () => {
    const { log } = memoryLog(20);
    await appendEntries(log, ROOM, [1, 1, 1]);
    await put(log, 2, '"two"');
    await appendEntries(
      log,
      ROOM,
      Array.from({ length: 60 }, () => 1),
    );
    const service = new RevisionService({ log, clock: hastyClock, settings });
    const answer = await service.snapshot(ROOM);
    expect(answer).toMatchObject({ kind: 'truncated', head: { rev: 63 } });
    expect(answer.kind === 'truncated' && answer.firstRev).toBeGreaterThan(30);

    const { log: without } = memoryLog(20);
    await appendEntries(
      without,
      ROOM,
      Array.from({ length: 60 }, () => 1),
    );
    const other = new RevisionService({ log: without, clock: hastyClock, settings });
    expect(await other.snapshot(ROOM)).toMatchObject({ kind: 'truncated' });
  });

  it('[S7] is read once for all who ask together, and for a second after; a stale one is followed all the same', async () => {
    const { log } = memoryLog();
    const clock = new ManualClock();
    await appendEntries(log, ROOM, [1, 1, 1]);
    await put(log, 1, '"one"');
    let reads = 0;
    const counting = countingReads(log, () => (reads += 1));
    const service = new RevisionService({ log: counting, clock, settings });

    const all = await Promise.all(Array.from({ length: 50 }, () => service.snapshot(ROOM)));
    expect(new Set(all.map((answer) => JSON.stringify(inShort(answer)))).size).toBe(1);
    expect(reads).toBe(1);

    await put(log, 2, '"two"');
    expect(inShort(await service.snapshot(ROOM))).toMatchObject({ rev: 1, head: 3 });
    expect(reads).toBe(1);
    await clock.advance(1_000);
    expect(inShort(await service.snapshot(ROOM))).toMatchObject({ rev: 2, head: 3 });
    expect(reads).toBe(2);
  });

  it('[S7] that was kept is not answered when its history has gone', async () => {
    const { log, store } = memoryLog();
    await appendEntries(log, ROOM, [1, 1]);
    await put(log, 2, '"before"');
    const service = new RevisionService({ log, clock: new ManualClock(), settings });
    expect(inShort(await service.snapshot(ROOM))).toMatchObject({ rev: 2 });
    store.removeHistory(ROOM);
    expect(await service.snapshot(ROOM)).toEqual({ kind: 'none', head: null });
    await put(log, 7, '"after"');
    expect(inShort(await service.snapshot(ROOM))).toMatchObject({ rev: 7, data: '"after"' });
  });

  it('[S7] larger than the cache is read each time, and the longest unused go first', async () => {
    const { log } = memoryLog();
    let reads = 0;
    const limits = { ...settings, revisionSnapshotCacheBytes: 4_000 };
    const counting = countingReads(log, () => (reads += 1));
    const service = new RevisionService({ log: counting, clock: new ManualClock(), settings: limits });
    for (const room of ['a', 'b', 'c']) await log.putSnapshot(room, { rev: 1, data: textOf(1_000) });
    await log.putSnapshot('large', { rev: 1, data: textOf(5_000) });

    for (const room of ['large', 'large', 'a', 'b', 'a', 'c']) await service.snapshot(room);
    expect(reads).toBe(5);
    // `b` gave way to `c`.
    for (const room of ['a', 'c', 'b']) await service.snapshot(room);
    expect(reads).toBe(6);
  });
});

describe('a snapshot over NATS', () => {
  it('[S7] is answered as in one process, byte for byte, at its largest too', async () => {
    for (const maxPayload of [65_536, 1_048_576]) {
      const link = new LoopedLink(maxPayload);
      const { log } = memoryLog();
      const service = new RevisionService({ log, clock: hastyClock, settings });
      const server = new RevisionRpcServer({ link, reader: service, settings, logger: silentLogger });
      const client = new RevisionClient({ link, settings: clientSettings, clock: hastyClock });
      const name = 'ö'.repeat(100);
      // As large as JetStream stores with this limit: see the reserves in services/log.
      const largest = Buffer.from(JSON.stringify('x'.repeat(maxPayload - 1_152 - 1_024 - 2)));
      await log.putSnapshot(name, { rev: 12, data: largest });
      await appendEntries(log, ROOM, [3]);

      const [ours, theirs] = [await service.snapshot(name), await client.snapshot(name)];
      expect(inShort(theirs)).toEqual(inShort(ours));
      expect(theirs.head).toEqual(ours.head);
      expect(await client.snapshot(ROOM)).toEqual(await service.snapshot(ROOM));
      expect(await client.snapshot('empty')).toEqual({ kind: 'none', head: null });
      await server.stop();
    }
  });

  it('[S7] of a truncated room says so, and a malformed request is refused', async () => {
    const link = new LoopedLink();
    const { log } = memoryLog(20);
    await appendEntries(
      log,
      ROOM,
      Array.from({ length: 60 }, () => 1),
    );
    const service = new RevisionService({ log, clock: hastyClock, settings });
    const server = new RevisionRpcServer({ link, reader: service, settings, logger: silentLogger });
    const client = new RevisionClient({ link, settings: clientSettings, clock: hastyClock });
    expect(await client.snapshot(ROOM)).toEqual(await service.snapshot(ROOM));
    await expect(client.snapshot('a\u0000b')).rejects.toMatchObject({ code: 'invalid_room' });
    await server.stop();
  });
});

describe('GET /v1/rooms/:room/snapshot', () => {
  it('[S7] is the position, and the data byte for byte', async () => {
    const { log } = memoryLog();
    const text = '{"n":1.50e3,"t":"\\u00e4ä","n":12345678901234567890}';
    const { epoch, tag, time } = await put(log, 41, text);
    const get = over(new RevisionService({ log, clock: hastyClock, settings }));
    expect(await get(PATH)).toEqual({
      status: 200,
      body: `{"room":"${ROOM}","epoch":"${epoch}","rev":41,"tag":"${tag}","time":${time},"data":${text}}`,
      type: 'application/json; charset=utf-8',
    });
  });

  it('[S7] is 404 where there is none, and 410 where it cannot be followed', async () => {
    const { log } = memoryLog(20);
    const get = over(new RevisionService({ log, clock: hastyClock, settings }));
    expect(await get(PATH)).toMatchObject({ status: 404 });
    await appendEntries(log, ROOM, [1]);
    expect(await get(PATH)).toMatchObject({ status: 404, body: expect.stringContaining('no snapshot') as string });
    await appendEntries(
      log,
      ROOM,
      Array.from({ length: 60 }, () => 1),
    );
    const { status, body } = await get(PATH);
    expect([status, JSON.parse(body)]).toMatchObject([
      410,
      { error: { code: 'history_truncated', head: { rev: 61 } } },
    ]);
  });

  it('[R4] a room with nothing but the snapshot it began with tells where it goes on', async () => {
    for (const rev of [0, 1_000]) {
      const { service, log, base } = await begunAt(rev);
      const get = over(service);
      const { status, body } = await get(`/v1/rooms/${ROOM}`);
      expect([status, JSON.parse(body)]).toMatchObject([200, { ...base, firstRev: rev + 1 }]);
      const none = await get(`/v1/rooms/${ROOM}/revisions`);
      expect([none.status, JSON.parse(none.body)]).toMatchObject([200, { revisions: [], next: null, head: { rev } }]);
      await appendEntry(log, ROOM, rev + 1, 2);
      expect(JSON.parse((await get(`/v1/rooms/${ROOM}`)).body)).toMatchObject({ rev: rev + 2, firstRev: rev + 1 });
      const two = JSON.parse((await get(`/v1/rooms/${ROOM}/revisions`)).body) as { revisions: { rev: number }[] };
      expect(two.revisions.map((each) => each.rev)).toEqual([rev + 1, rev + 2]);
    }
  });
});
