/** Publications at the edge: what is let through, in which order, and what is said of it. The producer is a double. */
import { describe, expect, it } from 'vitest';
import { EdgeCounters } from '../../services/edge/counters.js';
import { plain } from '../../services/edge/protocols/plain.js';
import type { Command } from '../../services/edge/protocols/protocol.js';
import { Publishing } from '../../services/edge/publishing.js';
import type { Appended } from '../../services/log/log.js';
import type { Publication, Publisher } from '../../services/producer/contract.js';
import { RevcastError } from '../../services/shared/errors.js';
import { silentLogger } from '../../services/shared/logger.js';
import { defaultEdgeSettings } from '../support/edge-parts.js';
import { ManualClock, settle } from '../support/manual-clock.js';

const APPENDED: Appended = { epoch: 'e', rev: 1, firstRev: 1, tag: '0000000a', seq: 1, time: 1, duplicate: false };
const DATA = Buffer.from('1');

interface Asked {
  readonly publication: Publication;
  readonly withinMs: number;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
}

/** Answers when the test does. */
class HeldPublisher implements Publisher {
  readonly asked: Asked[] = [];

  publish(publication: Publication, withinMs: number): Promise<Appended> {
    return new Promise((resolve, reject) => {
      this.asked.push({ publication, withinMs, resolve, reject });
    });
  }
}

function publishingWith(settings: Partial<typeof defaultEdgeSettings> = {}) {
  const publisher = new HeldPublisher();
  const clock = new ManualClock();
  const counters = new EdgeCounters();
  const publishing = new Publishing({
    publisher,
    settings: { ...defaultEdgeSettings, publishRooms: 'doc-*,one', ...settings },
    clock,
    logger: silentLogger,
    counters,
  });
  return { publisher, clock, counters, publishing };
}

function ask(publishing: Publishing, connection: object, room = 'one', key?: string): Promise<unknown> {
  const asked = { room, data: DATA, ...(key === undefined ? {} : { key }) };
  return publishing.publish(connection, asked).catch((error: unknown) => error);
}

function parse(text: string): Command {
  return plain.parse(new Uint8Array(Buffer.from(text)).buffer, false);
}

function parsePublish(params: string): Command {
  return parse(`{"id":1,"method":"publish","params":${params}}`);
}

describe('which rooms may be published to', () => {
  it('[U2] those that the configuration names, exactly or by their beginning; no others', async () => {
    const { publishing, publisher } = publishingWith();
    for (const room of ['doc-1', 'doc-', 'one']) void ask(publishing, {}, room);
    expect(publisher.asked.map(({ publication }) => publication.room)).toEqual(['doc-1', 'doc-', 'one']);
    for (const room of ['one2', 'On', 'doc', 'other', '*']) {
      expect(await ask(publishing, {}, room)).toMatchObject({ code: 'forbidden', retryable: false });
    }
    expect(publisher.asked).toHaveLength(3);
  });

  it('[U2] none by default, and none without a producer', async () => {
    const closed = publishingWith({ publishRooms: defaultEdgeSettings.publishRooms });
    expect(await ask(closed.publishing, {})).toMatchObject({ code: 'forbidden' });
    const { clock, counters } = closed;
    const settings = { ...defaultEdgeSettings, publishRooms: '*' };
    const alone = new Publishing({ settings, clock, counters, logger: silentLogger });
    expect(await ask(alone, {})).toMatchObject({ code: 'forbidden' });
  });
});

describe('order', () => {
  it('[U5] one connection, one room: the next goes when the one before has ended, however it ended', async () => {
    const { publishing, publisher } = publishingWith();
    const connection = {};
    const answers = ['a', 'b', 'c'].map((key) => ask(publishing, connection, 'one', key));
    await settle();
    expect(publisher.asked.map(({ publication }) => publication.key)).toEqual(['a']);
    publisher.asked[0]?.reject(new RevcastError('conflict', 'no'));
    await settle();
    expect(publisher.asked.map(({ publication }) => publication.key)).toEqual(['a', 'b']);
    publisher.asked[1]?.resolve(APPENDED);
    await settle();
    publisher.asked[2]?.resolve({ ...APPENDED, rev: 2 });
    expect(await Promise.all(answers)).toMatchObject([{ code: 'conflict' }, { rev: 1 }, { rev: 2 }]);
  });

  it('[U5] other rooms and other connections do not wait', async () => {
    const { publishing, publisher } = publishingWith();
    const connection = {};
    void ask(publishing, connection, 'one');
    void ask(publishing, connection, 'doc-1');
    void ask(publishing, {}, 'one');
    await settle();
    expect(publisher.asked).toHaveLength(3);
  });

  it('[U7] time spent waiting for a turn counts: then nothing was sent, and that is said', async () => {
    const { publishing, publisher, clock } = publishingWith({ publishTimeoutMs: 1_000 });
    const connection = {};
    const first = ask(publishing, connection);
    const second = ask(publishing, connection);
    expect(publisher.asked[0]?.withinMs).toBe(1_000);
    clock.skip(1_000);
    publisher.asked[0]?.reject(new RevcastError('outcome_unknown', 'late'));
    expect(await first).toMatchObject({ code: 'outcome_unknown' });
    expect(await second).toMatchObject({ code: 'log_unavailable' });
    expect(publisher.asked).toHaveLength(1);
  });
});

describe('keys', () => {
  it('[U6] each publication goes with a key: the client’s, or one of its own', async () => {
    const { publishing, publisher } = publishingWith();
    for (const key of ['mine', undefined, undefined]) void ask(publishing, {}, 'one', key);
    await settle();
    const keys = publisher.asked.map(({ publication }) => publication.key);
    expect(keys[0]).toBe('mine');
    expect(keys.slice(1).every((key) => /^[\w-]{22}$/u.test(key))).toBe(true);
    expect(new Set(keys).size).toBe(3);
  });

  it('[U4] a duplicate is told to who gave the key; an earlier try of the edge is none', async () => {
    const { publishing, publisher } = publishingWith();
    const answers = ['mine', undefined].map((key) => ask(publishing, {}, 'one', key));
    for (const { resolve } of publisher.asked) resolve({ ...APPENDED, duplicate: true });
    expect(await Promise.all(answers)).toMatchObject([{ duplicate: true }, { duplicate: false }]);
  });

  it('[U7] an open outcome is told with the key that makes a retry safe', async () => {
    const { publishing, publisher } = publishingWith();
    const answers = ['mine', undefined].map((key) => ask(publishing, {}, 'one', key));
    for (const { reject } of publisher.asked) reject(new RevcastError('outcome_unknown', 'who knows'));
    const told = await Promise.all(answers);
    const keys = publisher.asked.map(({ publication }) => publication.key);
    expect(told).toMatchObject(
      keys.map((key) => ({ code: 'outcome_unknown', retryable: true, details: { outcome: 'unknown', key } })),
    );
  });
});

describe('bounds', () => {
  it('[U8] of a connection: beyond it overloaded, and room again when one has ended', async () => {
    const { publishing, publisher, counters } = publishingWith({ publishPerSocket: 2 });
    const connection = {};
    const first = ask(publishing, connection, 'one');
    void ask(publishing, connection, 'doc-1');
    expect(await ask(publishing, connection, 'doc-2')).toMatchObject({ code: 'overloaded', retryable: true });
    void ask(publishing, {}, 'doc-2');
    expect(publisher.asked).toHaveLength(3);
    publisher.asked[0]?.resolve(APPENDED);
    await first;
    void ask(publishing, connection, 'doc-2');
    expect(publisher.asked).toHaveLength(4);
    expect(counters).toMatchObject({ publishes: 1, publishesFailed: 0 });
  });

  it('[U8] of the edge', async () => {
    const { publishing, publisher } = publishingWith({ publishMax: 2 });
    void ask(publishing, {});
    const second = ask(publishing, {});
    expect(await ask(publishing, {})).toMatchObject({ code: 'overloaded' });
    publisher.asked[1]?.reject(new RevcastError('conflict', 'no'));
    await second;
    void ask(publishing, {});
    expect(publisher.asked).toHaveLength(3);
  });

  it('[U10] a connection that is about to be closed takes no more, and waits for what it has under way', async () => {
    const { publishing, publisher } = publishingWith();
    const connection = {};
    const answers = [ask(publishing, connection), ask(publishing, connection)];
    let finished = false;
    const finish = publishing.finish(connection)?.then(() => {
      finished = true;
    });
    expect(await ask(publishing, connection)).toMatchObject({ code: 'shutting_down', retryable: true });
    publisher.asked[0]?.resolve(APPENDED);
    await settle();
    expect(finished).toBe(false);
    publisher.asked[1]?.resolve({ ...APPENDED, rev: 2 });
    await finish;
    expect(await Promise.all(answers)).toMatchObject([{ rev: 1 }, { rev: 2 }]);
  });

  it('[U10] what has no answer after half the time of a close is told to be unknown, with its key, and goes on', async () => {
    const { publishing, publisher, clock, counters } = publishingWith({ closeTimeoutMs: 2_000 });
    const connection = {};
    const answers = [ask(publishing, connection, 'one', 'k1'), ask(publishing, connection, 'one')];
    let finished = false;
    const finish = publishing.finish(connection)?.then(() => {
      finished = true;
    });
    await clock.advance(990);
    expect(finished).toBe(false);
    await clock.advance(20);
    await finish;
    const unknown = { code: 'outcome_unknown', retryable: true };
    expect(await Promise.all(answers)).toMatchObject([
      { ...unknown, details: { outcome: 'unknown', key: 'k1' } },
      { ...unknown, details: { outcome: 'unknown', key: expect.stringMatching(/^[\w-]{22}$/u) as string } },
    ]);
    publisher.asked[0]?.resolve(APPENDED);
    await settle();
    publisher.asked[1]?.resolve({ ...APPENDED, rev: 2 });
    await settle();
    expect(counters.publishes).toBe(2);
  });

  it('[U10] one that has nothing under way has not to wait, and others go on', async () => {
    const { publishing, publisher } = publishingWith();
    expect(publishing.finish({})).toBeUndefined();
    const other = ask(publishing, {});
    publisher.asked[0]?.resolve(APPENDED);
    expect(await other).toEqual(APPENDED);
  });
});

describe('the request', () => {
  it('[U1] names room and data, and may name expectedRev and key', () => {
    expect(parsePublish('{"room":"Cafe\\u0301","data":{"n":1},"expectedRev":0,"key":"k"}')).toEqual({
      kind: 'publish',
      id: '1',
      publication: { room: 'Café', data: Buffer.from('{"n":1}'), expectedRev: 0, key: 'k' },
    });
    expect(parsePublish('{"room":"a","data":null}')).toMatchObject({ publication: { data: Buffer.from('null') } });
  });

  const AS_WRITTEN = [
    '1.0',
    '1e400',
    '-0',
    '12345678901234567890',
    '"\\u00e9\\/"',
    '{"a":1,"a":2}',
    '[1 , { } ]',
    '"}\\""',
  ];
  it.each(AS_WRITTEN)('[U3] takes data as it was written: %s', (data) => {
    for (const params of [`{"room":"a","data":${data}}`, `{ "data" :\t${data}\n, "key" : "k", "room":"a" }`]) {
      const command = parsePublish(params);
      expect(command.kind === 'publish' && Buffer.from(command.publication.data).toString()).toBe(data);
    }
  });

  it('[U3] the data is the request’s own, wherever else such a name stands', () => {
    const text =
      '{"params":{"data":"no"},"data":"no","id":1,"method":"publish",' +
      '"params":{"data":"no","room":"a","da\\u0074a":{"data":"no","params":{"data":"no"}},"key":"data"}}';
    const command = parse(text);
    expect(command.kind === 'publish' && Buffer.from(command.publication.data).toString()).toBe(
      '{"data":"no","params":{"data":"no"}}',
    );
  });

  const BAD: [string, string, string, RegExp][] = [
    ['no parameters', 'null', 'invalid_request', /^params/u],
    ['no room', '{"data":1}', 'invalid_request', /^params\.room/u],
    ['no data', '{"room":"a"}', 'invalid_request', /^params\.data/u],
    ['no room name', '{"room":"","data":1}', 'invalid_room', /empty/u],
    ['an author', '{"room":"a","data":1,"author":"me"}', 'invalid_request', /author/u],
    ['a misspelled property', '{"room":"a","data":1,"expectedrev":1}', 'invalid_request', /expectedrev/u],
    ['expectedRev below 0', '{"room":"a","data":1,"expectedRev":-1}', 'invalid_request', /^params\.expectedRev/u],
    [
      'expectedRev with a fraction',
      '{"room":"a","data":1,"expectedRev":1.5}',
      'invalid_request',
      /^params\.expectedRev/u,
    ],
    ['expectedRev as text', '{"room":"a","data":1,"expectedRev":"1"}', 'invalid_request', /^params\.expectedRev/u],
    ['a key that is a number', '{"room":"a","data":1,"key":1}', 'invalid_request', /^params\.key/u],
  ];
  it.each(BAD)('[U4] is refused with its id: %s', (_what, params, code, text) => {
    const command = parsePublish(params);
    expect(command).toMatchObject({ kind: 'refused', id: '1', error: { code } });
    expect(command.kind === 'refused' && command.error.message).toMatch(text);
  });
});
