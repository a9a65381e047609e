/**
 * What a request for a stream of events asks: `room` (once for each room), `since` (`0`, `snapshot` or an id of such a
 * stream) and `batch`, each checked by name. The header Last-Event-ID, with which an EventSource comes back, wins over `since`
 * for the rooms that it names.
 */
import { RevcastError } from '../shared/errors.js';
import { parseRoomName } from '../shared/room-name.js';
import type { Since } from './protocols/protocol.js';
import { parseStreamId, type StreamPlace } from './stream-id.js';

/** Rooms of one stream: every event's id has the position of each. */
const MAX_STREAM_ROOMS = 32;
const KNOWN = ['room', 'since', 'batch'];

export interface StreamQuery {
  readonly rooms: readonly string[];
  /** For each room where the client stands, as far as it said. */
  readonly places: readonly StreamPlace[];
  /** Where rooms begin of which it said nothing. */
  readonly since: Since;
  readonly batch: boolean;
}

/** Throws `invalid_request`, `invalid_room`, `too_many_rooms`. */
export function parseStreamQuery(query: string, lastEventId: string, maxRooms: number): StreamQuery {
  const rooms: string[] = [];
  const given = new Map<string, string>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decoded(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? '' : decoded(pair.slice(at + 1));
    if (!KNOWN.includes(name)) throw invalid(name.slice(0, 80), `is not known here; known: ${KNOWN.join(', ')}`);
    if (name === 'room') rooms.push(parseRoomName(value));
    else if (given.has(name)) throw invalid(name, 'is given more than once');
    else given.set(name, value);
  }
  checkRooms(rooms, Math.min(maxRooms, MAX_STREAM_ROOMS));
  const since = given.get('since');
  const begin = since === undefined ? 'now' : sinceWord(since);
  const asked = since === undefined || begin !== undefined ? [] : parseStreamId(since, rooms.length, 'since');
  const seen = lastEventId === '' ? [] : parseStreamId(lastEventId, rooms.length, 'Last-Event-ID');
  return {
    rooms,
    places: rooms.map((_, index) => seen[index] ?? asked[index]),
    since: begin ?? 'now',
    batch: batchOf(given.get('batch')),
  };
}

/** undefined: it is an id. */
function sinceWord(since: string): Since | undefined {
  if (since === '0') return 'first';
  return since === 'snapshot' ? since : undefined;
}

function batchOf(batch: string | undefined): boolean {
  if (batch !== undefined && batch !== 'true' && batch !== 'false') throw invalid('batch', 'must be true or false');
  return batch === 'true';
}

function checkRooms(rooms: readonly string[], max: number): void {
  if (rooms.length === 0) throw invalid('room', 'is missing');
  if (rooms.length > max) {
    throw new RevcastError('too_many_rooms', `a stream may have ${max} rooms, this one names ${rooms.length}`);
  }
  if (new Set(rooms).size < rooms.length) throw invalid('room', 'names the same room twice');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    const message = `${JSON.stringify(text.slice(0, 80))} is not percent-encoded UTF-8`;
    throw new RevcastError('invalid_request', message, { cause: error });
  }
}

function invalid(where: string, problem: string): RevcastError {
  return new RevcastError('invalid_request', `${where} ${problem}`, { details: { where } });
}
