/**
 * Carries out what clients ask. Joining a room may have to wait for the log; meanwhile the socket may close, the client
 * unsubscribe, or the room's history break, so all three are looked at again before the member is made.
 */
import { asError, RevcastError } from '../shared/errors.js';
import type { EdgeParts } from './edge-parts.js';
import { Greeting } from './greeting.js';
import { findStart, type Start } from './join.js';
import { Member } from './member.js';
import type { Command } from './protocols/protocol.js';
import type { Room } from './room.js';
import type { Joining, Session } from './session.js';

type Subscribe = Extract<Command, { kind: 'subscribe' }>;
type Unsubscribe = Extract<Command, { kind: 'unsubscribe' }>;

/** A room whose history breaks this often while one client joins is given up on. */
const MAX_TRIES = 3;

export class Commands {
  constructor(private readonly parts: EdgeParts) {}

  run(session: Session, command: Command): void {
    switch (command.kind) {
      case 'ping':
        session.reply(session.protocol.pong(command.id));
        return;
      case 'refused':
        session.refuse(command.id, command.error);
        return;
      case 'unsubscribe':
        this.unsubscribe(session, command);
        return;
      case 'subscribe':
        this.subscribe(session, command).catch((error: unknown) => {
          this.refuseSubscribe(session, command, error);
        });
        return;
    }
  }

  private unsubscribe(session: Session, { id, room }: Unsubscribe): void {
    const member = session.memberOf(room);
    const joining = session.joining.get(room);
    if (member !== undefined) {
      if (member.greeting !== undefined) session.refuse(member.id, unsubscribedMeanwhile());
      session.remove(member);
    } else if (joining !== undefined) {
      joining.cancelled = true;
      session.joining.delete(room);
    } else {
      session.refuse(id, new RevcastError('not_subscribed', 'this connection is not subscribed to the room'));
      return;
    }
    session.reply(session.protocol.unsubscribed(id, room));
  }

  private async subscribe(session: Session, command: Subscribe): Promise<void> {
    const { settings } = this.parts;
    if (session.memberOf(command.room) !== undefined || session.joining.has(command.room)) {
      throw new RevcastError('already_subscribed', 'this connection is subscribed to the room already');
    }
    if (session.members.length + session.joinsUnderWay >= settings.maxRoomsPerSocket) {
      throw new RevcastError('too_many_rooms', `a connection may be in ${settings.maxRoomsPerSocket} rooms`);
    }
    const joining: Joining = { cancelled: false };
    session.joining.set(command.room, joining);
    session.joinsUnderWay += 1;
    try {
      await this.join(session, command, joining);
    } finally {
      session.joinsUnderWay -= 1;
      // After an unsubscribe it may be another subscribe's.
      if (session.joining.get(command.room) === joining) session.joining.delete(command.room);
    }
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
      this.admit(session, command, room, start);
      return true;
    } finally {
      room.joining -= 1;
      if (!room.isWanted) this.parts.rooms.emptied(room);
    }
  }

  /** The answer goes out before the first revision: the member is made after it, in the same turn. */
  private admit(session: Session, { id, batch }: Subscribe, room: Room, { cursor, tag, snapshot }: Start): void {
    const position = { epoch: room.position.epoch, rev: cursor, tag };
    const { protocol } = session;
    if (snapshot === undefined) {
      session.reply(protocol.subscribed(id, room.name, position));
      if (session.open) session.add(new Member(session, room, id, batch), cursor);
      return;
    }
    const { frames } = this.parts;
    const answer =
      snapshot === null ? frames.joinedWithout(room.name, position, protocol) : frames.joined(snapshot, protocol);
    const member = new Member(session, room, id, batch);
    member.greeting = new Greeting(protocol, id, answer);
    session.add(member, cursor);
  }

  private refuseSubscribe(session: Session, { id, room }: Subscribe, error: unknown): void {
    if (error instanceof RevcastError) {
      session.refuse(id, error);
      return;
    }
    this.parts.logger.error({ room, err: asError(error) }, 'subscribe failed');
    session.refuse(id, new RevcastError('internal', 'the edge failed; the fault was logged'));
  }
}

function unsubscribedMeanwhile(): RevcastError {
  return new RevcastError('not_subscribed', 'unsubscribed before the room was joined');
}
