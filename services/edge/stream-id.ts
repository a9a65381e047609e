/**
 * The `id:` of a stream of events, which an EventSource sends back as Last-Event-ID: where the client stands in every
 * room of its stream, so that it goes on without a hole, at any edge. Clients take it as it is.
 *
 * One room: `epoch.rev.tag`, so a position known from elsewhere can be written like that too. Several: for each room
 * whose position is known `place:epoch.rev.tag`, joined by commas; the place is the room's among the `room` parameters,
 * from 0. `!` in place of a position: the room was refused, and stays out of the stream.
 */
import { RevcastError } from '../shared/errors.js';
import type { ClientPosition } from '../revision/contract.js';

export const REFUSED = '!';
/** Of a position with its place, about: two of digits, an epoch of 11, a rev, a tag of 8. */
export const POSITION_BYTES = 48;

/** Where a client stands in a room; undefined: it was not told yet. */
export type StreamPlace = ClientPosition | 'refused' | undefined;

const POSITION = /^([A-Za-z0-9_-]{0,64})\.(\d{1,15})\.([0-9a-f]{8})?$/u;
const PLACED = /^(\d{1,3}):(.+)$/u;

export function positionText({ epoch, rev, tag = '' }: ClientPosition): string {
  return `${epoch}.${rev}.${tag}`;
}

/** What stands before the position of the room at `place` in a stream of so many. */
export function placePrefix(place: number, rooms: number): string {
  return rooms === 1 ? '' : `${place}:`;
}

/** The position that the text names; undefined: none. */
export function parsePosition(text: string): ClientPosition | undefined {
  const [, epoch, rev, tag] = POSITION.exec(text) ?? [];
  return epoch === undefined ? undefined : { epoch, rev: Number(rev), ...(tag === undefined ? {} : { tag }) };
}

/** The places of `rooms` rooms that the id tells of. Throws `invalid_request`, which names `where` the id was. */
export function parseStreamId(id: string, rooms: number, where: string): StreamPlace[] {
  const places = Array.from({ length: rooms }, (): StreamPlace => undefined);
  if (rooms === 1) {
    places[0] = parsePlace(id, where);
    return places;
  }
  for (const item of id.split(',')) {
    const [, digits, text] = PLACED.exec(item) ?? [];
    const place = Number(digits);
    if (text === undefined || place >= rooms || places[place] !== undefined) throw notAnId(where);
    places[place] = parsePlace(text, where);
  }
  return places;
}

function parsePlace(text: string, where: string): StreamPlace {
  if (text === REFUSED) return 'refused';
  const position = parsePosition(text);
  if (position === undefined) throw notAnId(where);
  return position;
}

function notAnId(where: string): RevcastError {
  const message = `${where} is not an id of a stream with these rooms in this order`;
  return new RevcastError('invalid_request', message, { details: { where } });
}
