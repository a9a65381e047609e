/**
 * Server-sent events (SPEC.md, V rules): what a stream at /v1/sse is sent. Clients say nothing on it: what they want is
 * in the request (stream-query.ts).
 *
 * Every event ends with its `id:`, the position behind it (stream-id.ts): last, because libraries that are older than the
 * standard take an id at its line, also of an event that is then cut off. A request's id is `<place>|<room>`, the place
 * being empty in a stream of one room, where all of an event is shared. In one of several, the member's own part is a
 * line with the place, which never reaches the client: the socket (sse-socket.ts) puts the positions of all rooms into
 * the id instead.
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

const COMMA = Buffer.from(',');
const OPEN_LIST = Buffer.from('[');
const CLOSE_LIST = Buffer.from(']');
const CLOSE_JOINED = Buffer.from('}}');

/** @param place the room's among the stream's; empty where there is one room only */
export function requestIdOf(place: string, room: string): string {
  return `${place}|${room}`;
}

export const sse: Protocol = {
  name: 'sse',
  index: 1,
  first: Buffer.from('d'),
  isNews: false,

  parse: () => silent(),
  unsubscribed: () => silent(),
  answer: () => silent(),
  pong: () => silent(),

  own: (id) => opening(id).slice(1),
  single: (slot) => Buffer.concat([oneLine(revisionJson(slot.revision)), end(positionText(positionOf(slot)))]),
  batch(slots) {
    const last = slots.at(-1);
    assert(last !== undefined, 'a batch has revisions');
    const list = slots.flatMap((slot, index) => [index === 0 ? OPEN_LIST : COMMA, revisionJson(slot.revision)]);
    return Buffer.concat([oneLine(Buffer.concat(list)), CLOSE_LIST, end(positionText(positionOf(last)))]);
  },

  subscribed: (id, room, position) =>
    `${opening(id)}${subscribedText(room, position)}${end(positionText(position), 'subscribed').toString()}`,
  joined(room, position, snapshot) {
    const before = `${subscribedText(room, position).slice(0, -1)},"snapshot":`;
    const behind = end(positionText(position), 'subscribed');
    if (snapshot === null) return Buffer.concat([Buffer.from(`${before}null}`), behind]);
    const { rev, time, data } = snapshot;
    const open = Buffer.from(`${before}{"rev":${rev},"time":${time},"data":`);
    return Buffer.concat([open, oneLine(Buffer.from(data)), CLOSE_JOINED, behind]);
  },
  refusal(id, { code, message, details, httpStatus }) {
    const room = id.slice(id.indexOf('|') + 1);
    const data = JSON.stringify({ room, error: { code, message, ...details } });
    return httpStatus === GONE
      ? `${opening(id)}${data}${end(REFUSED, 'refused').toString()}`
      : `data: ${data}\nevent: unavailable\n\n`;
  },
};

/** What comes before the data, and is the member's own. A line that is no field means nothing to a client. */
function opening(id: string): string {
  const place = id.slice(0, id.indexOf('|'));
  return place === '' ? 'data: ' : `d${place}\ndata: `;
}

function positionOf({ epoch, revision: { rev, tag } }: Slot): ClientPosition {
  return { epoch, rev, tag };
}

/** What comes behind the data. */
function end(position: string, event?: string): Buffer {
  return Buffer.from(`${event === undefined ? '' : `\nevent: ${event}`}\nid: ${position}\n\n`);
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
