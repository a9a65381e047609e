/**
 * Carries out what clients ask. Joining a room may have to wait for the log; meanwhile the socket may close, the client
 * unsubscribe, or the room's history break, so all three are looked at again before the member is made.
 */
import { asError, RevcastError } from '../shared/errors.js';
import type { EdgeParts } from './edge-parts.js';
import { Answers, Greeting } from './greeting.js';
import { findStart, type Start } from './join.js';
import { Member } from './member.js';
import { rename } from './news.js';
import type { Command, Encoding, RequestId, Said } from './protocols/protocol.js';
import type { Room } from './room.js';
import type { Session } from './session.js';

type Subscribe = Extract<Command, { kind: 'subscribe' }>;
type Unsubscribe = Extract<Command, { kind: 'unsubscribe' }>;
type Ask = Extract<Command, { kind: 'ask' }>;
type Publish = Extract<Command, { kind: 'publish' }>;

/** A room that a client has asked for and is not in yet. */
export interface Joining {
  cancelled: boolean;
  /** Later requests for the same news, to be answered with the first; the last gives the subscription its id. */
  readonly later: RequestId[];
}

/** A room whose history breaks this often while one client joins is given up on. */
const MAX_TRIES = 3;
/** Answers that one connection may wait for. */
const MAX_ASKS = 48;

export class Commands {
  constructor(private readonly parts: EdgeParts) {}

  run(session: Session, command: Said): void {
    switch (command.kind) {
      case 'ping':
        session.reply(session.protocol.pong(command.id));
        return;
      case 'refused':
        session.refuse(command.id, command.error);
        return;
      case 'tell':
        session.tell(command.telling);
        return;
      case 'ask':
        this.ask(session, command).catch((error: unknown) => {
          this.refuse(session, command.id, error, 'a question could not be answered');
        });
        return;
      case 'publish':
        this.publish(session, command).catch((error: unknown) => {
          this.refuse(session, command.id, error, 'a publication failed');
        });
        return;
      case 'unsubscribe':
        this.unsubscribe(session, command);
        return;
      case 'subscribe':
        this.subscribe(session, command).catch((error: unknown) => {
          this.refuse(session, command.id, error, 'subscribe failed');
        });
        return;
    }
  }

  private async ask(session: Session, { id, find }: Ask): Promise<void> {
    if (session.asksUnderWay >= MAX_ASKS) {
      throw new RevcastError('overloaded', `a connection may wait for ${MAX_ASKS} answers`);
    }
    const found = find();
    session.asksUnderWay += 1;
    try {
      const data = found instanceof Promise ? await found : found;
      session.reply(session.protocol.answer(id, data));
    } finally {
      session.asksUnderWay -= 1;
    }
  }

  private async publish(session: Session, { id, publication }: Publish): Promise<void> {
    const { epoch, rev, firstRev, tag, time, duplicate } = await this.parts.publishing.publish(session, publication);
    const { room } = publication;
    const answer = { published: true, room, epoch, rev, firstRev, tag, time, duplicate };
    session.reply(session.protocol.answer(id, JSON.stringify(answer)));
  }

  private unsubscribe(session: Session, { id, room, encoding = session.protocol }: Unsubscribe): void {
    const member = session.memberOf(room, encoding);
    const key = joiningKey(room, encoding);
    const joining = session.joining.get(key);
    if (member !== undefined) {
      if (member.greeting instanceof Greeting) session.refuse(member.id, unsubscribedMeanwhile());
      else session.answerNow(member);
      session.remove(member);
    } else if (joining !== undefined) {
      joining.cancelled = true;
      session.joining.delete(key);
    } else if (!encoding.isNews) {
      session.refuse(id, new RevcastError('not_subscribed', 'this connection is not subscribed to the room'));
      return;
    }
    session.reply(encoding.unsubscribed(id, room));
  }

  private async subscribe(session: Session, command: Subscribe): Promise<void> {
    const { settings } = this.parts;
    const { room, encoding = session.protocol } = command;
    if (this.isSubscribed(session, command.id, room, encoding)) return;
    if (session.members.length + session.joinsUnderWay >= settings.maxRoomsPerSocket) {
      throw new RevcastError('too_many_rooms', `a connection may be in ${settings.maxRoomsPerSocket} rooms`);
    }
    const joining: Joining = { cancelled: false, later: [] };
    const key = joiningKey(room, encoding);
    session.joining.set(key, joining);
    session.joinsUnderWay += 1;
    try {
      await this.join(session, command, joining);
    } catch (error) {
      for (const id of joining.later) this.refuse(session, id, error, 'subscribe failed');
      throw error;
    } finally {
      session.joinsUnderWay -= 1;
      // After an unsubscribe it may be another subscribe's.
      if (session.joining.get(key) === joining) session.joining.delete(key);
    }
  }

  /** Whether the connection has the subscription, or is about to; to news it is then this request's. */
  private isSubscribed(session: Session, id: RequestId, room: string, encoding: Encoding): boolean {
    const member = session.memberOf(room, encoding);
    const joining = session.joining.get(joiningKey(room, encoding));
    if (member === undefined && joining === undefined) return false;
    if (!encoding.isNews) {
      throw new RevcastError('already_subscribed', 'this connection is subscribed to the room already');
    }
    if (member !== undefined) {
      const answer = encoding.subscribed(id, room, { ...member.room.position, rev: member.cursor });
      if (member.greeting instanceof Answers) this.answerLater(member.greeting, answer);
      else session.reply(answer);
      if (session.open) rename(member, id);
    } else if (joining !== undefined) {
      if (joining.later.length >= MAX_ASKS) throw new RevcastError('overloaded', 'too many requests for one room');
      joining.later.push(id);
    }
    return true;
  }

  /** A socket that takes nothing is not asked for more than a connection may wait for. */
  private answerLater({ texts }: Answers, text: string): void {
    if (texts.length >= MAX_ASKS) throw new RevcastError('overloaded', 'too many requests for one room');
    texts.push(text);
  }

  private async join(session: Session, command: Subscribe, joining: Joining): Promise<void> {
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      const opened = this.parts.rooms.get(command.room);
      const room = opened instanceof Promise ? await opened : opened;
      if (await this.joinRoom(session, command, joining, room)) return;
    }
    throw new RevcastError('log_unavailable', 'the room changes its history just now');
  }

  /** Whether that settles it: the room may close, or its history break, while it is found out where to begin. */
  private async joinRoom(session: Session, command: Subscribe, joining: Joining, room: Room): Promise<boolean> {
    const { generation } = room;
    room.joining += 1;
    try {
      const found = findStart(this.parts, room, command.since);
      const start = found instanceof Promise ? await found : found;
      if (!session.open) return true;
      if (joining.cancelled) throw unsubscribedMeanwhile();
      if (!room.isOpen || room.generation !== generation) return false;
      this.admit(session, command, { room, start, later: joining.later });
      return true;
    } finally {
      room.joining -= 1;
      if (!room.isWanted) this.parts.rooms.emptied(room);
    }
  }

  /** The answer goes out before the first revision, with it. */
  private admit(
    session: Session,
    { id, batch, encoding = session.protocol, missed }: Subscribe,
    { room, start: { cursor, tag, snapshot }, later }: { room: Room; start: Start; later: readonly RequestId[] },
  ): void {
    const position = { epoch: room.position.epoch, rev: cursor, tag };
    const member = new Member(session, room, later.at(-1) ?? id, batch, encoding);
    if (snapshot === undefined && missed !== undefined && cursor < room.position.rev) {
      member.encodeUntil(room.position.rev, missed(room.position.rev));
      session.add(member, cursor);
      return;
    }
    if (snapshot === undefined) {
      member.greeting = new Answers([id, ...later].map((each) => encoding.subscribed(each, room.name, position)));
    } else {
      const { frames } = this.parts;
      const answer =
        snapshot === null ? frames.joinedWithout(room.name, position, encoding) : frames.joined(snapshot, encoding);
      member.greeting = new Greeting(encoding, id, answer);
    }
    session.add(member, cursor);
  }

  private refuse(session: Session, id: RequestId, error: unknown, what: string): void {
    if (error instanceof RevcastError) {
      session.refuse(id, error);
      return;
    }
    this.parts.logger.error({ err: asError(error) }, what);
    session.refuse(id, new RevcastError('internal', 'the edge failed; the fault was logged'));
  }
}

function joiningKey(room: string, { index }: Encoding): string {
  return `${index} ${room}`;
}

function unsubscribedMeanwhile(): RevcastError {
  return new RevcastError('not_subscribed', 'unsubscribed before the room was joined');
}
