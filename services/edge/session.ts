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
import type { EdgeParts } from './edge-parts.js';
import { nextFrame } from './next-frame.js';
import type { Member } from './member.js';
import type { PreparedFrame } from './prepared-frame.js';
import type { Protocol, RequestId } from './protocols/protocol.js';
import { DROPPED, type EdgeSocket } from './uws.js';

/** Largest output of one cork, in bytes, with the frames' headers. */
const CORK_BYTES = 15_900;
/** Headers of the up to three fragments of a message, at most. */
const HEADER_BYTES = 24;

/** What uWebSockets.js keeps for a socket. */
export interface SocketData {
  readonly protocol: Protocol;
  /** Whether permessage-deflate was negotiated. */
  readonly deflates: boolean;
  session?: Session;
}

/** A room that a client has asked for and is not in yet. */
export interface Joining {
  cancelled: boolean;
}

/** Whether the member is due one message at most. */
function isOneMessage({ batch, cursor, room }: Member): boolean {
  return batch || cursor + 1 >= room.ring.headRev;
}

/** What a write left: nothing, more than the cork holds, or a frame that is too large for any cork. */
type Rest = 'none' | 'more' | 'large';

/** The session that is being written, for the one cork callback that all share: no closure per socket. */
const corked: { session: Session | undefined } = { session: undefined };
const writeCorked = () => {
  corked.session?.writeUpTo(CORK_BYTES);
};

export class Session {
  readonly members: Member[] = [];
  /** Rooms that it is about to join, so that a second subscribe or an unsubscribe finds them. */
  readonly joining = new Map<string, Joining>();
  /** How many of them there are, with those that were cancelled and have not come to their end. */
  joinsUnderWay = 0;
  readonly protocol: Protocol;
  /** In the flusher's list of sessions to go on with. */
  resuming = false;
  /** Monotonic milliseconds of the last sign of life. */
  lastSeen: number;

  private lastPing = Number.NEGATIVE_INFINITY;
  private ws: EdgeSocket<SocketData> | undefined;
  private readonly deflates: boolean;
  private blocked = false;
  /** How it is to be closed when it is no longer blocked; nothing more is written before that. */
  private ending: { readonly code: number; readonly reason: string } | undefined;
  /** A member that is not steady: looked for only then. */
  private hasLaggards = false;
  private rest: Rest = 'none';

  constructor(
    ws: EdgeSocket<SocketData>,
    data: SocketData,
    private readonly parts: EdgeParts,
  ) {
    this.ws = ws;
    this.protocol = data.protocol;
    this.deflates = data.deflates;
    this.lastSeen = parts.clock.monotonic();
  }

  get open(): boolean {
    return this.ws !== undefined;
  }

  memberOf(room: string): Member | undefined {
    return this.members.find((member) => member.room.name === room);
  }

  /** Sends a reply; a client that does not take its replies is cut off. */
  reply(text: string): void {
    if (this.ws?.send(text, false, false) === DROPPED) this.cut();
  }

  refuse(id: RequestId, error: RevcastError): void {
    this.reply(this.protocol.refusal(id, error));
  }

  add(member: Member, cursor: number): void {
    this.members.push(member);
    member.room.add(member, cursor);
    if (member.state !== 'steady') {
      this.hasLaggards = true;
      this.parts.flusher.resume(this);
    }
  }

  remove(member: Member): void {
    const at = this.members.indexOf(member);
    if (at >= 0) this.members.splice(at, 1);
    member.room.remove(member);
  }

  /** Ends one subscription and tells the client why. */
  endSubscription(member: Member, error: RevcastError): void {
    this.remove(member);
    this.refuse(member.id, error);
  }

  /** Writes what the socket lacks; whether it wrote anything. Never called inside a uWebSockets.js callback. */
  flush(): boolean {
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
    for (;;) {
      const rest = this.writeSome(ws);
      if (this.isBlocked(ws)) {
        this.block();
        break;
      }
      if (rest === 'none') {
        if (this.hasLaggards) this.settle();
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
    this.ws?.ping();
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
    this.flush();
    if (this.blocked) this.ending = { code, reason };
    else this.ws?.end(code, reason);
  }

  /** Cuts the connection without a close frame. */
  cut(): void {
    this.ws?.close();
  }

  /** Writes frames until `bytes` are used. Called inside the cork. */
  writeUpTo(bytes: number): void {
    const { ws, members } = this;
    if (ws === undefined) return;
    let left = bytes;
    for (let i = 0; i < members.length; i += 1) {
      const member = members[i];
      if (member === undefined) continue;
      let given = member.cursor;
      for (;;) {
        const frame = nextFrame(this.parts, member, given);
        if (frame === undefined) break;
        const size = this.wireBytes(member, frame);
        if (size > left) {
          this.rest = left === bytes ? 'large' : 'more';
          break;
        }
        this.write(ws, member, frame);
        left -= size;
        given = frame.lastRev;
        if (member.state !== 'steady') this.delivered(member, given);
      }
      // The ring is told once of all that a steady member was sent.
      if (given > member.cursor) this.delivered(member, given);
      if (this.rest !== 'none') return;
      // Also a member whose socket was never blocked: the ring may overtake it before a flush comes to it.
      if (member.state !== 'steady') this.hasLaggards = true;
    }
  }

  /** Writes as much as may go in one call, and says what is left. */
  private writeSome(ws: EdgeSocket<SocketData>): Rest {
    const { members } = this;
    const member = members[0];
    if (member !== undefined && members.length === 1 && !this.deflates && isOneMessage(member)) {
      // The usual case: a message in one piece needs no cork, which is 0.5 µs less.
      return this.writeAlone(ws, member) && member.cursor < member.room.ring.headRev ? 'more' : 'none';
    }
    const rest = this.writeInCork(ws);
    if (rest === 'large' && ws.getBufferedAmount() === 0) members.some((each) => this.writeAlone(ws, each));
    return rest;
  }

  private writeInCork(ws: EdgeSocket<SocketData>): Rest {
    this.rest = 'none';
    corked.session = this;
    ws.cork(writeCorked);
    corked.session = undefined;
    return this.rest;
  }

  /** Writes the member's next message, without a cork; whether there was one. */
  private writeAlone(ws: EdgeSocket<SocketData>, member: Member): boolean {
    const frame = nextFrame(this.parts, member, member.cursor);
    if (frame !== undefined) {
      this.write(ws, member, frame);
      this.delivered(member, frame.lastRev);
    }
    if (member.state !== 'steady') this.hasLaggards = true;
    return frame !== undefined;
  }

  private wireBytes(member: Member, frame: PreparedFrame): number {
    const bodyBytes = (this.deflates ? frame.deflated() : null)?.length ?? frame.bodyBytes;
    return HEADER_BYTES + member.openingBytes + bodyBytes;
  }

  /** One message, whole. The socket was empty when this cork began, so that no fragment can be dropped. */
  private write(ws: EdgeSocket<SocketData>, member: Member, frame: PreparedFrame): void {
    if (this.deflates && this.parts.settings.deflate === 'per-socket') {
      ws.send(Buffer.concat([member.opening, frame.body]), false, true);
      return;
    }
    const deflated = this.deflates ? frame.deflated() : null;
    if (deflated === null) {
      ws.send(frame.message(member), false, false);
    } else {
      ws.sendFirstFragment(this.protocol.first, false, true);
      ws.sendFragment(member.stored, false);
      ws.sendLastFragment(deflated, false);
    }
  }

  private delivered(member: Member, lastRev: number): void {
    this.parts.counters.deliveries += lastRev - member.cursor;
    member.room.ring.advance(member, lastRev);
  }

  private isBlocked(ws: EdgeSocket<SocketData>): boolean {
    return this.ws !== undefined && ws.getBufferedAmount() > 0;
  }

  private block(): void {
    this.blocked = true;
    this.hasLaggards = true;
    for (const member of this.members) if (member.cursor < member.room.ring.headRev) member.to('blocked');
  }

  /** Everything was written: members at the head are steady again; others wait for a page. */
  private settle(): void {
    this.hasLaggards = false;
    for (const member of this.members) {
      if (member.cursor === member.room.ring.headRev) member.to('reached_head');
      else this.hasLaggards = true;
    }
  }
}
