import { EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../services/log/log.js';
import type { ClientPosition, KnownHead, RangeAnswer, RevisionReader } from '../../services/revision/contract.js';
import { fitEntries } from '../../services/revision/reply-size.js';
import { RevisionClient } from '../../services/revision/rpc-client.js';
import {
  decodeHeadsReply,
  decodeRangeReply,
  encodeHeadsRequest,
  encodeRangeReply,
  HEADS_SUBJECT,
  RANGE_SUBJECT,
} from '../../services/revision/rpc-messages.js';
import { RevisionRpcServer } from '../../services/revision/rpc-server.js';
import { RevisionService } from '../../services/revision/service.js';
import { RevcastError } from '../../services/shared/errors.js';
import { silentLogger } from '../../services/shared/logger.js';
import { messages } from '../../services/shared/messages.js';
import { LoopedLink } from '../support/looped-link.js';
import { Random, testSeed } from '../support/random.js';
import {
  appendEntries,
  appendEntry,
  clientSettings,
  hastyClock,
  memoryLog,
  revsOf,
  settings,
  told,
} from '../support/revision-parts.js';

const ROOM = 'doc-1';
const seed = testSeed();

function overLink(reader: RevisionReader, link = new LoopedLink(), revisionRpcRequests = 8) {
  const server = new RevisionRpcServer({ link, reader, settings: { revisionRpcRequests }, logger: silentLogger });
  const client = new RevisionClient({ link, settings: clientSettings, clock: hastyClock });
  return { link, server, client };
}

async function serving(sizes: readonly number[], link = new LoopedLink()) {
  const { log } = memoryLog();
  await appendEntries(log, ROOM, sizes);
  const service = new RevisionService({ log, clock: hastyClock, settings });
  return { log, service, ...overLink(service, link) };
}

/** A reader that answers ranges with `answer`. */
function ranging(answer: () => Promise<RangeAnswer>): RevisionReader {
  return {
    heads: () => Promise.resolve([]),
    range: answer,
    snapshot: () => Promise.resolve({ kind: 'none', head: null }),
  };
}

/** The answer with each revision's data as text, whatever kind of bytes it came in. */
function inText(answer: RangeAnswer): unknown {
  return JSON.parse(
    JSON.stringify(answer, (_name, value: unknown) => {
      if (value instanceof Uint8Array) return Buffer.from(value).toString();
      return value !== null && typeof value === 'object' && 'data' in value && value.data instanceof Uint8Array
        ? { ...value, data: Buffer.from(value.data).toString() }
        : value;
    }),
  );
}

const query = { room: ROOM, after: null, limit: 100, maxBytes: 100_000 };

describe('the revision service over request/reply', () => {
  it('[R2] answers the same as the service itself: entries, truncated, epoch_changed', async () => {
    const { service, client, log } = await serving([2, 3]);
    await log.append(ROOM, { revisions: [{ data: Buffer.from('"é😀"'), author: 'ada' }], key: 'k1' });
    const asked: (ClientPosition | null)[] = [null, { epoch: '', rev: 0 }, { epoch: 'other', rev: 2 }];
    const head = (await log.heads([ROOM])).get(ROOM);
    if (!head) throw new Error('the room has a head');
    asked.push({ epoch: head.epoch, rev: 1 }, head, { ...head, tag: '00000001' }, { ...head, rev: 9 });
    for (const after of asked) {
      const answer = await client.range({ ...query, after });
      expect(inText(answer)).toEqual(inText(await service.range({ ...query, after })));
    }
    const truncated: RangeAnswer = { kind: 'truncated', firstRev: 3, head };
    expect(await overLink(ranging(() => Promise.resolve(truncated))).client.range(query)).toEqual(truncated);
    const nothing: RangeAnswer = { kind: 'entries', entries: [], head: null };
    expect(await overLink(ranging(() => Promise.resolve(nothing))).client.range(query)).toEqual(nothing);
  });

  it('[R1] heads are asked in batches that fit, and only differences come back', async () => {
    const { log, client, link } = await serving([1], new LoopedLink(65_536));
    const known: KnownHead[] = [];
    for (let i = 0; i < 2_500; i += 1) {
      const room = `room-${'x'.repeat(180)}-${i}`;
      if (i % 5 === 0) await appendEntry(log, room, 1, 1);
      known.push({ room, position: i === 0 ? null : { epoch: '', rev: 0 } });
    }
    const answered = await client.heads(known);
    expect(answered.map(({ room }) => room).sort()).toEqual(
      known
        .filter((_, index) => index % 5 === 0)
        .map(({ room }) => room)
        .sort(),
    );
    expect(link.requests.length).toBeGreaterThan(10);
    expect(Math.max(...link.requests.map(({ bytes }) => bytes))).toBeLessThan(65_536);
    expect(await client.heads([])).toEqual([]);
  });

  it('[R1] the reply of a full batch fits, even when every head comes back', async () => {
    const { log, client, link } = await serving([], new LoopedLink(32_768));
    const rooms = Array.from({ length: 400 }, (_, index) => `${'é'.repeat(95)}${index}`);
    for (const room of rooms) await appendEntry(log, room, 1, 1);
    expect(await client.heads(rooms.map((room) => ({ room, position: null })))).toHaveLength(400);
    expect(Math.max(...link.requests.map(({ replyBytes }) => replyBytes))).toBeLessThanOrEqual(32_768);
  });

  it('[R3] a page is cut to the payload limit, and the next one follows it', async () => {
    const link = new LoopedLink(20_000);
    const { log, client } = await serving([], link);
    const data = Buffer.from(JSON.stringify('x'.repeat(1_000)));
    for (let entry = 0; entry < 8; entry += 1) {
      await log.append(ROOM, { revisions: Array.from({ length: 15 }, () => ({ data, author: 'ü'.repeat(20) })) });
    }
    const seen: number[] = [];
    let after: ClientPosition | null = null;
    while (seen.length < 120) {
      const answer = await client.range({ ...query, after, maxBytes: 1e9 });
      if (answer.kind !== 'entries') throw new Error(answer.kind);
      const last = answer.entries.at(-1);
      if (last === undefined) throw new Error('an empty page below the head');
      seen.push(...revsOf(answer.entries));
      after = { epoch: last.epoch, rev: last.firstRev + last.revisions.length - 1, tag: last.tag };
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, index) => index + 1));
    const replies = link.requests.map(({ replyBytes }) => replyBytes);
    expect(Math.max(...replies)).toBeLessThanOrEqual(20_000);
    expect(Math.max(...replies)).toBeGreaterThan(15_000);
  });

  it('[R3] a revision that cannot fit any reply is too_large', async () => {
    const { log, client } = await serving([], new LoopedLink(10_000));
    await log.append(ROOM, { revisions: [{ data: Buffer.alloc(10_000, '1') }] });
    await expect(client.range(query)).rejects.toMatchObject({ code: 'too_large', retryable: false });
  });

  it(`[R3] fitted entries never encode above the limit, and waste little of it (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 200; round += 1) {
      let firstRev = Number.MAX_SAFE_INTEGER - 10_000;
      const entries: Entry[] = Array.from({ length: random.whole(1, 6) }, () => {
        const revisions = Array.from({ length: random.whole(1, 30) }, () => ({
          time: Number.MAX_SAFE_INTEGER,
          data: Buffer.alloc(random.whole(0, 400)),
          ...(random.chance(0.5) ? { author: 'é'.repeat(random.whole(1, 50)) } : {}),
          ...(random.chance(0.5) ? { key: '鍵'.repeat(random.whole(1, 20)), appendSize: 4_294_967_295 } : {}),
        }));
        const common = { room: 'é'.repeat(100), epoch: 'e'.repeat(11), tag: 'ffffffff', appendId: 'a'.repeat(22) };
        const numbers = {
          firstRev,
          previousTime: Number.MAX_SAFE_INTEGER,
          previousSeq: firstRev,
          seq: firstRev,
          previousTag: 'ffffffff',
        };
        firstRev += revisions.length;
        return { ...common, ...numbers, revisions };
      });
      const limit = random.whole(2_000, 22_000);
      const fitting = fitEntries(entries, limit);
      const bytes = encodeRangeReply({ kind: 'entries', entries: fitting, head: null }).length;
      const cut = revsOf(fitting).length < revsOf(entries).length;
      expect({ round, fits: bytes <= limit, full: !cut || bytes > limit * 0.5 - 1_000 }).toEqual({
        round,
        fits: true,
        full: true,
      });
      expect(revsOf(fitting)).toEqual(revsOf(entries).slice(0, revsOf(fitting).length));
    }
  });
});

describe('bad requests, and too many', () => {
  it('[R3] a malformed request is answered with an error, and logged by nobody as a fault', async () => {
    const { link } = await serving([2]);
    const { HeadsRequest, RangeRequest } = messages.revision;
    const garbage = [Buffer.from('not protobuf'), Buffer.from([0x0a, 0xff]), Buffer.from([0xff, 0xff, 0xff, 0xff])];
    for (const bytes of garbage) {
      const heads = await link.request(HEADS_SUBJECT, bytes);
      expect(() => decodeHeadsReply(heads)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
      const range = await link.request(RANGE_SUBJECT, bytes);
      expect(() => decodeRangeReply(range)).toThrow(expect.objectContaining({ code: 'invalid_request' }) as Error);
    }
    const unsound: [string, Uint8Array, string][] = [
      [RANGE_SUBJECT, new Uint8Array(0), 'invalid_room'],
      [RANGE_SUBJECT, RangeRequest.encode({ room: 'x'.repeat(201) }).finish(), 'invalid_room'],
      [RANGE_SUBJECT, RangeRequest.encode({ room: 'a', after: { rev: 2 ** 60 } }).finish(), 'invalid_request'],
      [RANGE_SUBJECT, RangeRequest.encode({ room: 'a', hint: 2 ** 60 }).finish(), 'invalid_request'],
      [HEADS_SUBJECT, HeadsRequest.encode({ rooms: [{ room: 'a\u0000b' }] }).finish(), 'invalid_room'],
      [
        HEADS_SUBJECT,
        encodeHeadsRequest(Array.from({ length: 1_001 }, () => ({ room: 'a', position: null }))),
        'too_large',
      ],
    ];
    for (const [subject, bytes, code] of unsound) {
      const reply = await link.request(subject, bytes);
      const decode = subject === HEADS_SUBJECT ? decodeHeadsReply : decodeRangeReply;
      expect(() => decode(reply)).toThrow(expect.objectContaining({ code, retryable: false }) as Error);
    }
    expect(decodeHeadsReply(await link.request(HEADS_SUBJECT, new Uint8Array(0)))).toEqual([]);
  });

  it('[R3] limits that a request leaves open are the service’s own', async () => {
    const { link } = await serving([2, 3]);
    const request = messages.revision.RangeRequest.encode({ room: ROOM }).finish();
    expect(told(decodeRangeReply(await link.request(RANGE_SUBJECT, request)))).toEqual([1, 2, 3, 4, 5]);
  });

  it('[R3] beyond the requests worked on at once it answers overloaded at once, and works on', async () => {
    const gate = new EventEmitter();
    const answer: RangeAnswer = { kind: 'entries', entries: [], head: null };
    const { client, server } = overLink(
      ranging(async () => {
        await once(gate, 'open');
        return answer;
      }),
      new LoopedLink(),
      2,
    );
    const working = [client.range(query), client.range(query)];
    await expect(client.range(query)).rejects.toMatchObject({ code: 'overloaded', retryable: true });
    const stopped = server.stop();
    gate.emit('open');
    expect(await Promise.all(working)).toEqual([answer, answer]);
    await stopped;
    await expect(client.range(query)).rejects.toMatchObject({ code: 'log_unavailable' });
  });

  it('[R3] a fault is answered as internal without its text, and logged', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const link = new LoopedLink();
    const reader = ranging(() => Promise.reject(new Error('a secret')));
    const server = new RevisionRpcServer({ link, reader, settings: { revisionRpcRequests: 8 }, logger });
    const client = new RevisionClient({ link, settings: clientSettings, clock: hastyClock });
    const failure = await client.range(query).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'internal', message: 'internal error', retryable: false });
    expect(lines.join('')).toContain('a secret');
    await server.stop();
  });
});

describe('the client', () => {
  it('[R3] tries what may pass twice, at whoever answers, and other errors once', async () => {
    const { client, link } = await serving([2]);
    link.lose(1);
    expect(told(await client.range(query))).toEqual([1, 2]);
    expect(link.requests).toHaveLength(2);
    link.lose(2);
    await expect(client.heads([{ room: ROOM, position: null }])).rejects.toMatchObject({ code: 'log_unavailable' });
    expect(link.requests).toHaveLength(4);

    const busy = new RevisionRpcServer({
      link,
      reader: ranging(() => Promise.reject(new RevcastError('overloaded', 'no'))),
      settings,
      logger: silentLogger,
    });
    expect(told(await client.range(query))).toEqual([1, 2]);
    expect(told(await client.range(query))).toEqual([1, 2]);
    await busy.stop();

    const before = link.requests.length;
    await expect(client.range({ ...query, room: '' })).rejects.toMatchObject({ code: 'invalid_room' });
    expect(link.requests.length - before).toBe(1);
  });

  it('[R2] refuses a page that does not follow the position, whoever answers it', async () => {
    const { service } = await serving([1, 1, 1]);
    const whole = await service.range(query);
    if (whole.kind !== 'entries') throw new Error(whole.kind);
    const epoch = whole.head?.epoch ?? '';
    const wrong: [ClientPosition | null, readonly Entry[]][] = [
      [{ epoch, rev: 1 }, whole.entries],
      [null, whole.entries.filter(({ firstRev }) => firstRev !== 2)],
      [null, whole.entries.map((entry) => ({ ...entry, room: 'doc-2' }))],
    ];
    for (const [after, entries] of wrong) {
      const { client } = overLink(ranging(() => Promise.resolve({ ...whole, entries })));
      await expect(client.range({ ...query, after })).rejects.toMatchObject({ code: 'internal' });
    }
  });

  it('[R3] an answer that is no message, or has an unknown error code, is an error of its own', async () => {
    const replies: [Uint8Array, string][] = [
      [Buffer.from([0x0a, 0xff]), 'internal'],
      [messages.revision.RangeReply.encode({ error: { code: 'new', message: 'm' } }).finish(), 'internal'],
      [messages.revision.RangeReply.encode({ error: { code: 'new', retryable: true } }).finish(), 'overloaded'],
      [messages.revision.RangeReply.encode({ error: { code: 'toString' } }).finish(), 'internal'],
      [messages.revision.RangeReply.encode({ entries: [{ seq: 1 }] }).finish(), 'internal'],
    ];
    for (const [reply, code] of replies) {
      const link = new LoopedLink();
      link.subscribe(RANGE_SUBJECT, {}, (message) => void message.respond(reply));
      const client = new RevisionClient({ link, settings: clientSettings, clock: hastyClock });
      await expect(client.range(query)).rejects.toMatchObject({ code });
    }
  });
});
