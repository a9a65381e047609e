/**
 * One socket: its memberships, and the writing of everything that it lacks, of all its rooms, in one cork (or, where
 * that is one uncompressed message, in one call without a cork).
 *
 * Blocked: the socket has bytes that the kernel did not take. It is then sent nothing more until `drain` finds it
 * empty; what it lacks stays in the rings and pages, not here. So a slow client costs its cursors.
 *
 * Rules of uWebSockets.js that hold here: fragments start only on an empty socket, all fragments of a message in one
 * block that cannot throw; one cork's output stays below CORK_BYTES, and a larger frame goes alone, uncorked, because
 * the Node 20 build keeps a socket's largest corked output for the socket's life; `send` inside a cork does not tell
 * what happened, so the socket is asked afterwards. `close` and `end` call the close handler at once.
 */
import { RevcastError } from '../shared/errors.js';
import type { Joining } from './commands.js';
import type { EdgeParts } from './edge-parts.js';
import type { Greeting } from './greeting.js';
import { goOn } from './news.js';
import { nextFrame, nextRun, type Deflate } from './next-frame.js';
import type { Member } from './member.js';
import type { Opened } from './message-run.js';
import type { PreparedFrame } from './prepared-frame.js';
import type { Conversation, Encoding, Protocol, RequestId, Said, Telling } from './protocols/protocol.js';
import { DROPPED, type ClientSocket } from './uws.js';

/** Largest output of one cork, in bytes, with the frames' headers. */
const CORK_BYTES = 15_900;
/** Corks, or frames that are too large for one, of one visit: then it is others' turn. */
const CORKS_PER_VISIT = 4;
/** Headers of a message's fragments, at most. */
const HEADER_BYTES = 24;

/** What uWebSockets.js keeps for a socket. */
export interface SocketData {
  readonly protocol: Protocol;
  /** Whether permessage-deflate was negotiated. */
  readonly deflates: boolean;
  /** What the transport adds to a message at most, in bytes; WebSocket frames' headers, if nothing is said. */
  readonly headerBytes?: number;
  /** What the protocol keeps for this connection. */
  readonly conversation?: Conversation;
  session?: Session;
}

/** Whether the member is due one message at most. */
function isOneMessage({ batch, cursor, room }: Member): boolean {
  return batch || cursor + 1 >= room.ring.headRev;
}

/** What a write left: nothing, more than the cork holds, or a frame that is too large for any cork. */
type Rest = 'none' | 'more' | 'large';

/** The cork that is open, for the one callback that all sessions share: no closure per socket. */
const cork: { session: Session | undefined; leftBytes: number; rest: Rest } = {
  session: undefined,
  leftBytes: 0,
  rest: 'none',
};
const writeCorked = () => {
  cork.session?.writeIntoCork();
};

export class Session {
  readonly members: Member[] = [];
  /** Rooms that it is about to join, by encoding, so that a second subscribe or an unsubscribe finds them. */
  readonly joining = new Map<string, Joining>();
  /** How many of them there are, with those that were cancelled and have not come to their end. */
  joinsUnderWay = 0;
  /** Answers that are being found out. */
  asksUnderWay = 0;
  readonly protocol: Protocol;
  /** In the flusher's list of sessions to go on with. */
  resuming = false;
  /** Monotonic milliseconds of the last sign of life. */
  lastSeen: number;

  private lastPing = Number.NEGATIVE_INFINITY;
  private ws: ClientSocket | undefined;
  private readonly conversation: Conversation | undefined;
  /** How messages to this socket are compressed: by what was negotiated, and EDGE_DEFLATE. */
  private readonly deflate: Deflate;
  private readonly headerBytes: number;
  private blocked = false;
  /** How it is to be closed when it is no longer blocked; nothing more is written before that. */
  private ending: { readonly code: number; readonly reason: string } | undefined;
  /** A member that is not steady: looked for only then. */
  private hasLaggards = false;

  constructor(
    ws: ClientSocket,
    data: SocketData,
    private readonly parts: EdgeParts,
  ) {
    this.ws = ws;
    this.protocol = data.protocol;
    this.conversation = data.conversation;
    this.deflate = data.deflates ? parts.settings.deflate : 'off';
    this.headerBytes = data.headerBytes ?? HEADER_BYTES;
    this.lastSeen = parts.clock.monotonic();
  }

  get open(): boolean {
    return this.ws !== undefined;
  }

  memberOf(room: string, encoding: Encoding = this.protocol): Member | undefined {
    return this.members.find((member) => member.room.name === room && member.encoding.index === encoding.index);
  }

  get hasHeartbeat(): boolean {
    return this.conversation !== undefined;
  }

  /** What the client says. */
  hear(message: ArrayBuffer, isBinary: boolean): readonly Said[] {
    if (this.ending !== undefined) return [];
    return this.conversation?.hear(message, isBinary) ?? [this.protocol.parse(message, isBinary)];
  }

  /** The socket is open. */
  onOpen(): void {
    if (this.conversation !== undefined) this.tell(this.conversation.opening());
  }

  /** Sends a reply, unless it is empty; a client that does not take its replies is cut off. */
  reply(text: string): void {
    if (text === '') return;
    if (this.ws?.send(text, false, false) === DROPPED) this.cut();
  }

  refuse(id: RequestId, error: RevcastError): void {
    if (this.conversation === undefined) this.reply(this.protocol.refusal(id, error));
    else this.tell(this.conversation.refusal(error));
  }

  /** Sends messages, and closes the connection where that is the end: in a turn of its own, for sockets close outside a cork. */
  tell({ texts, end }: Telling): void {
    if (this.ending !== undefined) return;
    for (const text of texts) this.reply(text);
    if (end === undefined) return;
    this.ending = end;
    this.parts.flusher.resume(this);
  }

  add(member: Member, cursor: number): void {
    this.members.push(member);
    member.room.add(member, cursor);
    if (member.state !== 'steady') this.hasLaggards = true;
    if (member.state !== 'steady' || member.greeting !== undefined) this.parts.flusher.resume(this);
  }

  remove(member: Member): void {
    const at = this.members.indexOf(member);
    if (at >= 0) this.members.splice(at, 1);
    member.room.remove(member);
  }

  /** Ends one subscription and tells the client why; one to news goes on instead. */
  endSubscription(member: Member, error: RevcastError): void {
    this.remove(member);
    if (member.encoding.isNews) goOn(member, error);
    else this.refuse(member.id, error);
  }

  /**
   * Writes what the socket lacks, in at most so many corks, and goes on in a turn of its own; whether it wrote anything.
   * Never called inside a uWebSockets.js callback.
   */
  flush(maxCorks = CORKS_PER_VISIT): boolean {
    const { ws } = this;
    if (ws === undefined) return false;
    if (this.blocked || ws.getBufferedAmount() > 0) {
      this.block();
      return false;
    }
    if (this.ending !== undefined) {
      ws.end(this.ending.code, this.ending.reason);
      return false;
    }
    const before = this.parts.counters.deliveries;
    for (let corks = 1; ; corks += 1) {
      const rest = this.writeSome(ws);
      if (this.isBlocked(ws)) {
        this.block();
        break;
      }
      if (rest === 'none') {
        if (this.hasLaggards) this.settle();
        break;
      }
      if (corks >= maxCorks) {
        this.parts.flusher.resume(this);
        break;
      }
    }
    return this.parts.counters.deliveries !== before;
  }

  /** uWebSockets.js says that bytes left. Not inside this callback: the rest goes out in a turn of its own. */
  onDrain(): void {
    this.sawLife();
    if (this.blocked && this.ws?.getBufferedAmount() === 0) {
      this.blocked = false;
      this.parts.flusher.resume(this);
    }
  }

  sawLife(): void {
    this.lastSeen = this.parts.clock.monotonic();
  }

  /** Pings a silent client, again only after another `everyMs`. */
  pingOnce(now: number, everyMs: number): void {
    if (now - this.lastPing < everyMs) return;
    this.lastPing = now;
    if (this.conversation === undefined) this.ws?.ping();
    else this.reply(this.conversation.heartbeat() ?? '');
  }

  /** The socket is gone: leaves every room. Idempotent. */
  onClose(): void {
    this.ws = undefined;
    for (const joining of this.joining.values()) joining.cancelled = true;
    while (this.members.length > 0) {
      const member = this.members.at(-1);
      if (member !== undefined) this.remove(member);
    }
  }

  /** Closes with a code after what can be written now, and after the client has taken that. */
  end(code: number, reason: string): void {
    this.flush(Number.POSITIVE_INFINITY);
    if (this.blocked) this.ending = { code, reason };
    else this.ws?.end(code, reason);
  }

  /** Cuts the connection without a close frame. */
  cut(): void {
    this.ws?.close();
  }

  /** Writes frames until the cork is full. Called inside it. */
  writeIntoCork(): void {
    const { ws, members } = this;
    if (ws === undefined) return;
    for (let i = 0; i < members.length && cork.rest === 'none'; i += 1) {
      const member = members[i];
      if (member !== undefined) this.writeMember(ws, member);
    }
  }

  private writeMember(ws: ClientSocket, member: Member): void {
    if (member.greeting !== undefined && !this.greetInCork(ws, member, member.greeting)) return;
    let given = member.cursor;
    for (;;) {
      given = this.writeRun(ws, member, given);
      const frame = nextFrame(this.parts, member, given);
      if (frame === undefined || this.ends(member, frame)) break;
      if (!this.fits(member, frame)) break;
      this.write(ws, member, frame);
      given = frame.lastRev;
      if (member.state !== 'steady') this.delivered(member, given);
    }
    // The ring is told once of all that a steady member was sent.
    if (given > member.cursor) this.delivered(member, given);
    // Also a member whose socket was never blocked: the ring may overtake it before a flush comes to it.
    if (member.state !== 'steady') this.hasLaggards = true;
  }

  /** Whether the member's subscription ends here. Then in a turn of its own: members are being visited now. */
  private ends(member: Member, { problem }: PreparedFrame): boolean {
    if (problem === undefined) return false;
    setImmediate(() => {
      if (member.state !== 'closed') this.endSubscription(member, problem);
    });
    return true;
  }

  /** Whether the greeting fitted. */
  private greetInCork(ws: ClientSocket, member: Member, greeting: Greeting): boolean {
    const fits = this.fits(greeting, greeting.frame);
    if (fits) this.greet(ws, member, greeting);
    return fits;
  }

  private greet(ws: ClientSocket, member: Member, greeting: Greeting): void {
    this.write(ws, greeting, greeting.frame);
    member.greeting = undefined;
    this.parts.counters.snapshotsSent += 1;
  }

  /** Takes the frame's bytes from the cork, or says what is left. */
  private fits(opened: Opened, frame: PreparedFrame): boolean {
    const size = this.wireBytes(opened, frame);
    if (size > cork.leftBytes) {
      cork.rest = cork.leftBytes === CORK_BYTES ? 'large' : 'more';
      return false;
    }
    cork.leftBytes -= size;
    return true;
  }

  /** What goes uncompressed, one revision a message, of what follows `given`; rev of the last that fitted. */
  private writeRun(ws: ClientSocket, member: Member, given: number): number {
    const run = nextRun(this.parts, member, given, this.deflate);
    if (run === undefined) return given;
    const { openingBytes, openingWords } = member;
    const { bodyBytes } = run.messages;
    const messages = run.messages.messages(openingBytes);
    // A page may reach beyond the room's head.
    const end = Math.min(messages.length, Math.min(member.room.ring.headRev, member.encodedUntil) + 1 - run.firstRev);
    let { leftBytes } = cork;
    let at = given + 1 - run.firstRev;
    for (; at < end; at += 1) {
      const message = messages[at];
      const size = this.headerBytes + openingBytes + (bodyBytes[at] ?? 0);
      if (message === undefined || size > leftBytes) break;
      run.messages.open(at, openingWords, openingBytes);
      ws.send(message, false, false);
      leftBytes -= size;
    }
    cork.leftBytes = leftBytes;
    const lastRev = run.firstRev + at - 1;
    if (member.state !== 'steady' && lastRev > given) this.delivered(member, lastRev);
    return lastRev;
  }

  /** Writes as much as may go in one call, and says what is left. */
  private writeSome(ws: ClientSocket): Rest {
    const { members } = this;
    const member = members[0];
    if (member !== undefined && members.length === 1 && this.deflate === 'off' && isOneMessage(member)) {
      // The usual case: a message in one piece needs no cork, which is 0.5 µs less.
      return this.writeAlone(ws, member) && member.cursor < member.room.ring.headRev ? 'more' : 'none';
    }
    const rest = this.writeInCork(ws);
    if (rest === 'large' && ws.getBufferedAmount() === 0) members.some((each) => this.writeAlone(ws, each));
    return rest;
  }

  private writeInCork(ws: ClientSocket): Rest {
    cork.session = this;
    cork.leftBytes = CORK_BYTES;
    cork.rest = 'none';
    ws.cork(writeCorked);
    cork.session = undefined;
    return cork.rest;
  }

  /** Writes the member's next message, without a cork; whether there was one. */
  private writeAlone(ws: ClientSocket, member: Member): boolean {
    if (member.greeting !== undefined) {
      this.greet(ws, member, member.greeting);
      return true;
    }
    const frame = nextFrame(this.parts, member, member.cursor);
    if (frame !== undefined && this.ends(member, frame)) return false;
    if (frame !== undefined) {
      this.write(ws, member, frame);
      this.delivered(member, frame.lastRev);
    }
    if (member.state !== 'steady') this.hasLaggards = true;
    return frame !== undefined;
  }

  /** The frame as it is deflated for all; null: this socket gets the body. */
  private deflated(frame: PreparedFrame): Buffer | null {
    return this.deflate === 'once' ? frame.deflated() : null;
  }

  private wireBytes({ openingBytes }: Opened, frame: PreparedFrame): number {
    if (frame.bodyBytes === 0) return 0;
    return this.headerBytes + openingBytes + (this.deflated(frame)?.length ?? frame.bodyBytes);
  }

  /** One message, whole. The socket was empty when this cork began, so that no fragment can be dropped. */
  private write(ws: ClientSocket, opened: Member | Greeting, frame: PreparedFrame): void {
    if (frame.bodyBytes === 0) return;
    const deflated = this.deflated(frame);
    if (this.deflate === 'per-socket') {
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

  private isBlocked(ws: ClientSocket): boolean {
    return this.ws !== undefined && ws.getBufferedAmount() > 0;
  }

  private block(): void {
    this.blocked = true;
    this.hasLaggards = true;
    for (const member of this.members) {
      // Pages are kept by their cache, within its bounds, not by who reads slowly.
      member.page = undefined;
      if (member.cursor < member.room.ring.headRev) member.to('blocked');
    }
  }

  /** Everything was written and taken: members at the head are steady again, others are now due their next page. */
  private settle(): void {
    this.hasLaggards = false;
    for (const member of this.members) {
      if (member.cursor === member.room.ring.headRev) member.to('reached_head');
      else {
        this.hasLaggards = true;
        if (member.state === 'catching-up' && member.page === undefined) this.parts.catchUp.request(member);
      }
    }
  }
}
