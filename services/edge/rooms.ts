/**
 * The rooms that this edge follows: opened when the first local member wants one, dropped a while after the last left,
 * compared with the confirmed heads whenever something may have been missed: a second look after opening (a new
 * subscription does not cover a NATS cluster's other nodes at once), a reconnect, a new leader, a timer.
 */
import { RevcastError } from '../shared/errors.js';
import type { Disturbance } from '../log/log.js';
import type { EdgeParts } from './edge-parts.js';
import { Room } from './room.js';

const SECOND_LOOK_MIN_MS = 500;
const SECOND_LOOK_SPREAD_MS = 500;
/** Edges do not all ask at once when a leader is elected. */
const DISTURBANCE_SPREAD_MS = 500;

export class Rooms {
  private readonly open = new Map<string, Room>();
  private readonly opening = new Map<string, Promise<Room>>();
  private readonly lingering = new Map<Room, () => void>();
  private readonly endDisturbances: () => void;
  private stopTimer: () => void = () => undefined;
  private closed = false;

  constructor(private readonly parts: EdgeParts) {
    this.endDisturbances = parts.live.onDisturbance((disturbance) => {
      this.onDisturbance(disturbance);
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
    this.parts.clock.after(SECOND_LOOK_MIN_MS + Math.random() * SECOND_LOOK_SPREAD_MS, () => {
      if (this.open.get(name) === room) room.look();
    });
    return room;
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

  private onDisturbance(disturbance: Disturbance): void {
    const spread = disturbance === 'leader_elected' ? DISTURBANCE_SPREAD_MS : 0;
    this.parts.clock.after(Math.random() * spread, () => {
      this.lookAtAll();
    });
  }

  /** The lookup collects what is asked in one go into few requests, and only differences come back. */
  private lookAtAll(): void {
    for (const room of this.open.values()) room.look();
  }

  private lookRegularly(): void {
    this.stopTimer = this.parts.clock.after(this.parts.settings.lookEveryMs, () => {
      this.lookAtAll();
      this.lookRegularly();
    });
  }
}
