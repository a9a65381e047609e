import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { lastRev, type Entry } from '../../services/log/log.js';
import type { ClientPosition, RevisionReader } from '../../services/revision/contract.js';
import { startRevision, type RunningRevision } from '../../services/revision/main.js';
import { RevisionClient } from '../../services/revision/rpc-client.js';
import {
  decodeHeadsReply,
  decodeRangeReply,
  HEADS_SUBJECT,
  RANGE_SUBJECT,
} from '../../services/revision/rpc-messages.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError } from '../../services/shared/errors.js';
import { silentLogger } from '../../services/shared/logger.js';
import { openJetStreamLog, startJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { appendEntry, clientSettings, settings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

interface Replica extends TestLog {
  readonly service: RunningRevision;
}

async function replicaOn(log: TestLog): Promise<Replica> {
  const parts = { settings, log: log.log, whole: log.log, link: log.link, logger: silentLogger, clock: systemClock };
  return { ...log, service: await startRevision(parts) };
}

async function end(replica: Replica): Promise<void> {
  await replica.service.stop();
  await replica.close();
}

/** The first replica itself, as an edge in its process has it. */
function inProcess(replicas: readonly Replica[]): RevisionReader {
  const [first] = replicas;
  if (first === undefined) throw new Error('there is no replica');
  return first.service.reader;
}

function clientOn(link: NatsLink): RevisionClient {
  return new RevisionClient({ link, settings: clientSettings, clock: systemClock });
}

async function upLink(url: string): Promise<NatsLink> {
  const link = testLink(url);
  link.start();
  await waitFor(() => link.up, { what: 'the link is up' });
  return link;
}

/** Page after page from the first kept revision to the head, as an edge's catch-up asks. */
async function readAll(client: RevisionReader, room: string, limit: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  let after: ClientPosition | null = null;
  for (;;) {
    const answer = await client.range({ room, after, limit, maxBytes: 1e9 });
    if (answer.kind !== 'entries') throw new Error(answer.kind);
    entries.push(...answer.entries);
    const last = answer.entries.at(-1);
    if (last === undefined || lastRev(last) >= (answer.head?.rev ?? 0)) return entries;
    after = { epoch: last.epoch, rev: lastRev(last), tag: last.tag };
  }
}

function textsOf(entries: readonly Entry[]): string[] {
  return entries.flatMap((entry) => entry.revisions.map(({ data }) => Buffer.from(data).toString()));
}

describe('the revision service over NATS, two replicas', () => {
  let server: NatsServer;
  let producer: TestLog;
  let replicas: Replica[];
  let link: NatsLink;
  let client: RevisionClient;

  beforeAll(async () => {
    server = await NatsServer.start();
    producer = await openJetStreamLog(server.url);
    replicas = [
      await replicaOn(await openJetStreamLog(server.url)),
      await replicaOn(await openJetStreamLog(server.url)),
    ];
    link = await upLink(server.url);
    client = clientOn(link);
    await waitFor(() => answers(client), { what: 'a replica answers' });
  });

  afterAll(async () => {
    await Promise.all(replicas.map(end));
    await producer.close();
    await link.close();
    await server.dispose();
  });

  it('[R1] of 1,200 rooms in two batches only those with another head come back, confirmed', async () => {
    const rooms = Array.from({ length: 1_200 }, (_, index) => `heads-${index}-é`);
    const appended = await Promise.all(rooms.map((room) => appendEntry(producer.log, room, 1, 2)));
    const known = rooms.map((room, index) => {
      const at = appended[index];
      if (at === undefined) throw new Error('every room has an answer');
      return { room, position: { epoch: at.epoch, rev: at.rev, tag: at.tag } };
    });
    expect(await client.heads(known)).toEqual([]);
    const moved = await appendEntry(producer.log, 'heads-700-é', 3, 1);
    const asked = [...known, { room: 'heads-none', position: null }, { room: 'heads-0-é', position: null }];
    const answered = await client.heads(asked);
    expect(Object.fromEntries(answered.map(({ room, head }) => [room, head?.rev]))).toEqual({
      'heads-0-é': 2,
      'heads-700-é': 3,
      'heads-none': undefined,
    });
    expect(answered).toHaveLength(3);
    expect(answered.find(({ room }) => room === 'heads-700-é')?.head).toMatchObject({
      epoch: moved.epoch,
      tag: moved.tag,
      seq: moved.seq,
    });
  });

  it('[R2] [R3] ranges over group commits and bodies near the payload limit are whole, byte for byte', async () => {
    const room = 'large';
    const texts: string[] = [];
    const append = async (sizes: readonly number[]) => {
      const data = sizes.map((size, index) => JSON.stringify(`${texts.length + index}é`.padEnd(size, 'x')));
      texts.push(...data);
      await producer.log.append(room, { revisions: data.map((text) => ({ data: Buffer.from(text) })) });
    };
    await append([1_046_000]);
    await append(Array.from({ length: 60 }, () => 17_000));
    await append([1, 2, 3]);
    await append([520_000, 520_000]);
    await append([1_046_000]);
    // Concurrent appends share entries; their order is the log's.
    const small = await Promise.all(
      Array.from({ length: 300 }, (_, index) => appendEntry(producer.log, room, 1_000 + index, 1)),
    );
    expect(new Set(small.map(({ seq }) => seq)).size).toBeLessThan(100);
    for (const { rev } of small) texts[rev - 1] = `{"n":${1_000 + small.findIndex((each) => each.rev === rev)}}`;

    for (const limit of [1, 7, 1_000]) {
      if (limit === 1) {
        const first = await client.range({ room, after: null, limit, maxBytes: 1 });
        expect(first).toMatchObject({ kind: 'entries', entries: [{ firstRev: 1 }], head: { rev: texts.length } });
      } else {
        expect(textsOf(await readAll(client, room, limit))).toEqual(texts);
      }
    }
    expect(textsOf(await readAll(inProcess(replicas), room, 1_000))).toEqual(texts);
  });

  it('[R2] a position is checked against the log, over NATS as in the process', async () => {
    const first = await appendEntry(producer.log, 'checked', 1, 2);
    const second = await appendEntry(producer.log, 'checked', 3, 3);
    const query = { room: 'checked', limit: 10, maxBytes: 10_000 };
    const { epoch } = first;
    const wrong = [
      { epoch: 'other', rev: 2 },
      { epoch, rev: 2, tag: second.tag },
      { epoch, rev: 6, tag: second.tag },
    ];
    for (const after of wrong) {
      expect(await client.range({ ...query, after })).toMatchObject({ kind: 'epoch_changed', head: { rev: 5, epoch } });
    }
    const right = await client.range({ ...query, after: { epoch, rev: 1, tag: first.tag }, hint: second.seq });
    expect(right).toMatchObject({ kind: 'entries', entries: [{ firstRev: 2 }, { firstRev: 3 }], head: { rev: 5 } });
    const atHead = await client.range({ ...query, after: { epoch, rev: 5, tag: second.tag } });
    expect(atHead).toMatchObject({ kind: 'entries', entries: [], head: { rev: 5 } });
  });

  it('[R3] bytes that are no request are answered with an error, and the service goes on', async () => {
    for (const bytes of [
      Buffer.from('\xff\xfe not a message'),
      Buffer.alloc(100_000, 0xff),
      Buffer.from([0x0a, 0x7f]),
    ]) {
      const heads = await link.request(HEADS_SUBJECT, bytes, 2_000);
      expect(() => decodeHeadsReply(heads)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
      const range = await link.request(RANGE_SUBJECT, bytes, 2_000);
      expect(() => decodeRangeReply(range)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
    }
    await expect(client.range({ room: 'a\u0007b', after: null, limit: 1, maxBytes: 1 })).rejects.toMatchObject({
      code: 'invalid_room',
    });
    expect(await answers(client)).toBe(true);
  });

  it('[R3] while one replica stops in order and one is lost, every request is answered', async () => {
    const room = 'replicas';
    await appendEntry(producer.log, room, 1, 500);
    const enough = new AbortController();
    let answered = 0;
    const ask = async () => {
      while (!enough.signal.aborted) {
        const answer = await client.range({ room, after: null, limit: 100, maxBytes: 1e6 });
        expect(answer).toMatchObject({ kind: 'entries', head: { rev: 500 } });
        answered += 1;
      }
    };
    const askers = Array.from({ length: 8 }, ask);
    const more = async (count: number) => {
      const target = answered + count;
      await waitFor(() => answered >= target, { timeoutMs: 20_000, what: 'more requests are answered' });
    };
    await more(50);
    const third = await replicaOn(await openJetStreamLog(server.url));
    await more(50);
    // Its connection breaks with requests under way.
    await third.link.close();
    await more(50);
    const [first] = replicas.splice(0, 1);
    if (first === undefined) throw new Error('there is a first replica');
    await end(first);
    await more(50);
    enough.abort();
    await Promise.all(askers);
    await end(third);
    replicas.push(await replicaOn(await openJetStreamLog(server.url)));
  });
});

describe('the revision service while NATS comes and goes', () => {
  it('[R4] waits for NATS, says so in /readyz, and answers again after a crash of the server', async () => {
    const server = await NatsServer.prepare();
    const replica = await replicaOn(startJetStreamLog(server.url));
    const link = testLink(server.url);
    link.start();
    const client = clientOn(link);
    const ready = async () => (await fetch(`${replica.service.url}/readyz`)).status;
    try {
      expect(await ready()).toBe(503);
      expect((await fetch(`${replica.service.url}/healthz`)).status).toBe(200);
      const early = await fetch(`${replica.service.url}/v1/rooms/a`);
      expect(early.status).toBe(503);
      expect(early.headers.get('retry-after')).not.toBeNull();
      await expect(client.heads([{ room: 'a', position: null }])).rejects.toMatchObject({ code: 'log_unavailable' });

      for (const rev of [1, 2]) {
        await server.start();
        await waitFor(async () => (await ready()) === 200, { timeoutMs: 20_000, what: 'the service is ready' });
        await waitFor(() => answers(client), { timeoutMs: 20_000, what: 'the client is answered' });
        await appendEntry(replica.log, 'a', rev, 1);
        const answer = await client.range({ room: 'a', after: null, limit: 9, maxBytes: 999 });
        expect(answer).toMatchObject({ kind: 'entries', head: { rev } });
        await server.kill();
        await waitFor(async () => (await ready()) === 503, { timeoutMs: 20_000, what: 'the service is not ready' });
        await expect(client.range({ room: 'a', after: null, limit: 9, maxBytes: 9 })).rejects.toMatchObject({
          code: 'log_unavailable',
          retryable: true,
        });
      }
    } finally {
      await end(replica);
      await link.close();
      await server.dispose();
    }
  });
});

/** Whether somebody answers; what else than log_unavailable is thrown is a failure. */
async function answers(client: RevisionClient): Promise<boolean> {
  try {
    await client.heads([{ room: 'any', position: null }]);
    return true;
  } catch (error) {
    if (error instanceof RevcastError && error.code === 'log_unavailable') return false;
    throw error;
  }
}
