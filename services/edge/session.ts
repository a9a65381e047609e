/**
 * One socket: its memberships, its replies, and when it is written to (what is written: socket-writer.ts).
 *
 * Blocked: the socket has bytes that the kernel did not take. It is then sent nothing more until `drain` finds it
 * empty; what it lacks stays in the rings and pages, not here. So a slow client costs its cursors.
 */
import { RevcastError } from '../shared/errors.js';
import type { Joining } from './commands.js';
import type { EdgeParts } from './edge-parts.js';
import { Answers } from './greeting.js';
import { goOn } from './news.js';
import type { Deflate } from './next-frame.js';
import type { Member } from './member.js';
import type { Conversation, Encoding, Protocol, RequestId, Said, Telling } from './protocols/protocol.js';
import type { Written } from './socket-writer.js';
import { DROPPED, type ClientSocket } from './uws.js';

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

export class Session implements Written {
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
  /** How messages to this socket are compressed: by what was negotiated, and EDGE_DEFLATE. */
  readonly deflate: Deflate;
  readonly headerBytes: number;
  hasLaggards = false;

  private lastPing = Number.NEGATIVE_INFINITY;
  private ws: ClientSocket | undefined;
  private readonly conversation: Conversation | undefined;
  private blocked = false;
  /** How it is to be closed when it is no longer blocked; nothing more is written before that. */
  private ending: { readonly code: number; readonly reason: string } | undefined;

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

  /** Sends what the member was to be answered with its first revision: there will be none. */
  answerNow({ greeting }: Member): void {
    if (greeting instanceof Answers) for (const text of greeting.texts) this.reply(text);
  }

  /** Ends one subscription and tells the client why; one to news goes on instead. */
  endSubscription(member: Member, error: RevcastError): void {
    this.remove(member);
    if (member.encoding.isNews) goOn(member, error);
    else {
      this.answerNow(member);
      this.refuse(member.id, error);
    }
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
      const rest = this.parts.writer.write(ws, this);
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
