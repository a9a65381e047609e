/** Publications over NATS: both ends on a link that the test scripts, and what is said when there is no answer. */
import { describe, expect, it } from 'vitest';
import { RequestError, type RequestFailure } from '../../services/log/jetstream/request-error.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import type { Appended } from '../../services/log/log.js';
import { Appender } from '../../services/producer/appender.js';
import { Publications } from '../../services/producer/publications.js';
import { ProducerClient } from '../../services/producer/rpc-client.js';
import {
  APPEND_SUBJECT,
  decodeAppendReply,
  decodeAppendRequest,
  encodeAppendError,
  encodeAppendReply,
  encodeAppendRequest,
} from '../../services/producer/rpc-messages.js';
import { ProducerRpcServer } from '../../services/producer/rpc-server.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError, type ErrorCode } from '../../services/shared/errors.js';
import { silentLogger } from '../../services/shared/logger.js';
import { messages } from '../../services/shared/messages.js';
import { LoopedLink } from '../support/looped-link.js';
import { ManualClock } from '../support/manual-clock.js';
import { SMALL_LIMITS } from '../support/producer-api.js';

const APPENDED: Appended = { epoch: 'e', rev: 7, firstRev: 7, tag: '0000000a', seq: 9, time: 5, duplicate: false };
const PUBLICATION = { room: 'a', data: Buffer.from('1'), key: 'k' };

/** What the link does with one request. */
type Step = RequestFailure | Appended | RevcastError | Uint8Array;

class ScriptedLink {
  readonly sent: { readonly request: Uint8Array; readonly timeoutMs: number; readonly at: number }[] = [];
  readonly connection = undefined;

  constructor(
    private readonly clock: ManualClock,
    private readonly steps: Step[],
  ) {}

  request(_subject: string, request: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    this.sent.push({ request, timeoutMs, at: this.clock.monotonic() });
    const step = this.steps.length > 1 ? this.steps.shift() : this.steps[0];
    if (step === 'timed_out') {
      return new Promise((_resolve, reject) => {
        this.clock.after(timeoutMs, () => {
          reject(new RequestError('timed_out', APPEND_SUBJECT));
        });
      });
    }
    if (typeof step === 'string') return Promise.reject(new RequestError(step, APPEND_SUBJECT));
    if (step === undefined) return Promise.reject(new Error('the script is over'));
    if (step instanceof Uint8Array) return Promise.resolve(step);
    return Promise.resolve(step instanceof RevcastError ? encodeAppendError(step) : encodeAppendReply(step));
  }
}

async function asked(steps: Step[], withinMs = 10_000) {
  const clock = new ManualClock();
  const link = new ScriptedLink(clock, steps);
  const client = new ProducerClient({ link, settings: { producerTimeoutMs: 1_000 }, clock });
  const ended: { outcome?: unknown } = {};
  void client.publish(PUBLICATION, withinMs).then(
    (appended) => (ended.outcome = appended),
    (error: unknown) => (ended.outcome = error),
  );
  for (let ms = 0; ms <= withinMs + 1_000 && ended.outcome === undefined; ms += 50) await clock.advance(50);
  return { outcome: ended.outcome, sent: link.sent, ms: clock.monotonic() };
}

function refusal(code: ErrorCode): RevcastError {
  return new RevcastError(code, 'no');
}

describe('asking a producer', () => {
  const SURVIVED: [string, Step[]][] = [
    ['a hung producer', ['timed_out', APPENDED]],
    ['two hung producers', ['timed_out', 'timed_out', APPENDED]],
    ['a connection that breaks', ['disconnected', 'not_connected', 'not_connected', APPENDED]],
    ['no producer for a while', ['no_responders', 'no_responders', APPENDED]],
    ['a producer that stops', [refusal('shutting_down'), APPENDED]],
    ['a producer that has not reached its log yet', [refusal('log_unavailable'), APPENDED]],
    ['a producer that does not know the outcome', [refusal('outcome_unknown'), APPENDED]],
    ['a lost answer, and then a producer that can do nothing', ['timed_out', refusal('log_unavailable'), APPENDED]],
    ['a lost answer, and then a producer with too much to do', ['disconnected', refusal('overloaded'), APPENDED]],
  ];
  it.each(SURVIVED)('[U6] survives %s: the identical request goes again', async (_what, steps) => {
    const requests = steps.length;
    const { outcome, sent } = await asked(steps);
    expect(outcome).toEqual(APPENDED);
    expect(sent).toHaveLength(requests);
    for (const { request } of sent) expect(Buffer.from(request).equals(sent[0]?.request ?? Buffer.alloc(0))).toBe(true);
  });

  const AT_ONCE: ErrorCode[] = ['conflict', 'invalid_request', 'too_large', 'overloaded', 'log_full'];
  it.each(AT_ONCE)('[U4] %s is told at once', async (code) => {
    const { outcome, sent } = await asked([refusal(code)]);
    expect(outcome).toMatchObject({ code });
    expect(sent).toHaveLength(1);
  });

  const OPEN: [string, Step[]][] = [
    ['no answer at all', ['timed_out']],
    ['no answer, then nobody there', ['timed_out', 'no_responders']],
    ['cut off, and no connection again', ['disconnected', 'not_connected']],
    ['no answer, then a producer that stored nothing itself', ['timed_out', refusal('log_unavailable')]],
    ['no answer, then a full log', ['timed_out', refusal('log_full')]],
    ['no answer, then a producer that stops', ['timed_out', refusal('shutting_down')]],
    ['producers that do not know', [refusal('outcome_unknown')]],
  ];
  it.each(OPEN)('[U7] never a false failure: %s', async (_what, steps) => {
    const { outcome, ms } = await asked(steps);
    expect(outcome).toMatchObject({ code: 'outcome_unknown', retryable: true });
    expect(ms).toBeGreaterThanOrEqual(9_950);
    expect(ms).toBeLessThanOrEqual(10_100);
  });

  const NOT_STORED: [string, Step][] = [
    ['nobody there', 'no_responders'],
    ['no connection', 'not_connected'],
    ['producers without their log', refusal('log_unavailable')],
    ['producers that stop', refusal('shutting_down')],
  ];
  it.each(NOT_STORED)('[U7] what was certainly not stored is said to be so: %s', async (_what, step) => {
    const { outcome, sent } = await asked([step], 3_000);
    expect(outcome).toMatchObject({
      code: 'log_unavailable',
      message: expect.stringContaining('nothing was stored') as string,
    });
    // The pauses grow: an outage is no storm.
    expect(sent.length).toBeLessThan(12);
  });

  it('[U7] the last try is cut to the time that is left', async () => {
    const { sent } = await asked(['timed_out'], 2_500);
    expect(sent.every(({ at, timeoutMs }) => at + timeoutMs <= 2_500)).toBe(true);
    expect(sent.length).toBe(3);
  });

  it('[U4] what NATS does not permit is told at once', async () => {
    const { outcome, sent } = await asked(['not_permitted']);
    expect(outcome).toMatchObject({ code: 'log_unavailable', message: expect.stringContaining('permit') as string });
    expect(sent).toHaveLength(1);
  });

  it('[U4] what no NATS message holds is too_large, and not sent', async () => {
    const clock = new ManualClock();
    const link = new ScriptedLink(clock, [APPENDED]);
    const client = new ProducerClient({ link, settings: { producerTimeoutMs: 1_000 }, clock });
    const large = { ...PUBLICATION, data: Buffer.alloc(1_048_577, '1') };
    await expect(client.publish(large, 1_000)).rejects.toMatchObject({ code: 'too_large' });
    expect(link.sent).toEqual([]);
  });

  it.each([
    ['no message', Buffer.from([0xff])],
    ['an empty one', Buffer.alloc(0)],
    [
      'details that are no object',
      messages.producer.AppendReply.encode({ error: { code: 'conflict', details: '[' } }).finish(),
    ],
  ])('[U7] an answer that is not sound is internal: %s', async (_what, reply) => {
    const { outcome } = await asked([reply]);
    expect(outcome).toMatchObject({ code: 'internal' });
  });
});

describe('messages', () => {
  it('[U9] come back as they were', () => {
    for (const request of [PUBLICATION, { ...PUBLICATION, expectedRev: 0 }, { ...PUBLICATION, expectedRev: 2 ** 52 }]) {
      const { data, ...rest } = decodeAppendRequest(encodeAppendRequest(request));
      expect({ ...rest, data: Buffer.from(data) }).toEqual(request);
    }
    expect(decodeAppendReply(encodeAppendReply({ ...APPENDED, duplicate: true }))).toEqual({
      ...APPENDED,
      duplicate: true,
    });
  });

  it('[U9] errors keep code, message and details; an unknown code that may pass leaves the outcome open', () => {
    const head = { epoch: 'e', rev: 3, tag: '0000000b', time: 4 };
    const error = new RevcastError('conflict', 'not the head', { details: { head } });
    expect(() => decodeAppendReply(encodeAppendError(error))).toThrow(
      expect.objectContaining({ code: 'conflict', message: 'not the head', details: { head } }),
    );
    const { AppendReply } = messages.producer;
    const unknown = (retryable: boolean) => AppendReply.encode({ error: { code: 'from_later', retryable } }).finish();
    expect(() => decodeAppendReply(unknown(true))).toThrow(expect.objectContaining({ code: 'outcome_unknown' }));
    expect(() => decodeAppendReply(unknown(false))).toThrow(expect.objectContaining({ code: 'internal' }));
  });
});

function producer(maxInFlight = 8) {
  const log = new MemoryLog({ clock: systemClock });
  const appender = new Appender({
    log,
    logger: silentLogger,
    clock: systemClock,
    limits: { ...SMALL_LIMITS, maxInFlight },
  });
  const link = new LoopedLink();
  const server = new ProducerRpcServer({ link, publications: new Publications(appender), logger: silentLogger });
  const client = new ProducerClient({ link, settings: { producerTimeoutMs: 1_000 }, clock: systemClock });
  return { log, link, server, client };
}

describe('a producer that is asked', () => {
  it('[U9] stores what it is given, less the white space between tokens, and knows a key again', async () => {
    const { client, log } = producer();
    const publication = { room: 'a', data: Buffer.from(' { "n" : 1.0 } '), key: 'k' };
    expect(await client.publish(publication, 1_000)).toMatchObject({ rev: 1, firstRev: 1, duplicate: false });
    expect(await client.publish(publication, 1_000)).toMatchObject({ rev: 1, duplicate: true });
    const range = await log.range('a', 1, { limit: 10, maxBytes: 1_000 });
    const stored = range.kind === 'entries' ? range.entries.flatMap(({ revisions }) => revisions) : [];
    expect(stored.map(({ data }) => Buffer.from(data).toString())).toEqual(['{"n":1.0}']);
  });

  it('[U4] an expectedRev that does not hold is a conflict with the head', async () => {
    const { client } = producer();
    await client.publish(PUBLICATION, 1_000);
    await expect(client.publish({ ...PUBLICATION, key: 'k2', expectedRev: 0 }, 1_000)).rejects.toMatchObject({
      code: 'conflict',
      details: { head: { rev: 1 } },
    });
  });

  const BAD: [string, object, ErrorCode, string?][] = [
    ['no room', { room: '' }, 'invalid_room'],
    ['no JSON', { data: Buffer.from('{') }, 'invalid_json'],
    ['no UTF-8', { data: Buffer.from([0x22, 0xff, 0x22]) }, 'invalid_json'],
    ['no data', { data: Buffer.alloc(0) }, 'invalid_json'],
    ['no key', { key: '' }, 'invalid_request', 'key'],
    ['a key of 201 bytes', { key: 'k'.repeat(201) }, 'invalid_request', 'key'],
    ['data over the limit', { data: Buffer.from(JSON.stringify('x'.repeat(200))) }, 'too_large', 'data'],
  ];
  it.each(BAD)('[U9] %s is refused, with what and where', async (_what, wrong, code, where) => {
    const { client, log } = producer();
    const failed = client.publish({ ...PUBLICATION, ...wrong }, 1_000);
    await expect(failed).rejects.toMatchObject({ code, ...(where === undefined ? {} : { details: { where } }) });
    expect((await log.heads(['a'])).get('a')).toBeNull();
  });

  it('[U9] what is no request is answered, and what wants no answer is left alone', async () => {
    const { link } = producer();
    const reply = await link.request(APPEND_SUBJECT, Buffer.from([0xff, 0xff]));
    expect(() => decodeAppendReply(reply)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('[U8] beyond what a producer may have under way: overloaded', async () => {
    const { client } = producer(2);
    const answers = await Promise.allSettled(
      ['1', '2', '3', '4'].map((key) => client.publish({ ...PUBLICATION, key }, 1_000)),
    );
    const codes = answers.map((answer) =>
      answer.status === 'fulfilled' ? 'stored' : (answer.reason as RevcastError).code,
    );
    expect(codes).toEqual(['stored', 'stored', 'overloaded', 'overloaded']);
  });

  it('[U9] a stop answers what it has been given', async () => {
    const waiting: ((appended: Appended) => void)[] = [];
    const publications = { publish: () => new Promise<Appended>((resolve) => void waiting.push(resolve)) };
    const link = new LoopedLink();
    const server = new ProducerRpcServer({ link, publications, logger: silentLogger });
    const answer = link.request(APPEND_SUBJECT, encodeAppendRequest(PUBLICATION));
    const stopped = server.stop(5_000);
    for (const answered of waiting) answered(APPENDED);
    await stopped;
    expect(decodeAppendReply(await answer)).toEqual(APPENDED);
  });

  it('[U9] a fault is logged there, and told as internal', async () => {
    const publications = { publish: () => Promise.reject(new Error('bug')) };
    const link = new LoopedLink();
    const server = new ProducerRpcServer({ link, publications, logger: silentLogger });
    const reply = await link.request(APPEND_SUBJECT, encodeAppendRequest(PUBLICATION));
    expect(() => decodeAppendReply(reply)).toThrow(
      expect.objectContaining({ code: 'internal', message: 'internal error' }),
    );
    await server.stop(1_000);
  });
});
