/**
 * Server-sent events (SPEC.md, V rules): what a stream at /v1/sse is sent. Clients say nothing on it: what they want is
 * in the request (stream-query.ts).
 *
 * Every event begins with its `id:`, the position behind it (stream-id.ts). A request's id is `<prefix>|<room>`, where
 * the prefix is what stands before the room's positions in ids. In a stream of one room all of an event is shared; in one
 * of several, the socket puts the positions of the other rooms into the id (sse-socket.ts).
 *
 * Revisions are unnamed events, so that `onmessage` gets them. `refused` carries an id that keeps the room out of the
 * stream from then on; `unavailable` carries none, so that the client comes back with what it has.
 */
import { assert } from '../../shared/errors.js';
import { revisionJson } from '../../log/revision-json.js';
import type { ClientPosition } from '../../revision/contract.js';
import type { Slot } from '../slot.js';
import { positionText, REFUSED } from '../stream-id.js';
import { subscribedText } from './plain.js';
import type { Protocol } from './protocol.js';

/** The position is of a history that is gone: trying again does not help. */
const GONE = 410;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

const END = Buffer.from('\n\n');
const COMMA = Buffer.from(',');
const OPEN_LIST = Buffer.from('[');
const CLOSE_LIST = Buffer.from(']');
const CLOSE_JOINED = Buffer.from('}}');

export function requestIdOf(prefix: string, room: string): string {
  return `${prefix}|${room}`;
}

export const sse: Protocol = {
  name: 'sse',
  index: 1,
  first: Buffer.from('i'),

  parse: () => silent(),
  unsubscribed: () => silent(),
  pong: () => silent(),

  own: (id) => `d: ${prefixOf(id)}`,
  single: (slot) => Buffer.concat([head(positionOf(slot)), oneLine(revisionJson(slot.revision)), END]),
  batch(slots) {
    const last = slots.at(-1);
    assert(last !== undefined, 'a batch has revisions');
    const list = slots.flatMap((slot, index) => [index === 0 ? OPEN_LIST : COMMA, revisionJson(slot.revision)]);
    return Buffer.concat([head(positionOf(last)), oneLine(Buffer.concat(list)), CLOSE_LIST, END]);
  },

  subscribed: (id, room, position) =>
    `id: ${prefixOf(id)}${positionText(position)}\nevent: subscribed\ndata: ${subscribedText(room, position)}\n\n`,
  joined(room, position, snapshot) {
    const before = `${subscribedText(room, position).slice(0, -1)},"snapshot":`;
    if (snapshot === null) return Buffer.concat([head(position, 'subscribed'), Buffer.from(`${before}null}`), END]);
    const { rev, time, data } = snapshot;
    const open = Buffer.from(`${before}{"rev":${rev},"time":${time},"data":`);
    return Buffer.concat([head(position, 'subscribed'), open, oneLine(Buffer.from(data)), CLOSE_JOINED, END]);
  },
  refusal(id, { code, message, details, httpStatus }) {
    const room = id.slice(id.indexOf('|') + 1);
    const data = JSON.stringify({ room, error: { code, message, ...details } });
    return httpStatus === GONE
      ? `id: ${prefixOf(id)}${REFUSED}\nevent: refused\ndata: ${data}\n\n`
      : `event: unavailable\ndata: ${data}\n\n`;
  },
};

function prefixOf(id: string): string {
  return id.slice(0, id.indexOf('|'));
}

function positionOf({ epoch, revision: { rev, tag } }: Slot): ClientPosition {
  return { epoch, rev, tag };
}

/** What stands behind the prefix, up to the data. */
function head(position: ClientPosition, event?: string): Buffer {
  return Buffer.from(`${positionText(position)}${event === undefined ? '' : `\nevent: ${event}`}\ndata: `);
}

/** Data ends with its line. In JSON text a line break can only be white space between tokens. */
function oneLine(json: Buffer): Buffer {
  for (const lineBreak of [LINE_FEED, CARRIAGE_RETURN]) {
    for (let at = json.indexOf(lineBreak); at >= 0; at = json.indexOf(lineBreak, at)) json[at] = SPACE;
  }
  return json;
}

function silent(): never {
  throw new Error('invariant broken: a client of a stream says nothing');
}
