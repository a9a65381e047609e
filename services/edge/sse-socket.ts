/**
 * A stream of events as a session's socket: the body of an HTTP response that does not end.
 *
 * Rules of uWebSockets.js that hold here: every write is corked (alone it would be four system calls). `write` in a cork
 * answers false when bytes of an earlier cork are still waiting: then the session is to write nothing more, so a client
 * that does not read costs two corks at most, or a cork and one large frame. `onWritable` must write something, else the
 * waiting bytes stay; a response that takes nothing for about 10 s is aborted, whatever is set. Nothing is called after
 * `onAborted`, nor after `end`, which does not call it.
 *
 * In a stream of several rooms an event's id needs the positions of all. The message that all sockets share comes with the
 * room's place on a line in front and its own position at the end; here the one is left out and the other replaced, without
 * a copy of the body. It costs about 1 µs an event, and some 30 bytes on the wire for each further room.
 */
import type { HttpResponse } from 'uWebSockets.js';
import { assert } from '../shared/errors.js';
import { IdLine } from './id-line.js';
import type { Session } from './session.js';
import { POSITION_BYTES, REFUSED, type StreamPlace } from './stream-id.js';
import type { ClientSocket } from './uws.js';

const ID_FIELD = 'id: ';
const COMMENT = ':\n\n';
const LINE_FEED = 0x0a;
const DIGIT_0 = 0x30;
/** The line ends behind the id. */
const END_BYTES = 2;
/** Length and line ends of a chunk. */
const CHUNK_BYTES = 14;

export interface SseSocketOptions {
  /** For each room where the client stands, as far as its request told. */
  readonly places: readonly StreamPlace[];
  /** After which time the client is to come back, in milliseconds; asked for each time. */
  readonly retryMs: () => number;
  readonly onClosed: () => void;
}

export class SseSocket implements ClientSocket {
  session: Session | undefined;
  /** What a message costs beside its own bytes, at most. */
  readonly headerBytes: number;
  /** undefined: there is one room, and its messages have all of the id. */
  private readonly ids: IdLine | undefined;
  /** Those that were not refused. */
  private roomsLeft: number;
  private state: 'open' | 'ending' | 'closed' = 'open';
  private blocked = false;
  private corked = false;
  private outgoing: string | Uint8Array = '';
  private readonly writeOutgoing = () => {
    this.write(this.outgoing);
  };

  /** Writes the head of the answer and says when to come back; called in the request's handler. */
  constructor(
    private readonly response: HttpResponse,
    private readonly options: SseSocketOptions,
  ) {
    const { places } = options;
    const { length } = places;
    this.ids = length === 1 ? undefined : new IdLine(places);
    this.roomsLeft = places.filter((place) => place !== 'refused').length;
    this.headerBytes = length === 1 ? CHUNK_BYTES : 2 * CHUNK_BYTES + length * POSITION_BYTES;
    response.onAborted(() => {
      this.closed();
    });
    response.onWritable(() => {
      this.onWritable();
      return true;
    });
    this.put(`retry: ${options.retryMs()}\n\n`);
  }

  getBufferedAmount(): number {
    return this.blocked ? 1 : 0;
  }

  cork(write: () => void): void {
    this.corked = true;
    try {
      this.response.cork(write);
    } finally {
      this.corked = false;
    }
  }

  send(message: string | Uint8Array): number {
    if (this.corked) {
      this.write(message);
    } else {
      this.outgoing = message;
      this.response.cork(this.writeOutgoing);
      this.outgoing = '';
    }
    return 1;
  }

  /** A comment. The client never answers: that it takes what is written is its sign of life. */
  ping(): void {
    if (this.blocked || this.state === 'closed') return;
    this.response.cork(() => {
      this.put(COMMENT);
    });
    if (!this.blocked) this.session?.sawLife();
  }

  end(): void {
    if (this.state === 'closed') return;
    this.response.cork(() => {
      this.put(`retry: ${this.options.retryMs()}\n\n`);
      this.response.end();
    });
    this.closed();
  }

  close(): void {
    if (this.state !== 'closed') this.response.close();
  }

  sendFirstFragment(): number {
    return noFragments();
  }

  sendFragment(): number {
    return noFragments();
  }

  sendLastFragment(): number {
    return noFragments();
  }

  private onWritable(): void {
    if (this.state === 'closed') return;
    this.blocked = false;
    this.response.cork(() => {
      this.put(COMMENT);
    });
    if (!this.blocked) this.session?.onDrain();
  }

  private write(message: string | Uint8Array): void {
    if (typeof message === 'string') this.writeAnswer(Buffer.from(message));
    else if (this.ids === undefined) this.put(message);
    else this.writeWithIds(bufferOf(message), this.ids);
  }

  /** After an answer without an id the client is to come back with the one it has; the same when no room is left. */
  private writeAnswer(answer: Buffer): void {
    const idStart = idLineOf(answer) + ID_FIELD.length;
    const hasId = answer.toString('latin1', idStart - ID_FIELD.length, idStart) === ID_FIELD;
    if (hasId && answer.toString('latin1', idStart, answer.length - END_BYTES) === REFUSED) this.roomsLeft -= 1;
    if (!hasId || this.ids === undefined) this.put(answer);
    else this.writeWithIds(answer, this.ids);
    if ((hasId && this.roomsLeft > 0) || this.state !== 'open') return;
    this.state = 'ending';
    // Not now: whoever sends this answer goes on with the session.
    setImmediate(() => {
      this.session?.end(0, '');
    });
  }

  /** Writes the message of one of several rooms, without the line of its place, and with the positions of all. */
  private writeWithIds(message: Buffer, ids: IdLine): void {
    const begin = message.indexOf(LINE_FEED) + 1;
    const idLine = idLineOf(message);
    ids.set(placeIn(message), message, idLine + ID_FIELD.length, message.length - END_BYTES);
    this.put(message.subarray(begin, idLine));
    this.put(ids.line);
  }

  private put(text: string | Uint8Array): void {
    if (!this.response.write(text)) this.blocked = true;
  }

  private closed(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.session?.onClose();
    this.options.onClosed();
  }
}

/** Where the last line before the empty one begins. */
function idLineOf(message: Buffer): number {
  return message.lastIndexOf(LINE_FEED, message.length - END_BYTES - 1) + 1;
}

/** The number in the message's first line, behind its first byte. */
function placeIn(message: Buffer): number {
  let place = 0;
  for (let at = 1; ; at += 1) {
    const byte = message[at];
    if (byte === undefined || byte === LINE_FEED) return place;
    place = place * 10 + byte - DIGIT_0;
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function noFragments(): never {
  assert(false, 'a stream of events has no fragments');
}
