/**
 * The plain protocol (SPEC.md, W rules): JSON text messages `{id, method, params}` from the client, `{id, data}` to it.
 * A subscription's revisions come under the id of the request that made it.
 *
 * Other protocols of the same form are methods of it: Blockbook's (blockbook.ts), whose subscriptions have an encoding of
 * their own.
 */
import { z } from 'zod';
import { RevcastError } from '../../shared/errors.js';
import { members, wholeValue } from '../../shared/json-text.js';
import { parseRoomName } from '../../shared/room-name.js';
import { revisionJson } from '../../log/revision-json.js';
import type { ClientPosition } from '../../revision/contract.js';
import type { Command, Encoding, Protocol, RequestId, Since } from './protocol.js';

const MAX_ID_BYTES = 128;
const NO_ID = 'null';

const Position = z.strictObject({
  epoch: z.string().max(64),
  rev: z.int().min(0),
  tag: z
    .string()
    .regex(/^([0-9a-f]{8})?$/u, 'must be eight hex digits')
    .optional(),
});
const SubscribeParams = z.strictObject({
  room: z.string(),
  since: z
    .union([z.literal(0), z.literal('snapshot'), Position], 'must be 0, "snapshot" or a position {epoch, rev, tag?}')
    .optional(),
  batch: z.boolean().optional(),
});
const PublishParams = z.strictObject({
  room: z.string(),
  /** Taken from the message's text, see dataOf. */
  data: z.unknown(),
  expectedRev: z.int().min(0).optional(),
  key: z.string().optional(),
});
const RoomParams = z.strictObject({ room: z.string() });

/** A reader of one method's parameters; throws RevcastError or ZodError. `text` is the whole message, as it was written. */
export type Method = (id: RequestId, params: unknown, text: string) => Command;
export type Methods = ReadonlyMap<string, Method>;

const METHODS: Methods = new Map<string, Method>([
  [
    'subscribe',
    (id, params) => {
      const { room, since, batch = false } = SubscribeParams.parse(params);
      return { kind: 'subscribe', id, room: parseRoomName(room), since: sinceOf(since), batch };
    },
  ],
  [
    'publish',
    (id, params, text) => {
      const { room, expectedRev, key } = PublishParams.parse(params);
      const publication = {
        room: parseRoomName(room),
        data: dataOf(text),
        ...(expectedRev === undefined ? {} : { expectedRev }),
        ...(key === undefined ? {} : { key }),
      };
      return { kind: 'publish', id, publication };
    },
  ],
  ['unsubscribe', (id, params) => ({ kind: 'unsubscribe', id, room: parseRoomName(RoomParams.parse(params).room) })],
  ['ping', (id) => ({ kind: 'ping', id })],
]);

const decoder = new TextDecoder('utf-8', { fatal: true });

const plainEncoding: Encoding = {
  index: 0,
  first: Buffer.from('{'),
  isNews: false,

  own: (id, batch) => `"id":${id},"data":${batch ? '[' : ''}`,
  single: (slot) => Buffer.concat([revisionJson(slot.revision), CLOSE_SINGLE]),
  batch(slots) {
    const parts: Buffer[] = [];
    for (const slot of slots) parts.push(parts.length === 0 ? EMPTY : COMMA, revisionJson(slot.revision));
    return Buffer.concat([...parts, CLOSE_BATCH]);
  },

  subscribed: (id, room, position) => `{"id":${id},"data":${subscribedText(room, position)}}`,
  joined(room, position, snapshot) {
    const before = `${subscribedText(room, position).slice(0, -1)},"snapshot":`;
    if (snapshot === null) return Buffer.from(`${before}null}}`);
    const { rev, time, data } = snapshot;
    const open = `${before}{"rev":${rev},"time":${time},"data":`;
    return Buffer.concat([Buffer.from(open), data, CLOSE_JOINED]);
  },
  unsubscribed: (id, room) => `{"id":${id},"data":${JSON.stringify({ subscribed: false, room })}}`,
};

/** @param more methods beside its own */
export function plainProtocol(more: Methods = new Map()): Protocol {
  const methods = new Map([...METHODS, ...more]);
  return {
    ...plainEncoding,
    name: 'plain',
    parse: (message, isBinary) => parse(methods, message, isBinary),
    answer: (id, data) => `{"id":${id},"data":${data}}`,
    pong: (id) => `{"id":${id},"data":{}}`,
    refusal(id, { code, message, details }) {
      return `{"id":${id},"data":${JSON.stringify({ error: { code, message, ...details } })}}`;
    },
  };
}

export const plain: Protocol = plainProtocol();

const EMPTY = Buffer.alloc(0);
const COMMA = Buffer.from(',');
const CLOSE_SINGLE = Buffer.from('}');
const CLOSE_BATCH = Buffer.from(']}');
const CLOSE_JOINED = Buffer.from('}}}');

export function subscribedText(room: string, { epoch, rev, tag }: ClientPosition): string {
  return JSON.stringify({ subscribed: true, room, epoch, rev, ...(tag ? { tag } : {}) });
}

function parse(methods: Methods, message: ArrayBuffer, isBinary: boolean): Command {
  if (isBinary) return refused(NO_ID, new RevcastError('binary_unsupported', 'this protocol is text only'));
  let text: string;
  let request: unknown;
  try {
    text = decoder.decode(message);
    request = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return refused(NO_ID, new RevcastError('invalid_json', `the message is not JSON: ${reason}`));
  }
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    return refused(NO_ID, new RevcastError('invalid_request', 'a request is an object {id, method, params}'));
  }
  return parseRequest(methods, request, text);
}

function parseRequest(methods: Methods, request: object, text: string): Command {
  const { id, method, params } = request as { id?: unknown; method?: unknown; params?: unknown };
  if (!isId(id)) {
    const message = `id must be a string of at most ${MAX_ID_BYTES} bytes or a whole number`;
    return refused(NO_ID, new RevcastError('invalid_request', message));
  }
  const name = JSON.stringify(id);
  if (typeof method !== 'string') {
    return refused(name, new RevcastError('invalid_request', 'method must be a string'));
  }
  const read = methods.get(method);
  if (read === undefined) {
    const known = [...methods.keys()].join(', ');
    return refused(
      name,
      new RevcastError('unknown_method', `unknown method ${JSON.stringify(method.slice(0, 64))}, known: ${known}`),
    );
  }
  try {
    return read(name, params, text);
  } catch (error) {
    if (error instanceof RevcastError) return refused(name, error);
    if (error instanceof z.ZodError) return refused(name, new RevcastError('invalid_request', describe(error)));
    throw error;
  }
}

/** The data of a publication, as its client wrote it: a parsed number would be spelled anew. */
function dataOf(text: string): Buffer {
  const params = members(text, wholeValue(text)).get('params');
  const data = params === undefined ? undefined : members(text, params).get('data');
  if (data === undefined) throw new RevcastError('invalid_request', 'params.data: is missing');
  return Buffer.from(text.slice(data.start, data.end));
}

function isId(id: unknown): id is string | number {
  return typeof id === 'string' ? Buffer.byteLength(id) <= MAX_ID_BYTES : Number.isSafeInteger(id);
}

function sinceOf(since: z.infer<typeof SubscribeParams>['since']): Since {
  if (since === undefined) return 'now';
  if (since === 0) return 'first';
  if (since === 'snapshot') return since;
  return positionOf(since);
}

function positionOf({ epoch, rev, tag }: z.infer<typeof Position>): ClientPosition {
  return { epoch, rev, ...(tag ? { tag } : {}) };
}

function describe({ issues }: z.ZodError): string {
  return issues.map((issue) => described(['params'], issue)).join('; ');
}

/** What is wrong and where. Of a union's alternatives the one was meant in which something further inside is wrong. */
function described(parents: readonly PropertyKey[], issue: z.core.$ZodIssue): string {
  const path = [...parents, ...issue.path];
  const alternatives = issue.code === 'invalid_union' ? issue.errors : [];
  const meant = alternatives.find((issues) => issues.some((inner) => inner.path.length > 0));
  if (meant !== undefined) return meant.map((inner) => described(path, inner)).join('; ');
  return `${path.join('.')}: ${issue.message}`;
}

function refused(id: RequestId, error: RevcastError): Command {
  return { kind: 'refused', id, error };
}
