/**
 * Decides when sockets are written to. An entry only marks its room; once per turn every dirty room's members are
 * visited, and a visit writes everything that its socket lacks, of all its rooms, in one cork.
 *
 * Large rooms go in slices of a few milliseconds with a turn of the event loop between, 32 visits of a room at a time, round
 * robin over the rooms. What arrives meanwhile is picked up by the members not yet visited, and the others are visited
 * once more: so batches grow under load by themselves.
 *
 * Steady members come first. Sessions that go on (drained, or with a page) take turns for a bounded part of each slice,
 * a few corks a visit: so however many catch up, a new revision waits a few milliseconds for them, and those who catch up
 * are never starved.
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

/** How long a slice may write before the event loop gets its turn, in milliseconds: to steady members, and then … */
interface Shares {
  readonly roomsMs: number;
  /** … to sessions that go on. */
  readonly resumedMs: number;
}

/** No room is dirty. What comes next waits so long for sessions that go on. */
const IDLE: Shares = { roomsMs: 0, resumedMs: 1 };
const BURST: Shares = { roomsMs: 4, resumedMs: 0.5 };
/**
 * Rooms have been dirty for BURST_MS: the edge is saturated, and coming first no longer makes anybody quick. Writing to
 * steady members is the work that shrinks when it waits, for their batches grow; joining and catching up is not. So they
 * get the larger part, and turns of the event loop come often: 10,000 clients that come back are then steady after a
 * third of the time.
 */
const SATURATED: Shares = { roomsMs: 1, resumedMs: 2 };
const BURST_MS = 50;
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
  /** Since when there was always a dirty room. */
  private dirtySince: number | undefined;
  private scheduled = false;
  private resumedScheduled = false;
  private readonly runFlush = () => {
    this.scheduled = false;
    this.slice();
  };
  private readonly runResumed = () => {
    this.resumedScheduled = false;
    this.counters.flushes += 1;
    this.visitResumed(IDLE.resumedMs);
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
    const start = this.clock.monotonic();
    this.counters.flushes += 1;
    const { roomsMs, resumedMs } = this.shares(start);
    for (let room = this.rooms.shift(); room !== undefined; room = this.rooms.shift()) {
      this.visitRoom(room);
      room.queued = room.visitsLeft > 0;
      if (room.queued) this.rooms.push(room);
      if (this.clock.monotonic() >= start + roomsMs) break;
    }
    if (this.rooms.length === 0) this.dirtySince = undefined;
    this.visitResumed(resumedMs);
    if (this.rooms.length > 0 || this.resumed.length > 0) this.schedule(setImmediate);
  }

  /** How long this slice may take for steady members, and then for sessions that go on. */
  private shares(now: number): Shares {
    if (this.rooms.length === 0) return IDLE;
    this.dirtySince ??= now;
    return now - this.dirtySince < BURST_MS ? BURST : SATURATED;
  }

  /** Whoever is not steady is not visited for what has come: a drain or a page is what it waits for. */
  private visitRoom(room: Room): void {
    let visits = Math.min(VISITS_PER_LOOK, room.visitsLeft);
    while (visits > 0 && room.members.length > 0) {
      if (room.nextVisit >= room.members.length) room.nextVisit = 0;
      const member = room.members[room.nextVisit];
      room.nextVisit += 1;
      room.visitsLeft -= 1;
      visits -= 1;
      if (member === undefined || member.cursor >= room.ring.headRev) continue;
      if (member.state === 'steady' || room.latest) this.visit(member.session);
    }
    if (room.members.length === 0) room.visitsLeft = 0;
  }

  /** At least one, and those who resume meanwhile in the next turn. */
  private visitResumed(forMs: number): void {
    const end = this.clock.monotonic() + forMs;
    for (let visits = this.resumed.length; visits > 0; visits -= 1) {
      const session = this.resumed.shift();
      if (session === undefined) return;
      session.resuming = false;
      this.visit(session);
      if (this.clock.monotonic() >= end) return;
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
