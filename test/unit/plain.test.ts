import { describe, expect, it } from 'vitest';
import { plain } from '../../services/edge/protocols/plain.js';
import type { Command } from '../../services/edge/protocols/protocol.js';
import { slotsOf, type Slot } from '../../services/edge/slot.js';
import { RevcastError } from '../../services/shared/errors.js';
import { rawEntry } from '../contract/harness.js';
import { Random, testSeed } from '../support/random.js';

function bufferOf(message: string | Uint8Array): ArrayBuffer {
  const bytes = Buffer.from(message as Uint8Array);
  return new Uint8Array(bytes).buffer;
}

function parse(message: string | Uint8Array, isBinary = false): Command {
  return plain.parse(bufferOf(message), isBinary);
}

function request(fields: unknown): string {
  return JSON.stringify(fields);
}

/** A message on the wire, uncompressed. */
function message(id: string, batch: boolean, body: Buffer): string {
  return plain.first.toString() + plain.own(id, batch) + body.toString();
}

/** A request for room doc-1 with more or other parameters. */
function subscribe(params: object): string {
  return request({ id: '1', method: 'subscribe', params: { room: 'doc-1', ...params } });
}

const LONG_ID = 'i'.repeat(129);
const LONG_ROOM = 'ö'.repeat(101);
const DECOMPOSED = 'Cafe\u0301';

describe('what is understood', () => {
  const SUBSCRIBE = { kind: 'subscribe', id: '"1"', room: 'doc-1', since: 'now', batch: false };
  const POSITION = { epoch: 'e1', rev: 41 };
  const TAGGED = { ...POSITION, tag: '0123abcd' };
  const UNDERSTOOD: [string, string, object][] = [
    ['subscribe from now', subscribe({}), SUBSCRIBE],
    ['subscribe from the first kept', subscribe({ since: 0 }), { ...SUBSCRIBE, since: 'first' }],
    ['subscribe after a position', subscribe({ since: POSITION }), { ...SUBSCRIBE, since: POSITION }],
    ['subscribe after a position with its tag', subscribe({ since: TAGGED }), { ...SUBSCRIBE, since: TAGGED }],
    ['an empty tag as none', subscribe({ since: { ...POSITION, tag: '' } }), { ...SUBSCRIBE, since: POSITION }],
    ['revision 0', subscribe({ since: { epoch: '', rev: 0 } }), { ...SUBSCRIBE, since: { epoch: '', rev: 0 } }],
    ['batches', subscribe({ batch: true }), { ...SUBSCRIBE, batch: true }],
    ['a room in normal form C', subscribe({ room: DECOMPOSED }), { ...SUBSCRIBE, room: 'Café' }],
    [
      'unsubscribe',
      request({ id: 7, method: 'unsubscribe', params: { room: 'a' } }),
      { kind: 'unsubscribe', id: '7', room: 'a' },
    ],
    ['ping', request({ id: 'x', method: 'ping' }), { kind: 'ping', id: '"x"' }],
    ['ping with parameters', request({ id: 'x', method: 'ping', params: {} }), { kind: 'ping', id: '"x"' }],
    ['a number as id', request({ id: -12, method: 'ping' }), { kind: 'ping', id: '-12' }],
    ['an empty id', request({ id: '', method: 'ping' }), { kind: 'ping', id: '""' }],
    [
      'an id of 128 bytes',
      request({ id: 'é'.repeat(64), method: 'ping' }),
      { kind: 'ping', id: `"${'é'.repeat(64)}"` },
    ],
    ['white space around it', `\n { "id" : "1", "method" : "ping" } \t`, { kind: 'ping', id: '"1"' }],
  ];
  it.each(UNDERSTOOD)('[W1] %s', (_what, message, command) => {
    expect(parse(message)).toEqual(command);
  });

  it('[W1] an id is given back as the same string, whatever is in it', () => {
    for (const id of ['"', '\\', '\u0000', '\ud800', '😀', '</script>', '\u2028', 'null']) {
      const command = parse(request({ id, method: 'ping' }));
      expect(JSON.parse(command.id)).toBe(id);
      expect(JSON.parse(plain.pong(command.id))).toEqual({ id, data: {} });
    }
  });
});

describe('what is refused', () => {
  const REFUSED: [string, string | Uint8Array, string, string, RegExp][] = [
    ['nothing', '', 'null', 'invalid_json', /not JSON/u],
    ['half a message', '{"id":"1"', 'null', 'invalid_json', /not JSON/u],
    ['text that is not JSON', 'hello', 'null', 'invalid_json', /not JSON/u],
    ['two messages in one', '{"id":1,"method":"ping"}{}', 'null', 'invalid_json', /not JSON/u],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'null', 'invalid_json', /not JSON/u],
    ['an array', '[]', 'null', 'invalid_request', /object/u],
    ['null', 'null', 'null', 'invalid_request', /object/u],
    ['a number', '1', 'null', 'invalid_request', /object/u],
    ['no id', request({ method: 'ping' }), 'null', 'invalid_request', /^id must/u],
    ['an id that is an object', request({ id: {}, method: 'ping' }), 'null', 'invalid_request', /^id must/u],
    ['an id that is a fraction', request({ id: 1.5, method: 'ping' }), 'null', 'invalid_request', /^id must/u],
    ['an id that is null', request({ id: null, method: 'ping' }), 'null', 'invalid_request', /^id must/u],
    [
      'a number too large to be kept',
      '{"id":9007199254740993,"method":"ping"}',
      'null',
      'invalid_request',
      /^id must/u,
    ],
    ['an over-long id', request({ id: LONG_ID, method: 'ping' }), 'null', 'invalid_request', /128 bytes/u],
    ['no method', request({ id: '1' }), '"1"', 'invalid_request', /^method must/u],
    ['a method that is a number', request({ id: '1', method: 1 }), '"1"', 'invalid_request', /^method must/u],
    ['an unknown method', request({ id: '1', method: 'history' }), '"1"', 'unknown_method', /"history".*subscribe/u],
    ['a method of the prototype', request({ id: '1', method: '__proto__' }), '"1"', 'unknown_method', /known/u],
    ['constructor as a method', request({ id: '1', method: 'constructor' }), '"1"', 'unknown_method', /known/u],
    ['an over-long method', request({ id: '1', method: 'm'.repeat(10_000) }), '"1"', 'unknown_method', /^.{1,200}$/u],
    ['no parameters', request({ id: '1', method: 'subscribe' }), '"1"', 'invalid_request', /^params: .*object/u],
    ['no room', request({ id: '1', method: 'subscribe', params: {} }), '"1"', 'invalid_request', /^params\.room: /u],
    ['a room that is a number', subscribe({ room: 1 }), '"1"', 'invalid_request', /^params\.room: .*string/u],
    ['an empty room', subscribe({ room: '' }), '"1"', 'invalid_room', /empty/u],
    ['an over-long room', subscribe({ room: LONG_ROOM }), '"1"', 'invalid_room', /202 bytes, at most 200/u],
    ['a room with a control character', subscribe({ room: 'a\u0007' }), '"1"', 'invalid_room', /control/u],
    ['a room with half a character', subscribe({ room: '\ud800' }), '"1"', 'invalid_room', /Unicode/u],
    ['an unknown parameter', subscribe({ sinse: 0 }), '"1"', 'invalid_request', /sinse/u],
    ['since below 0', subscribe({ since: -1 }), '"1"', 'invalid_request', /^params\.since.*0.*position/u],
    ['since as text', subscribe({ since: '0' }), '"1"', 'invalid_request', /^params\.since.*0.*position/u],
    ['since null', subscribe({ since: null }), '"1"', 'invalid_request', /^params\.since.*0.*position/u],
    ['since without rev', subscribe({ since: { epoch: 'e' } }), '"1"', 'invalid_request', /^params\.since\.rev/u],
    ['a negative rev', subscribe({ since: { epoch: 'e', rev: -1 } }), '"1"', 'invalid_request', /^params\.since\.rev/u],
    [
      'a rev that is a fraction',
      subscribe({ since: { epoch: 'e', rev: 1.5 } }),
      '"1"',
      'invalid_request',
      /^params\.since\.rev/u,
    ],
    [
      'a rev too large',
      subscribe({ since: { epoch: 'e', rev: 2 ** 53 } }),
      '"1"',
      'invalid_request',
      /^params\.since\.rev/u,
    ],
    [
      'an epoch that is a number',
      subscribe({ since: { epoch: 1, rev: 1 } }),
      '"1"',
      'invalid_request',
      /^params\.since\.epoch/u,
    ],
    [
      'an over-long epoch',
      subscribe({ since: { epoch: 'e'.repeat(65), rev: 1 } }),
      '"1"',
      'invalid_request',
      /^params\.since\.epoch/u,
    ],
    [
      'a tag that is none',
      subscribe({ since: { epoch: 'e', rev: 1, tag: 'ABCDEF01' } }),
      '"1"',
      'invalid_request',
      /^params\.since\.tag.*hex/u,
    ],
    [
      'more in a position',
      subscribe({ since: { epoch: 'e', rev: 1, seq: 1 } }),
      '"1"',
      'invalid_request',
      /^params\.since.*seq/u,
    ],
    ['batch as text', subscribe({ batch: 'true' }), '"1"', 'invalid_request', /^params\.batch/u],
    ['unsubscribe without a room', request({ id: 2, method: 'unsubscribe' }), '2', 'invalid_request', /^params/u],
  ];
  it.each(REFUSED)('[W6] %s', (_what, message, id, code, text) => {
    const command = parse(message);
    if (command.kind !== 'refused') throw new Error(`understood as ${JSON.stringify(command)}`);
    expect({ id: command.id, code: command.error.code }).toEqual({ id, code });
    expect(command.error.message).toMatch(text);
    expect(JSON.parse(plain.refusal(command.id, command.error))).toEqual({
      id: JSON.parse(id) as unknown,
      data: { error: { code, message: command.error.message } },
    });
  });

  it('[W6] binary where text is expected', () => {
    expect(parse(request({ id: '1', method: 'ping' }), true)).toMatchObject({
      kind: 'refused',
      id: 'null',
      error: { code: 'binary_unsupported' },
    });
  });

  const seed = testSeed();
  it(`[W6] anything at all: never throws (seed ${seed})`, () => {
    const random = new Random(seed);
    const sound = [subscribe({ since: { epoch: 'e', rev: 3, tag: '0123abcd' } }), request({ id: 1, method: 'ping' })];
    for (let i = 0; i < 3_000; i += 1) {
      const bytes = Buffer.from(random.pick([sound[0] ?? '', sound[1] ?? '']));
      for (let edits = random.whole(0, 4); edits > 0; edits -= 1) {
        bytes[random.whole(0, bytes.length - 1)] = random.whole(0, 255);
      }
      const { kind, id } = parse(bytes.subarray(0, random.chance(0.2) ? random.whole(0, bytes.length) : bytes.length));
      expect(['subscribe', 'ping', 'refused', 'unsubscribe']).toContain(kind);
      expect(() => JSON.parse(id) as unknown).not.toThrow();
    }
  });
});

describe('what is said', () => {
  const entry = rawEntry('doc "1"', {
    tag: '0123abcd',
    firstRev: 41,
    previousTime: 900,
    revisions: [
      { time: 1_000, author: 'Zoë', data: Buffer.from('{"t":"é😀\\u0000","n":1.50}') },
      { time: 1_007, data: Buffer.from('null') },
    ],
  });
  const [first, second] = slotsOf({ ...entry, seq: 1 }) as [Slot, Slot];

  it('[W2] a revision under the id of its subscription, its data byte for byte', () => {
    expect(message('"7"', false, plain.single(first))).toBe(
      '{"id":"7","data":{"room":"doc \\"1\\"","rev":41,"tag":"0123abcd","time":1000,"timeDelta":100,"author":"Zoë","data":{"t":"é😀\\u0000","n":1.50}}}',
    );
    expect(message('7', false, plain.single(second))).toBe(
      '{"id":7,"data":{"room":"doc \\"1\\"","rev":42,"tag":"0123abcd","time":1007,"timeDelta":7,"data":null}}',
    );
  });

  it('[W2] the first revision of a room has no timeDelta', () => {
    const [slot] = slotsOf({ ...entry, firstRev: 1, previousTime: 0, seq: 1 }) as [Slot];
    expect(plain.single(slot).toString()).toContain('"rev":1,"tag":"0123abcd","time":1000,"timeDelta":null');
  });

  it('[W3] several revisions in one message: an array of what single messages carry', () => {
    const [one, two] = [first, second].map((slot) => plain.single(slot).toString().slice(0, -1));
    expect(message('"7"', true, plain.batch([first, second]))).toBe(`{"id":"7","data":[${one},${two}]}`);
    expect(message('"7"', true, plain.batch([second]))).toBe(`{"id":"7","data":[${two}]}`);
  });

  it('[W1] answers', () => {
    expect(plain.subscribed('"1"', 'a', { epoch: 'e', rev: 2, tag: '0123abcd' })).toBe(
      '{"id":"1","data":{"subscribed":true,"room":"a","epoch":"e","rev":2,"tag":"0123abcd"}}',
    );
    expect(plain.subscribed('"1"', 'a', { epoch: '', rev: 0, tag: '' })).toBe(
      '{"id":"1","data":{"subscribed":true,"room":"a","epoch":"","rev":0}}',
    );
    expect(plain.unsubscribed('2', 'a')).toBe('{"id":2,"data":{"subscribed":false,"room":"a"}}');
    expect(plain.pong('3')).toBe('{"id":3,"data":{}}');
    const error = new RevcastError('epoch_changed', 'gone', { details: { head: { epoch: 'e', rev: 1, tag: 't' } } });
    expect(JSON.parse(plain.refusal('4', error))).toEqual({
      id: 4,
      data: { error: { code: 'epoch_changed', message: 'gone', head: { epoch: 'e', rev: 1, tag: 't' } } },
    });
  });
});
