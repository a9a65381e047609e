/**
 * Writes what a socket lacks, of all its rooms, in one cork; or, where that is one uncompressed message, in one call
 * without a cork. It keeps nothing of a socket: one writer serves all, one after the other.
 *
 * Rules of uWebSockets.js that hold here: fragments start only on an empty socket, all fragments of a message in one
 * block that cannot throw; one cork's output stays below CORK_BYTES, and a larger frame goes alone, uncorked, because
 * the Node 20 build keeps a socket's largest corked output for the socket's life. `send` inside a cork does not tell
 * what happened, so whoever calls asks the socket afterwards.
 */
import { assert, type RevcastError } from '../shared/errors.js';
import type { EdgeParts } from './edge-parts.js';
import { Answers, type Greeting } from './greeting.js';
import type { Member } from './member.js';
import type { Opened } from './message-run.js';
import { nextFrame, nextRun, type Deflate } from './next-frame.js';
import type { PreparedFrame } from './prepared-frame.js';
import type { ClientSocket } from './uws.js';

/** Largest output of one cork, in bytes, with the frames' headers. */
const CORK_BYTES = 15_900;

/** Who is written to. */
export interface Written {
  readonly members: readonly Member[];
  readonly deflate: Deflate;
  /** What the transport adds to a message at most, in bytes. */
  readonly headerBytes: number;
  /** Set when a member is not steady, so that such members are looked for only then. */
  hasLaggards: boolean;
  endSubscription(member: Member, error: RevcastError): void;
}

/** What a write left: nothing, more than the cork holds, or a frame that is too large for any cork. */
type Rest = 'none' | 'more' | 'large';

export class SocketWriter {
  /** The socket whose cork is open, and to whom it belongs: here for the one callback of all, no closure per socket. */
  private ws: ClientSocket | undefined;
  private to: Written | undefined;
  private leftBytes = 0;
  private rest: Rest = 'none';
  private readonly inCork = () => {
    this.writeIntoCork();
  };

  constructor(private readonly parts: EdgeParts) {}

  /** Writes as much as may go in one call to a socket that is empty, and says what is left. */
  write(ws: ClientSocket, to: Written): Rest {
    const { members } = to;
    const member = members[0];
    if (member !== undefined && members.length === 1 && to.deflate === 'off' && isOneMessage(member)) {
      // The usual case: a message in one piece needs no cork, which is 0.5 µs less.
      return this.writeAlone(ws, to, member) && member.cursor < member.room.ring.headRev ? 'more' : 'none';
    }
    const rest = this.writeInCork(ws, to);
    if (rest === 'large' && ws.getBufferedAmount() === 0) members.some((each) => this.writeAlone(ws, to, each));
    return rest;
  }

  private writeInCork(ws: ClientSocket, to: Written): Rest {
    this.ws = ws;
    this.to = to;
    this.leftBytes = CORK_BYTES;
    this.rest = 'none';
    ws.cork(this.inCork);
    this.ws = undefined;
    this.to = undefined;
    return this.rest;
  }

  /** Writes frames until the cork is full. Called inside it. */
  private writeIntoCork(): void {
    const { ws, to } = this;
    assert(ws !== undefined && to !== undefined, 'no cork is open');
    const { members } = to;
    for (let i = 0; i < members.length && this.rest === 'none'; i += 1) {
      const member = members[i];
      if (member !== undefined) this.writeMember(ws, to, member);
    }
  }

  private writeMember(ws: ClientSocket, to: Written, member: Member): void {
    if (member.greeting !== undefined && !this.greetInCork(ws, to, member, member.greeting)) return;
    let given = member.cursor;
    for (;;) {
      given = this.writeRun(ws, to, member, given);
      const frame = nextFrame(this.parts, member, given);
      if (frame === undefined || ends(to, member, frame)) break;
      if (!this.fits(wireBytes(to, member, frame))) break;
      this.writeFrame(ws, to, member, frame);
      given = frame.lastRev;
      if (member.state !== 'steady') this.delivered(member, given);
    }
    // The ring is told once of all that a steady member was sent.
    if (given > member.cursor) this.delivered(member, given);
    // Also a member whose socket was never blocked: the ring may overtake it before a flush comes to it.
    if (member.state !== 'steady') to.hasLaggards = true;
  }

  /** What goes uncompressed, one revision a message, of what follows `given`; rev of the last that fitted. */
  private writeRun(ws: ClientSocket, { deflate, headerBytes }: Written, member: Member, given: number): number {
    const run = nextRun(this.parts, member, given, deflate);
    if (run === undefined) return given;
    const { openingBytes, openingWords } = member;
    const { bodyBytes } = run.messages;
    const messages = run.messages.messages(openingBytes);
    // A page may reach beyond the room's head.
    const end = Math.min(messages.length, Math.min(member.room.ring.headRev, member.encodedUntil) + 1 - run.firstRev);
    let { leftBytes } = this;
    let at = given + 1 - run.firstRev;
    for (; at < end; at += 1) {
      const message = messages[at];
      const size = headerBytes + openingBytes + (bodyBytes[at] ?? 0);
      if (message === undefined || size > leftBytes) break;
      run.messages.open(at, openingWords, openingBytes);
      ws.send(message, false, false);
      leftBytes -= size;
    }
    this.leftBytes = leftBytes;
    const lastRev = run.firstRev + at - 1;
    if (member.state !== 'steady' && lastRev > given) this.delivered(member, lastRev);
    return lastRev;
  }

  /** Writes the member's next message, without a cork; whether there was one. */
  private writeAlone(ws: ClientSocket, to: Written, member: Member): boolean {
    if (member.greeting !== undefined) {
      this.greet(ws, to, member, member.greeting);
      return true;
    }
    const frame = nextFrame(this.parts, member, member.cursor);
    if (frame !== undefined && ends(to, member, frame)) return false;
    if (frame !== undefined) {
      this.writeFrame(ws, to, member, frame);
      this.delivered(member, frame.lastRev);
    }
    if (member.state !== 'steady') to.hasLaggards = true;
    return frame !== undefined;
  }

  /** Whether the greeting fitted. */
  private greetInCork(ws: ClientSocket, to: Written, member: Member, greeting: Answers | Greeting): boolean {
    const fits = this.fits(greetingBytes(to, greeting));
    if (fits) this.greet(ws, to, member, greeting);
    return fits;
  }

  private greet(ws: ClientSocket, to: Written, member: Member, greeting: Answers | Greeting): void {
    member.greeting = undefined;
    if (greeting instanceof Answers) {
      for (const text of greeting.texts) ws.send(text, false, false);
      return;
    }
    this.writeFrame(ws, to, greeting, greeting.frame);
    this.parts.counters.snapshotsSent += 1;
  }

  /** Takes so many bytes from the cork, or says what is left. */
  private fits(size: number): boolean {
    if (size > this.leftBytes) {
      this.rest = this.leftBytes === CORK_BYTES ? 'large' : 'more';
      return false;
    }
    this.leftBytes -= size;
    return true;
  }

  /** One message, whole. The socket was empty when this cork began, so that no fragment can be dropped. */
  private writeFrame(ws: ClientSocket, { deflate }: Written, opened: Member | Greeting, frame: PreparedFrame): void {
    if (frame.bodyBytes === 0) return;
    const deflated = deflatedOf(deflate, frame);
    if (deflate === 'per-socket') {
      this.parts.counters.bodiesDeflated += 1;
      this.parts.counters.bytesDeflated += frame.bodyBytes;
      ws.send(frame.message(opened), false, true);
    } else if (deflated === null) {
      ws.send(frame.message(opened), false, false);
    } else {
      ws.sendFirstFragment(opened.encoding.first, false, true);
      ws.sendFragment(opened.stored, false);
      ws.sendLastFragment(deflated, false);
    }
  }

  private delivered(member: Member, lastRev: number): void {
    this.parts.counters.deliveries += lastRev - member.cursor;
    member.room.ring.advance(member, lastRev);
  }
}

/** Whether the member is due one message at most. */
function isOneMessage({ batch, cursor, room, greeting }: Member): boolean {
  return greeting === undefined && (batch || cursor + 1 >= room.ring.headRev);
}

/** Whether the member's subscription ends here. Then in a turn of its own: members are being visited now. */
function ends(to: Written, member: Member, { problem }: PreparedFrame): boolean {
  if (problem === undefined) return false;
  setImmediate(() => {
    if (member.state !== 'closed') to.endSubscription(member, problem);
  });
  return true;
}

/** The frame as it is deflated for all; null: this socket gets the body. */
function deflatedOf(deflate: Deflate, frame: PreparedFrame): Buffer | null {
  return deflate === 'once' ? frame.deflated() : null;
}

function greetingBytes(to: Written, greeting: Answers | Greeting): number {
  if (greeting instanceof Answers) return to.headerBytes * greeting.texts.length + greeting.maxBytes;
  return wireBytes(to, greeting, greeting.frame);
}

function wireBytes({ deflate, headerBytes }: Written, { openingBytes }: Opened, frame: PreparedFrame): number {
  if (frame.bodyBytes === 0) return 0;
  return headerBytes + openingBytes + (deflatedOf(deflate, frame)?.length ?? frame.bodyBytes);
}
