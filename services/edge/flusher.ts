/**
 * Decides when sockets are written to. An entry only marks its room; once per turn every dirty room's members are
 * visited, and a visit writes everything that its socket lacks, of all its rooms, in one cork.
 *
 * Large rooms go in slices of SLICE_MS with a turn of the event loop between, 32 visits of a room at a time, round
 * robin over the rooms. What arrives meanwhile is picked up by the members not yet visited, and the others are visited
 * once more: so batches grow under load by themselves.
 *
 * Never runs inside a uWebSockets.js callback: rooms are marked by the log's callbacks only, and `resume` waits for a
 * turn of its own. (There the one cork is taken, and every send would be a system call.)
 */
import { asError } from '../shared/errors.js';
import type { Clock } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import type { EdgeCounters } from './counters.js';
import { Queue } from './queue.js';
import type { Room } from './room.js';
import type { Session } from './session.js';

/** How long a slice may write before the event loop gets its turn, in milliseconds. */
const SLICE_MS = 4;
/** Visits between two looks at the clock, and of one room before the next room's turn. */
const VISITS_PER_LOOK = 32;

export interface FlusherOptions {
  readonly mode: 'microtask' | 'immediate' | 'sync';
  /** Collect for so long before a flush; 0: not at all. */
  readonly delayMs: number;
}

export class Flusher {
  /** Dirty rooms, the next to visit first. */
  private readonly rooms = new Queue<Room>();
  private readonly resumed = new Queue<Session>();
  private scheduled = false;
  private resumedScheduled = false;
  private readonly runFlush = () => {
    this.scheduled = false;
    this.slice();
  };
  private readonly runResumed = () => {
    this.resumedScheduled = false;
    this.counters.flushes += 1;
    this.visitResumed();
    if (this.resumed.length > 0) this.scheduleResumed();
  };

  constructor(
    private readonly options: FlusherOptions,
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly counters: EdgeCounters,
  ) {}

  /** The room has revisions that members lack: visit them all. Called by the log's callbacks only. */
  mark(room: Room): void {
    if (room.members.length === 0) return;
    room.visitsLeft = room.members.length;
    if (!room.queued) {
      room.queued = true;
      this.rooms.push(room);
    }
    if (this.options.mode === 'sync') this.slice();
    else if (this.options.delayMs > 0) this.schedule((run) => this.clock.after(this.options.delayMs, run));
    else if (this.options.mode === 'microtask') this.schedule(queueMicrotask);
    else this.schedule(setImmediate);
  }

  /** The session can be written to again, or has a page: visit it in a turn of its own. */
  resume(session: Session): void {
    if (session.resuming) return;
    session.resuming = true;
    this.resumed.push(session);
    // Whoever catches up does not wait for what is being collected.
    if (this.options.delayMs > 0) this.scheduleResumed();
    else this.schedule(setImmediate);
  }

  private scheduleResumed(): void {
    if (this.resumedScheduled) return;
    this.resumedScheduled = true;
    setImmediate(this.runResumed);
  }

  private schedule(when: (run: () => void) => unknown): void {
    if (this.scheduled) return;
    this.scheduled = true;
    when(this.runFlush);
  }

  private slice(): void {
    const end = this.clock.monotonic() + SLICE_MS;
    this.counters.flushes += 1;
    for (;;) {
      this.visitResumed();
      const room = this.rooms.shift();
      if (room === undefined) break;
      this.visitRoom(room);
      room.queued = room.visitsLeft > 0;
      if (room.queued) this.rooms.push(room);
      if (this.clock.monotonic() >= end) break;
    }
    if (this.rooms.length > 0 || this.resumed.length > 0) this.schedule(setImmediate);
  }

  private visitRoom(room: Room): void {
    let visits = Math.min(VISITS_PER_LOOK, room.visitsLeft);
    while (visits > 0 && room.members.length > 0) {
      if (room.nextVisit >= room.members.length) room.nextVisit = 0;
      const member = room.members[room.nextVisit];
      room.nextVisit += 1;
      room.visitsLeft -= 1;
      visits -= 1;
      if (member !== undefined && member.cursor < room.ring.headRev) this.visit(member.session);
    }
    if (room.members.length === 0) room.visitsLeft = 0;
  }

  private visitResumed(): void {
    for (let visits = Math.min(this.resumed.length, VISITS_PER_LOOK); visits > 0; visits -= 1) {
      const session = this.resumed.shift();
      if (session === undefined) return;
      session.resuming = false;
      this.visit(session);
    }
  }

  private visit(session: Session): void {
    try {
      if (session.flush()) this.counters.socketsFlushed += 1;
    } catch (error) {
      // One socket's fault must not stop the others' flush; what it was sent may be half a message, so it is cut off.
      this.logger.error({ err: asError(error) }, 'flush: a socket failed');
      session.cut();
    }
  }
}
