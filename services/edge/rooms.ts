/**
 * The rooms that this edge follows: opened when the first local member wants one, dropped a while after the last left,
 * compared with the confirmed heads whenever something may have been missed: a second look after opening (a new
 * subscription does not cover a NATS cluster's other nodes at once), a reconnect, a new leader, a producer's hint, a timer.
 */
import { RevcastError } from '../shared/errors.js';
import type { Disturbance } from '../log/log.js';
import type { EdgeParts } from './edge-parts.js';
import { Room } from './room.js';

/** The second look comes one to two of these after a room was opened, with that of all others opened meanwhile. */
const SECOND_LOOK_MS = 500;
/** Edges do not all ask at once when a leader is elected. */
const DISTURBANCE_SPREAD_MS = 500;
/** Nor at a producer's hint, and hints of this time are looked into together. */
const HINT_SPREAD_MS = 100;
/** Rooms whose head could not be confirmed are looked at again, all together, after this, then twice as long, and so on. */
const LOOK_RETRY_MIN_MS = 200;
const LOOK_RETRY_MAX_MS = 5_000;

export class Rooms {
  private readonly open = new Map<string, Room>();
  private readonly opening = new Map<string, Promise<Room>>();
  private readonly lingering = new Map<Room, () => void>();
  /** Open rooms that producers have named, not looked at yet. */
  private readonly hinted = new Set<string>();
  /** Rooms to be looked at again, because nobody answered. */
  private readonly unconfirmed = new Set<Room>();
  private lookRetryMs = LOOK_RETRY_MIN_MS;
  /** Opened since the last round of second looks; undefined: no round is to come. */
  private newlyOpened: Room[] | undefined;
  private readonly endDisturbances: () => void;
  private stopTimer: () => void = () => undefined;
  private closed = false;

  constructor(private readonly parts: EdgeParts) {
    this.endDisturbances = parts.live.onDisturbance((disturbance, room) => {
      this.onDisturbance(disturbance, room);
    });
    this.lookRegularly();
  }

  get count(): number {
    return this.open.size;
  }

  /** The open room. Throws `log_unavailable`, `too_many_rooms`. Answers in the same turn when it is open already. */
  get(name: string): Room | Promise<Room> {
    const room = this.open.get(name);
    if (room !== undefined) return room;
    const already = this.opening.get(name);
    if (already !== undefined) return already;
    const opening = this.openRoom(name).finally(() => {
      this.opening.delete(name);
    });
    this.opening.set(name, opening);
    return opening;
  }

  /** Nobody wants the room any more: it is followed a little longer. */
  emptied(room: Room): void {
    if (this.closed || this.open.get(room.name) !== room) return;
    this.lingering.get(room)?.();
    this.lingering.set(
      room,
      this.parts.clock.after(this.parts.settings.lingerMs, () => {
        this.lingering.delete(room);
        if (!room.isWanted) this.drop(room);
      }),
    );
  }

  close(): void {
    this.closed = true;
    this.endDisturbances();
    this.stopTimer();
    this.unconfirmed.clear();
    for (const cancel of this.lingering.values()) cancel();
    for (const room of this.open.values()) room.close();
    this.open.clear();
  }

  private async openRoom(name: string): Promise<Room> {
    if (this.open.size + this.opening.size >= this.parts.settings.maxRooms && !this.dropLingering()) {
      throw new RevcastError('too_many_rooms', `this edge follows ${this.open.size} rooms, the most it may`);
    }
    const room = new Room(name, this.parts);
    try {
      await room.open();
      if (this.closed) throw new RevcastError('shutting_down', 'the edge is stopping');
    } catch (error) {
      room.close();
      throw error;
    }
    this.open.set(name, room);
    // Whoever asked may be gone by now.
    this.emptied(room);
    this.lookAgainSoon(room);
    return room;
  }

  private lookAgainSoon(room: Room): void {
    if (this.newlyOpened === undefined) {
      this.newlyOpened = [];
      this.secondLooks([]);
    }
    this.newlyOpened.push(room);
  }

  /** Looks at `ripe` at the end of this round, and goes on with those that were opened during it. */
  private secondLooks(ripe: readonly Room[]): void {
    this.parts.clock.after(SECOND_LOOK_MS, () => {
      for (const room of ripe) this.look(room);
      const next = this.closed ? [] : (this.newlyOpened ?? []);
      this.newlyOpened = next.length === 0 ? undefined : [];
      if (next.length > 0) this.secondLooks(next);
    });
  }

  private drop(room: Room): void {
    this.open.delete(room.name);
    room.close();
  }

  /** Whether a room that only lingers could give way. */
  private dropLingering(): boolean {
    for (const [room, cancel] of this.lingering) {
      if (room.isWanted) continue;
      cancel();
      this.lingering.delete(room);
      this.drop(room);
      return true;
    }
    return false;
  }

  private onDisturbance(disturbance: Disturbance, room: string | undefined): void {
    if (disturbance === 'hinted') {
      if (room !== undefined && this.open.has(room)) this.lookAtHinted(room);
      return;
    }
    const spread = disturbance === 'leader_elected' ? DISTURBANCE_SPREAD_MS : 0;
    this.parts.clock.after(Math.random() * spread, () => {
      this.lookAtAll();
    });
  }

  /** The room, and all that are named until then, in one go. */
  private lookAtHinted(room: string): void {
    this.hinted.add(room);
    if (this.hinted.size > 1) return;
    this.parts.clock.after(Math.random() * HINT_SPREAD_MS, () => {
      const names = [...this.hinted];
      this.hinted.clear();
      for (const name of names) {
        const open = this.open.get(name);
        if (open !== undefined) this.look(open);
      }
    });
  }

  /** The lookup collects what is asked in one go into few requests, and only differences come back. */
  private lookAtAll(): void {
    for (const room of this.open.values()) this.look(room);
  }

  /** After a failure of NATS the revision service may be back later than this edge: what was missed must not wait for the timer. */
  private look(room: Room): void {
    if (this.open.get(room.name) === room) void this.lookUntilConfirmed(room);
  }

  private async lookUntilConfirmed(room: Room): Promise<void> {
    if (await room.tryLook()) {
      this.lookRetryMs = LOOK_RETRY_MIN_MS;
      return;
    }
    if (this.closed) return;
    this.unconfirmed.add(room);
    if (this.unconfirmed.size > 1) return;
    this.parts.clock.after(this.lookRetryMs * (0.5 + Math.random()), () => {
      const rooms = [...this.unconfirmed];
      this.unconfirmed.clear();
      this.lookRetryMs = Math.min(LOOK_RETRY_MAX_MS, this.lookRetryMs * 2);
      for (const each of rooms) this.look(each);
    });
  }

  private lookRegularly(): void {
    this.stopTimer = this.parts.clock.after(this.parts.settings.lookEveryMs, () => {
      this.lookAtAll();
      this.lookRegularly();
    });
  }
}
