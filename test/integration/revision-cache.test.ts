/** A revision service that follows a real nats-server, through what breaks a copy: rules R5 and R7. */
import { cp, rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { STREAM, storedSubject } from '../../services/log/subjects.js';
import { startRevision, type RunningRevision } from '../../services/revision/main.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { data, one } from '../contract/harness.js';
import { becomesReady, openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { appendEntry, settings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

const ROOMS = ['one', 'two', 'three'];

describe('a revision service on a real nats-server', () => {
  let server: NatsServer;
  let writer: TestLog;
  let followed: TestLog;
  let service: RunningRevision;

  beforeEach(async () => {
    server = await NatsServer.start();
    writer = await openJetStreamLog(server.url);
    followed = await openJetStreamLog(server.url);
    const { log, link } = followed;
    const parts = { settings, log, whole: log, link, logger: silentLogger, clock: systemClock };
    service = await startRevision(parts);
  });

  afterEach(async () => {
    await service.stop();
    await followed.close();
    await writer.close();
    await server.dispose();
  });

  const append = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1) await Promise.all(ROOMS.map((room) => writer.log.append(room, one(i))));
  };

  /** The service's heads are the log's, and it answers each room whole. */
  const agrees = async (): Promise<true> => {
    const truth = await writer.log.heads(ROOMS);
    const heads = await service.reader.heads(ROOMS.map((room) => ({ room, position: null })));
    expect(new Map(heads.map(({ room, head }) => [room, head]))).toEqual(truth);
    for (const room of ROOMS) {
      const head = truth.get(room);
      const after = { epoch: head?.epoch ?? '', rev: 0 };
      const answer = await service.reader.range({ room, after, limit: 1_000, maxBytes: 1e9 });
      const revs = answer.kind === 'entries' ? answer.entries.flatMap(({ revisions }) => revisions).length : -1;
      expect(revs).toBe(head?.rev ?? 0);
    }
    return true;
  };

  const fromStart = (room: string) =>
    service.reader.range({ room, after: { epoch: '', rev: 0 }, limit: 1_000, maxBytes: 1e9 });

  const confirmsFromMemory = () =>
    waitFor(
      async () => {
        const before = service.counters().headsConfirmed;
        await service.reader.heads([{ room: 'one', position: null }]);
        return service.counters().headsConfirmed > before;
      },
      { what: 'heads are confirmed from memory' },
    );

  it('[R5] heads after each of many appends are those that were acknowledged, from memory', async () => {
    await append(3);
    await confirmsFromMemory();
    const { headsAsked, logReads } = service.counters();
    for (let rev = 4; rev <= 60; rev += 1) {
      await append(1);
      const heads = await service.reader.heads(ROOMS.map((room) => ({ room, position: null })));
      expect(heads.map(({ head }) => head?.rev)).toEqual([rev, rev, rev]);
    }
    expect(service.counters().headsAsked - headsAsked).toBeLessThanOrEqual(2);
    expect(service.counters().logReads).toBe(logReads);
    expect(await agrees()).toBe(true);
  });

  it('[R7] NATS is killed and started again: it goes on, and memory is used again', async () => {
    await append(5);
    await confirmsFromMemory();
    await server.kill();
    await expect(service.reader.heads([{ room: 'one', position: null }])).rejects.toMatchObject({
      code: 'log_unavailable',
    });
    await server.start();
    await becomesReady(writer.log);
    await becomesReady(followed.log);
    await append(5);
    await confirmsFromMemory();
    expect(await agrees()).toBe(true);
    expect(service.counters().restarts).toBe(0);
  });

  it('[R7] a purged room is gone at once, and begins again in its new numbering', async () => {
    await append(5);
    await confirmsFromMemory();
    await writer.link.request(`$JS.API.STREAM.PURGE.${STREAM}`, data({ filter: storedSubject('two') }), 5_000);
    expect(await agrees()).toBe(true);
    await appendEntry(writer.log, 'two', 1, 3);
    expect(await agrees()).toBe(true);
    await confirmsFromMemory();
    expect(await agrees()).toBe(true);
    expect(service.counters().restarts).toBe(0);
  });

  it('[R7] files put back to an older copy: nothing of what was lost is answered', async () => {
    await append(5);
    await server.stop();
    const copy = `${server.storeDirectory}-copy`;
    await cp(server.storeDirectory, copy, { recursive: true });
    await server.start();
    await becomesReady(writer.log);
    await append(20);
    await becomesReady(followed.log);
    await confirmsFromMemory();
    await server.stop();
    await rm(server.storeDirectory, { recursive: true });
    await cp(copy, server.storeDirectory, { recursive: true });
    await server.start();
    await becomesReady(writer.log);
    await becomesReady(followed.log);

    expect(await agrees()).toBe(true);
    await append(3);
    expect(await agrees()).toBe(true);
    await waitFor(() => service.counters().restarts > 0, { what: 'what was in memory is forgotten' });
    await confirmsFromMemory();
    expect(await agrees()).toBe(true);
    await rm(copy, { recursive: true });
  });

  it('[R7] ranges of a purged room are empty at once, of others as they were; what a purge kept is answered', async () => {
    await append(5);
    await confirmsFromMemory();
    expect(await fromStart('two')).toMatchObject({ kind: 'entries', head: { rev: 5 } });
    await writer.link.request(`$JS.API.STREAM.PURGE.${STREAM}`, data({ filter: storedSubject('two') }), 5_000);
    expect(await fromStart('two')).toEqual({ kind: 'entries', entries: [], head: null });
    const keepTwo = data({ filter: storedSubject('one'), keep: 2 });
    await writer.link.request(`$JS.API.STREAM.PURGE.${STREAM}`, keepTwo, 5_000);
    expect(await fromStart('one')).toMatchObject({ kind: 'truncated', firstRev: 4 });
    expect(await fromStart('three')).toMatchObject({ kind: 'entries', head: { rev: 5 } });
  });

  it('[R7] a stream made again with as many entries is not taken for the one before', async () => {
    await append(5);
    await confirmsFromMemory();
    const before = await writer.log.heads(ROOMS);
    await writer.link.request(`$JS.API.STREAM.DELETE.${STREAM}`, data({}), 5_000);
    const other = await openJetStreamLog(server.url);
    for (let rev = 1; rev <= 5; rev += 1) {
      for (const room of ROOMS) await other.log.append(room, one(`again ${rev}`));
    }
    await other.close();
    for (const room of ROOMS) {
      const { epoch, rev, tag } = before.get(room) ?? { epoch: '', rev: 0, tag: '' };
      const after = { epoch, rev: rev - 2, tag };
      const kinds: string[] = [];
      const ask = async (): Promise<boolean> => {
        // It may fail while the stream is looked at; what it answers must be true at any time.
        const answer = await service.reader.range({ room, after, limit: 10, maxBytes: 1e9 }).catch(() => undefined);
        if (answer !== undefined) kinds.push(answer.kind);
        return answer !== undefined;
      };
      await waitFor(ask, { what: 'an answer' });
      expect(kinds).toEqual(['epoch_changed']);
    }
    await agrees();
  });

  it('[R7] a stream that is deleted and made again: all rooms are empty, then new', async () => {
    await append(5);
    await confirmsFromMemory();
    await writer.link.request(`$JS.API.STREAM.DELETE.${STREAM}`, data({}), 5_000);
    await waitFor(
      async () => {
        await append(1);
        return true;
      },
      { what: 'the stream is there again', timeoutMs: 15_000 },
    );
    expect(await agrees()).toBe(true);
    await confirmsFromMemory();
    expect(await agrees()).toBe(true);
  });
});
