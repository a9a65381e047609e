import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StoredRevision } from '../../services/log/log.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError } from '../../services/shared/errors.js';
import { producerApi, type Answer, type Publication } from '../support/producer-api.js';

async function stored(log: MemoryLog, room = 'doc-1'): Promise<StoredRevision[]> {
  const range = await log.range(room, 'first', { limit: 10_000, maxBytes: Number.MAX_SAFE_INTEGER });
  return range.kind === 'entries' ? range.entries.flatMap((entry) => entry.revisions) : [];
}

async function storedData(log: MemoryLog, room?: string): Promise<string[]> {
  return (await stored(log, room)).map(({ data }) => Buffer.from(data).toString());
}

const memoryLog = () => new MemoryLog({ clock: systemClock });

/** A log whose appends do what the test says. */
const logThat = (append: MemoryLog['append']): Pick<MemoryLog, 'append' | 'status'> => ({
  append,
  status: () => ({ state: 'ready' }),
});

describe('publishing over HTTP', () => {
  it('[P1] answers 201 with the position of what was stored', async () => {
    const log = memoryLog();
    const api = await producerApi({ log });
    const before = Date.now();
    const first = await api.publish({ body: { data: { a: 1 }, author: 'ada' } });
    expect(first.status).toBe(201);
    expect(first.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(first.json).toMatchObject({ room: 'doc-1', rev: 1, firstRev: 1, duplicate: false });
    expect(first.json['time']).toBeGreaterThanOrEqual(before);
    const second = await api.publish({ body: { revisions: [{ data: 2, author: 'writer-2' }, { data: null }] } });
    expect(second.json).toMatchObject({ rev: 3, firstRev: 2, epoch: first.json['epoch'] });
    expect((await stored(log)).map(({ data, author }) => [Buffer.from(data).toString(), author])).toEqual([
      ['{"a":1}', 'ada'],
      ['2', 'writer-2'],
      ['null', undefined],
    ]);
  });

  it('[P1] takes any room name as one percent-encoded path segment', async () => {
    const api = await producerApi();
    const names = ['a/b', 'é', '日本', '100%', '%2F', '%252F', 'a b+c?d#e', '..a', '😀', "a'();:@&=$,[]"];
    for (const room of names) expect((await api.publish({ room, body: { data: 1 } })).json).toMatchObject({ room });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), async (name) => {
        const room = name.normalize('NFC').replaceAll(/\p{Cc}/gu, '_');
        if (room === '.' || room === '..') return;
        expect((await api.publish({ room, body: { data: 1 } })).json).toMatchObject({ room });
      }),
      { numRuns: 200 },
    );
  });

  it('[P1] brings two spellings of a room name to one room', async () => {
    const api = await producerApi();
    await api.publish({ room: 'caf\u00e9', body: { data: 1 } });
    expect((await api.publish({ room: 'cafe\u0301', body: { data: 2 } })).json).toMatchObject({
      room: 'caf\u00e9',
      rev: 2,
    });
  });

  it('[P8] stores data as the publisher wrote it, without white space between tokens', async () => {
    const log = memoryLog();
    const api = await producerApi({ log });
    const data = '{ "n" : 12345678901234567890.10, "n": 1E5,\n"__proto__" : {}, "s" : "\\u0041 \\ud800  é😀\u2028" }';
    const tight = '{"n":12345678901234567890.10,"n":1E5,"__proto__":{},"s":"\\u0041 \\ud800  é😀\u2028"}';
    await api.publish({ raw: ` { "data" : ${data} } ` });
    await api.publish({ raw: `{"revisions":[ {"author":"a", "data":\t${data}\r\n} , {"data":[ 1 , 2 ]}]}` });
    await api.publish({ raw: `{"data":1,"d\\u0061ta": ${data} }` });
    expect(await storedData(log)).toEqual([tight, tight, '[1,2]', tight]);
  });

  it('[P1] passes author and key on as text, not as written', async () => {
    const log = memoryLog();
    const api = await producerApi({ log });
    await api.publish({ raw: '{"data":1,"author":"\\u00e9\\ud83d\\ude00","key":"\\u006b"}' });
    expect(await stored(log)).toMatchObject([{ author: 'é😀', key: 'k' }]);
  });
});

describe('an idempotency key', () => {
  it('[P7] answers the first position with duplicate: true, and stores nothing', async () => {
    const log = memoryLog();
    const api = await producerApi({ log });
    const first = await api.publish({ body: { revisions: [{ data: 1 }, { data: 2 }], key: 'k' } });
    await api.publish({ body: { data: 3 } });
    for (const publication of [
      { body: { data: 'other', key: 'k' } },
      { body: { data: 'other' }, headers: { 'Idempotency-Key': 'k' } },
      { body: { data: 'other', key: 'k' }, headers: { 'idempotency-key': 'k' } },
    ]) {
      const again = await api.publish(publication);
      expect([again.status, again.json]).toEqual([201, { ...first.json, duplicate: true }]);
    }
    expect(await storedData(log)).toEqual(['1', '2', '3']);
  });

  it('[P7] is UTF-8 in the header, the same as in the body', async () => {
    const api = await producerApi();
    await api.publish({ body: { data: 1, key: 'clé😀' } });
    const header = Buffer.from('clé😀').toString('latin1');
    const again = await api.publish({ body: { data: 1 }, headers: { 'idempotency-key': header } });
    expect(again.json).toMatchObject({ rev: 1, duplicate: true });
  });

  it('[P7] of another room is another key', async () => {
    const api = await producerApi();
    await api.publish({ room: 'a', body: { data: 1, key: 'k' } });
    expect((await api.publish({ room: 'b', body: { data: 1, key: 'k' } })).json).toMatchObject({ duplicate: false });
  });
});

const over = 'é'.repeat(101);

describe('bad requests', () => {
  it.each<[string, Publication, string, string]>([
    ['no data', { body: {} }, 'data', 'data is missing'],
    ['no object', { body: [1] }, 'body', 'body must be an object, not an array'],
    ['a null body', { raw: 'null' }, 'body', 'body must be an object, not null'],
    ['author of another type', { body: { data: 1, author: 5 } }, 'author', 'author must be a string, not a number'],
    ['an empty author', { body: { data: 1, author: '' } }, 'author', 'author must not be empty'],
    ['a null author', { body: { data: 1, author: null } }, 'author', 'author must be a string, not null'],
    ['a long author', { body: { data: 1, author: over } }, 'author', 'author has 202 bytes, at most 200 are allowed'],
    [
      'an author that is not Unicode',
      { raw: '{"data":1,"author":"\\ud800"}' },
      'author',
      'author is not well-formed Unicode (a lone surrogate)',
    ],
    ['key of another type', { body: { data: 1, key: {} } }, 'key', 'key must be a string, not an object'],
    ['a long key', { body: { data: 1, key: over } }, 'key', 'key has 202 bytes, at most 200 are allowed'],
    ['an empty key', { body: { data: 1, key: '' } }, 'key', 'key must not be empty'],
    [
      'a key that differs from the header',
      { body: { data: 1, key: 'a' }, headers: { 'idempotency-key': 'b' } },
      'key',
      'key differs from the Idempotency-Key header',
    ],
    [
      'an empty key header',
      { body: { data: 1 }, headers: { 'idempotency-key': '' } },
      'Idempotency-Key',
      'Idempotency-Key must not be empty',
    ],
    [
      'a key header that is not UTF-8',
      { body: { data: 1 }, headers: { 'idempotency-key': '\xff' } },
      'Idempotency-Key',
      'Idempotency-Key is not valid UTF-8',
    ],
    [
      'expectedRev of another type',
      { body: { data: 1, expectedRev: '1' } },
      'expectedRev',
      'expectedRev must be a number, not a string',
    ],
    [
      'expectedRev below 0',
      { body: { data: 1, expectedRev: -1 } },
      'expectedRev',
      'expectedRev must be a whole number, 0 or above',
    ],
    [
      'expectedRev with a fraction',
      { body: { data: 1, expectedRev: 1.5 } },
      'expectedRev',
      'expectedRev must be a whole number, 0 or above',
    ],
    [
      'expectedRev beyond exact numbers',
      { raw: '{"data":1,"expectedRev":9007199254740993}' },
      'expectedRev',
      'expectedRev must be a whole number, 0 or above',
    ],
    [
      'unknown properties',
      { body: { data: 1, expectedrev: 1, 'a b': 2 } },
      'expectedrev',
      'body has unknown properties: "expectedrev", "a b"; known here: data, author, key, expectedRev',
    ],
    [
      'a __proto__ property',
      { raw: '{"data":1,"__proto__":{"author":"x"}}' },
      '__proto__',
      'body has unknown properties: "__proto__"; known here: data, author, key, expectedRev',
    ],
    [
      'data beside revisions',
      { body: { revisions: [{ data: 1 }], data: 1 } },
      'data',
      'body has unknown properties: "data"; known here: revisions, key, expectedRev',
    ],
    ['no revisions', { body: { revisions: [] } }, 'revisions', 'revisions must not be empty'],
    ['revisions no array', { body: { revisions: {} } }, 'revisions', 'revisions must be an array, not an object'],
    [
      'a revision no object',
      { body: { revisions: [{ data: 1 }, 5] } },
      'revisions[1]',
      'revisions[1] must be an object, not a number',
    ],
    [
      'a revision without data',
      { body: { revisions: [{ data: 1 }, { data: 1 }, { author: 'a' }] } },
      'revisions[2].data',
      'revisions[2].data is missing',
    ],
    [
      'a long author in a list',
      { body: { revisions: [{ data: 1 }, { data: 1, author: over }] } },
      'revisions[1].author',
      'revisions[1].author has 202 bytes, at most 200 are allowed',
    ],
    [
      'a key in a revision',
      { body: { revisions: [{ data: 1, key: 'k' }] } },
      'revisions[0].key',
      'revisions[0].key is not allowed: an idempotency key belongs to the whole request',
    ],
    [
      'unknown properties of a revision',
      { body: { revisions: [{ data: 1, 'a-b': 1 }] } },
      'revisions[0]["a-b"]',
      'revisions[0] has unknown properties: "a-b"; known here: data, author',
    ],
    [
      'a query parameter',
      { body: { data: 1 }, query: '?expectedRev=3' },
      'query parameter "expectedRev"',
      'query parameter "expectedRev" is not known here: the body says everything',
    ],
  ])('[P2] are refused with what and where, and nothing is stored: %s', async (_name, publication, where, message) => {
    const log = memoryLog();
    const api = await producerApi({ log });
    const { status, error } = await api.publish(publication);
    expect([status, error]).toEqual([400, { code: 'invalid_request', message, where }]);
    expect(await stored(log)).toEqual([]);
  });

  it('[P2] that are not JSON are told where they stop being it', async () => {
    const api = await producerApi();
    const broken = await api.publish({ raw: '{"data":1,\n "author" "a"}' });
    expect([broken.status, broken.error]).toEqual([
      400,
      {
        code: 'invalid_json',
        message: 'not valid JSON: ":" expected, but "\\"" was found at line 2, column 11',
        where: 'line 2, column 11',
        byte: 21,
      },
    ]);
    expect((await api.publish({ raw: '' })).error).toMatchObject({ code: 'invalid_json', byte: 0 });
    const binary = await api.publish({ raw: Buffer.from([0x7b, 0x22, 0xff, 0xfe]) });
    expect([binary.status, binary.error]).toMatchObject([400, { code: 'invalid_json', where: 'byte 2', byte: 2 }]);
  });

  it('[P2] do not name unknown properties without end', async () => {
    const api = await producerApi({ settings: { producerMaxBodyBytes: 100_000 } });
    const names = Array.from({ length: 500 }, (_, i) => [`${i}-${'x'.repeat(100)}`, 1]);
    const { error } = await api.publish({ body: Object.fromEntries(names) });
    expect(String(error['message'])).toMatch(/ and 495 more; known here:/u);
    expect(String(error['message']).length).toBeLessThan(1_000);
  });

  it.each([
    ['an empty room', '', 'the room name is empty'],
    ['an over-long room', encodeURIComponent(over), 'the room name has 202 bytes, at most 200 are allowed'],
    ['a very long room', 'a'.repeat(12_000), 'the room name has 12000 bytes, at most 200 are allowed'],
    ['a control character in the room', 'a%00b', 'the room name has a control character'],
  ])('[P2] %s', async (_name, path, message) => {
    const { status, error } = await (await producerApi()).publish({ path, body: { data: 1 } });
    expect([status, error]).toEqual([400, { code: 'invalid_room', message }]);
  });

  it.each(['%zz', '%', 'a%ff', '%c3%28', '%ed%a0%80'])('[P2] a path that is not percent-encoding: %s', async (path) => {
    const { status, error } = await (await producerApi()).publish({ path, body: { data: 1 } });
    expect([status, error['code']]).toEqual([400, 'invalid_request']);
  });

  it('[P2] a room with a bare slash is no route', async () => {
    const { http } = await producerApi();
    const response = await http.app.inject({ method: 'POST', url: '/v1/rooms/a/b/revisions', payload: {} });
    expect([response.statusCode, response.json()]).toMatchObject([404, { error: { code: 'not_found' } }]);
  });

  it.each<[string, Publication]>([
    ['another media type', { raw: '{"data":1}', headers: { 'content-type': 'text/plain' } }],
    ['a form', { raw: 'data=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ['another charset', { raw: '{"data":1}', headers: { 'content-type': 'application/json; charset=latin1' } }],
    ['a compressed body', { raw: '{"data":1}', headers: { 'content-encoding': 'gzip' } }],
  ])('[P2] of %s are answered 415', async (_name, publication) => {
    const { status, error } = await (await producerApi()).publish(publication);
    expect([status, error['code']]).toEqual([415, 'unsupported_media_type']);
  });

  it('[P2] may name UTF-8 as their charset', async () => {
    const headers = { 'content-type': 'application/json; charset="UTF-8"', 'content-encoding': 'identity' };
    expect((await (await producerApi()).publish({ raw: '{"data":1}', headers })).status).toBe(201);
  });
});

/** JSON text of so many bytes. */
const big = (bytes: number) => 'x'.repeat(bytes - 2);

describe('limits', () => {
  it.each<[string, Publication, Record<string, unknown>]>([
    ['a body', { body: { data: big(2_000) } }, { where: 'body', message: 'the body is larger than 2000 bytes' }],
    [
      'data',
      { body: { data: big(101) } },
      { where: 'data', message: 'data has 101 bytes, at most 100 bytes are allowed' },
    ],
    ['data in a list', { body: { revisions: [{ data: 1 }, { data: big(101) }] } }, { where: 'revisions[1].data' }],
    [
      'a list',
      { body: { revisions: Array.from({ length: 6 }, () => ({ data: 1 })) } },
      { where: 'revisions', message: 'revisions has too many elements, at most 5 are allowed' },
    ],
  ])('[P3] %s beyond them is answered 413, and nothing is stored', async (_name, publication, error) => {
    const log = memoryLog();
    const answer = await (await producerApi({ log })).publish(publication);
    expect([answer.status, answer.error]).toMatchObject([413, { code: 'too_large', ...error }]);
    expect(await stored(log)).toEqual([]);
  });

  it('[P3] are reached without a refusal, and white space between tokens does not count', async () => {
    const api = await producerApi();
    expect((await api.publish({ body: { data: big(100) } })).status).toBe(201);
    expect((await api.publish({ raw: `{"data":[${' '.repeat(500)}1]}` })).status).toBe(201);
    const five = Array.from({ length: 5 }, () => ({ data: 1 }));
    expect((await api.publish({ body: { revisions: five } })).status).toBe(201);
  });

  it('[P3] of the log are answered 413 too', async () => {
    const log = logThat(() => Promise.reject(new RevcastError('too_large', 'does not fit into one entry')));
    expect((await (await producerApi({ log })).publish({ body: { data: 1 } })).status).toBe(413);
  });
});

describe('expectedRev', () => {
  it('[P4] that does not hold is answered 409 with the head', async () => {
    const log = memoryLog();
    const api = await producerApi({ log });
    const { json } = await api.publish({ body: { data: 1, expectedRev: 0 } });
    const conflict = await api.publish({ body: { data: 2, expectedRev: 0 } });
    expect([conflict.status, conflict.error]).toMatchObject([
      409,
      { code: 'conflict', head: { epoch: json['epoch'], rev: 1, tag: json['tag'], time: json['time'] } },
    ]);
    expect((await api.publish({ body: { revisions: [{ data: 2 }], expectedRev: 1 } })).status).toBe(201);
    expect(await storedData(log)).toEqual(['1', '2']);
  });

  it('[P4] above an empty room is answered with an empty head', async () => {
    const conflict = await (await producerApi()).publish({ body: { data: 2, expectedRev: 7 } });
    expect([conflict.status, conflict.error['head']]).toEqual([409, { epoch: '', rev: 0, tag: '', time: 0 }]);
  });

  it('[P4] lets one of many racing requests through', async () => {
    const log = memoryLog();
    const api = await producerApi({ log, limits: { maxInFlight: 100 } });
    await api.publish({ body: { data: 0 } });
    const racing = Array.from({ length: 50 }, (_, i) => api.publish({ body: { data: i, expectedRev: 1 } }));
    const statuses = (await Promise.all(racing)).map((answer) => answer.status).sort((a, b) => a - b);
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 409)]);
    expect((await stored(log)).length).toBe(2);
  });
});

describe('a log that cannot store', () => {
  it.each([
    ['log_unavailable', '2'],
    ['log_full', '30'],
    ['overloaded', '1'],
  ] as const)('[P5] %s is answered 503 with Retry-After', async (code, retryAfter) => {
    const log = logThat(() => Promise.reject(new RevcastError(code, 'why')));
    const { status, headers, error } = await (await producerApi({ log })).publish({ body: { data: 1 } });
    expect([status, headers['retry-after'], error]).toEqual([503, retryAfter, { code, message: 'why' }]);
  });

  it('[P5] with an open outcome says outcome: unknown', async () => {
    const log = logThat(() => Promise.reject(new RevcastError('outcome_unknown', 'no answer')));
    const { status, headers, error } = await (await producerApi({ log })).publish({ body: { data: 1 } });
    expect([status, headers['retry-after']]).toEqual([503, '2']);
    expect(error).toEqual({ code: 'outcome_unknown', message: 'no answer', outcome: 'unknown' });
  });

  it('[P5] with a fault of its own is answered 500 without its text', async () => {
    const log = logThat(() => Promise.reject(new Error('secret')));
    const { status, error } = await (await producerApi({ log })).publish({ body: { data: 1 } });
    expect([status, error]).toEqual([500, { code: 'internal', message: 'internal error' }]);
  });

  it('[P5] is asked again by the next request', async () => {
    const log = memoryLog();
    let fails = 1;
    const flaky = logThat((room, append) => {
      fails -= 1;
      return fails < 0 ? log.append(room, append) : Promise.reject(new RevcastError('log_unavailable', 'down'));
    });
    const api = await producerApi({ log: flaky });
    const answers: Answer[] = [];
    for (let i = 0; i < 3; i += 1) answers.push(await api.publish({ body: { data: 1, key: 'k' } }));
    expect(answers.map(({ status }) => status)).toEqual([503, 201, 201]);
    expect(answers.map(({ json }) => json['duplicate'])).toEqual([undefined, false, true]);
  });
});

describe('a request of several revisions', () => {
  it('[P6] is stored whole or not at all', async () => {
    const log = memoryLog();
    const api = await producerApi({ log, limits: { maxRevisions: 50, maxInFlight: 100 } });
    const batches = Array.from({ length: 20 }, (_, batch) =>
      Array.from({ length: 7 }, (_, i) => ({ data: `${batch}.${i}`, ...(batch % 3 === 0 && i === 6 ? { x: 1 } : {}) })),
    );
    const answers = await Promise.all(batches.map((revisions) => api.publish({ body: { revisions } })));
    expect(answers.map(({ status }) => status)).toEqual(batches.map((_, batch) => (batch % 3 === 0 ? 400 : 201)));
    const data = await storedData(log);
    expect(data.length).toBe(13 * 7);
    answers.forEach(({ json }, batch) => {
      if (batch % 3 === 0) return;
      const firstRev = Number(json['firstRev']);
      const own = data.slice(firstRev - 1, Number(json['rev'])).map((text) => JSON.parse(text) as string);
      expect(own).toEqual(Array.from({ length: 7 }, (_, i) => `${batch}.${i}`));
    });
  });
});
