/** Snapshots over the producer's HTTP side; every answer is held against the OpenAPI document. */
import { describe, expect, it } from 'vitest';
import type { Log } from '../../services/log/log.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { Appender } from '../../services/producer/appender.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError, type ErrorCode } from '../../services/shared/errors.js';
import { silentLogger } from '../../services/shared/logger.js';
import { producerApi, SMALL_LIMITS } from '../support/producer-api.js';

const ROOM = 'doc-1';

function api(options: { keep?: number; limits?: Partial<typeof SMALL_LIMITS> } = {}) {
  const log = new MemoryLog({ clock: systemClock, store: new MemoryStore(options.keep) });
  return producerApi({ log, ...(options.limits === undefined ? {} : { limits: options.limits }) }).then((made) => ({
    ...made,
    log,
  }));
}

async function append(log: Pick<Log, 'append'>, count: number) {
  let last = await log.append(ROOM, { revisions: [{ data: Buffer.from('1') }] });
  for (let i = 1; i < count; i += 1) last = await log.append(ROOM, { revisions: [{ data: Buffer.from('1') }] });
  return last;
}

async function textOf(log: Pick<Log, 'snapshot'>): Promise<string | undefined> {
  const snapshot = await log.snapshot(ROOM);
  return snapshot === null ? undefined : Buffer.from(snapshot.data).toString();
}

describe('PUT /v1/rooms/:room/snapshot', () => {
  it('[S11] keeps it and answers its position, as often as it is sent', async () => {
    const { putSnapshot, log } = await api();
    const { epoch, tag, time } = await append(log, 3);
    const raw = '{ "data" : {"n": 1.50e3, "t":"\\u00e4", "n":[ ] } , "rev" : 3 }';
    for (let i = 0; i < 2; i += 1) {
      expect(await putSnapshot({ raw })).toMatchObject({ status: 200, json: { room: ROOM, epoch, rev: 3, tag, time } });
    }
    expect(await textOf(log)).toBe('{"n":1.50e3,"t":"\\u00e4","n":[]}');
  });

  it('[S11] begins an empty room, at 0 too', async () => {
    for (const rev of [0, 41]) {
      const { putSnapshot, publish } = await api();
      const { status, json } = await putSnapshot({ room: 'räume/три', body: { rev, data: 'document' } });
      expect([status, json['rev']]).toEqual([200, rev]);
      const next = await publish({ room: 'räume/три', body: { data: 1, expectedRev: rev } });
      expect(next.json).toMatchObject({ rev: rev + 1, epoch: json['epoch'] });
    }
  });

  it('[S11] is refused with 409 above the head, and below the kept one, with where those stand', async () => {
    const { putSnapshot, log } = await api();
    const { epoch, tag, time } = await append(log, 3);
    expect(await putSnapshot({ body: { rev: 4, data: 1 } })).toMatchObject({
      status: 409,
      error: { code: 'snapshot_above_head', head: { epoch, rev: 3, tag, time } },
    });
    await putSnapshot({ body: { rev: 3, data: 3 } });
    for (const body of [
      { rev: 2, data: 2 },
      { rev: 3, data: 'another' },
    ]) {
      expect(await putSnapshot({ body })).toMatchObject({
        status: 409,
        error: { code: 'snapshot_outdated', kept: { epoch, rev: 3, tag, time } },
      });
    }
  });

  it('[S11] is refused with 410 of another epoch, and of a revision that is no longer kept', async () => {
    const { putSnapshot, log } = await api({ keep: 20 });
    expect(await putSnapshot({ body: { rev: 1, data: 1, epoch: 'e' } })).toMatchObject({
      status: 410,
      error: { code: 'epoch_changed', head: null },
    });
    const { epoch } = await append(log, 60);
    expect(await putSnapshot({ body: { rev: 60, data: 1, epoch: 'another' } })).toMatchObject({
      status: 410,
      error: { code: 'epoch_changed', head: { epoch, rev: 60 } },
    });
    expect(await putSnapshot({ body: { rev: 1, data: 1, epoch } })).toMatchObject({
      status: 410,
      error: { code: 'history_truncated', head: { epoch, rev: 60 } },
    });
  });

  it('[S11] begins a new epoch in place of the one that it replaces', async () => {
    const { putSnapshot, log } = await api();
    const { epoch } = await append(log, 3);
    const { status, json } = await putSnapshot({ body: { rev: 9, data: 'anew', replaces: epoch } });
    expect([status, json['rev']]).toEqual([200, 9]);
    expect(json['epoch']).not.toBe(epoch);
  });

  it.each([
    [{ data: 1 }, 'rev'],
    [{ rev: 1 }, 'data'],
    [{ rev: -1, data: 1 }, 'rev'],
    [{ rev: 1.5, data: 1 }, 'rev'],
    [{ rev: '1', data: 1 }, 'rev'],
    [{ rev: 2 ** 60, data: 1 }, 'rev'],
    [{ rev: Number.MAX_SAFE_INTEGER, data: 1 }, 'rev'],
    [{ rev: 1, data: 1, epoch: '' }, 'epoch'],
    [{ rev: 1, data: 1, epoch: 5 }, 'epoch'],
    [{ rev: 1, data: 1, replaces: null }, 'replaces'],
    [{ rev: 1, data: 1, epoch: 'a', replaces: 'a' }, 'replaces'],
    [{ rev: 1, data: 1, author: 'a' }, 'author'],
    [[1], 'body'],
  ])('[S11] %j is refused with where it is wrong', async (body, where) => {
    const { putSnapshot, log } = await api();
    expect(await putSnapshot({ body })).toMatchObject({ status: 400, error: { code: 'invalid_request', where } });
    expect(await log.heads([ROOM])).toEqual(new Map([[ROOM, null]]));
  });

  it('[S11] that is no JSON, or not declared so, or of no room, is refused', async () => {
    const { putSnapshot } = await api();
    expect(await putSnapshot({ raw: '{"rev":1,"data":' })).toMatchObject({
      status: 400,
      error: { code: 'invalid_json' },
    });
    expect(await putSnapshot({ raw: 'x', headers: { 'content-type': 'text/plain' } })).toMatchObject({ status: 415 });
    expect(await putSnapshot({ path: 'a%00b', body: { rev: 1, data: 1 } })).toMatchObject({ status: 400 });
    expect(await putSnapshot({ query: '?rev=1', body: { rev: 1, data: 1 } })).toMatchObject({ status: 400 });
  });

  it('[S11] over the limit of data, body or log is 413', async () => {
    const { putSnapshot } = await api();
    expect(await putSnapshot({ body: { rev: 1, data: 'x'.repeat(198) } })).toMatchObject({ status: 200 });
    expect(await putSnapshot({ body: { rev: 2, data: 'x'.repeat(199) } })).toMatchObject({
      status: 413,
      error: { code: 'too_large', where: 'data' },
    });
    expect(await putSnapshot({ body: { rev: 2, data: 'x'.repeat(3_000) } })).toMatchObject({ status: 413 });
  });

  it.each([
    ['log_unavailable', undefined],
    ['log_full', undefined],
    ['outcome_unknown', 'unknown'],
  ] as const)('[S11] %s is 503 with Retry-After', async (code: ErrorCode, outcome) => {
    const log = new MemoryLog({ clock: systemClock });
    const failing = {
      append: log.append.bind(log),
      status: log.status.bind(log),
      putSnapshot: () => Promise.reject(new RevcastError(code, 'not now')),
    };
    const { putSnapshot } = await producerApi({ log: failing });
    const { status, headers, error } = await putSnapshot({ body: { rev: 1, data: 1 } });
    expect([status, error['code'], error['outcome']]).toEqual([503, code, outcome]);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  });

  it('[P10] counts among what is under way, and is refused while stopping', async () => {
    const waiting: (() => void)[] = [];
    const snapshot = { epoch: 'e', rev: 1, tag: '0a0b0c0d', time: 1, data: Buffer.from('1') };
    const log = {
      append: () => Promise.reject(new Error('not asked')),
      putSnapshot: () => new Promise<typeof snapshot>((resolve) => waiting.push(() => resolve(snapshot))),
    };
    const limits = { ...SMALL_LIMITS, maxInFlight: 1 };
    const appender = new Appender({ log, logger: silentLogger, clock: systemClock, limits });
    const { rev, data } = snapshot;
    const first = appender.putSnapshot(ROOM, { rev, data });
    expect(appender.inFlight).toBe(1);
    await expect(appender.putSnapshot(ROOM, { rev: 2, data: snapshot.data })).rejects.toMatchObject({
      code: 'overloaded',
    });
    const stopping = appender.stop(1_000);
    waiting[0]?.();
    expect(await first).toEqual(snapshot);
    await stopping;
    await expect(appender.putSnapshot(ROOM, { rev: 2, data: snapshot.data })).rejects.toMatchObject({
      code: 'shutting_down',
    });
  });
});
