/**
 * Decides when sockets are written to. An entry only marks its room; once per turn every dirty room's members are
 * visited, and a visit writes everything that its socket lacks, of all its rooms, in one cork.
 *
 * Large rooms go in slices of a few milliseconds with a turn of the event loop between, 32 visits of a room at a time, round
 * robin over the rooms. What arrives meanwhile is picked up by the members not yet visited, and the others are visited
 * once more: so batches grow under load by themselves.
 *
 * Steady members come first. Sessions that go on (drained, with a page, or about to be answered) take turns for a
 * bounded part of each slice, a few corks a visit: so however many catch up, a new revision waits a few milliseconds for
 * them, and those who catch up are never starved.
 *
 * A room that is dirty for longer than BURST_MS, and to which more comes before a visit of all its members can be over, has
 * more to send than this edge can: coming first no longer makes its members quick. Writing to them is the work that shrinks
 * when it waits, for their batches grow; joining and catching up is not. So while sessions wait to go on, such rooms get one
 * look a slice: 10,000 clients that come back to a room with 50 revisions a second were writing their answers in 40 % of
 * the time, and live revisions, a few at a time, in as much. Other rooms are not in that line, and come first as ever; also
 * one that is only held up now and then, which in that line would not get out of it while others go on.
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

/** How long a slice may write before the event loop gets its turn, in milliseconds: to rooms that became dirty, … */
const ROOMS_MS = 4;
/** … where rooms follow each other without end, … */
const SATURATED_MS = 1;
/** … and to sessions that go on: where no room is dirty; beside rooms that are; beside rooms that stay so. */
const RESUMED_MS = { idle: 1, busy: 0.5, saturated: 2 } as const;
/** A room that is dirty for longer may stay dirty; and so does an edge whose rooms follow each other for so long. */
const BURST_MS = 50;
/** Visits between two looks at the clock, and of one room before the next room's turn. */
const VISITS_PER_LOOK = 32;

export interface FlusherOptions {
  readonly mode: 'microtask' | 'immediate' | 'sync';
  /** Collect for so long before a flush; 0: not at all. */
  readonly delayMs: number;
}

export class Flusher {
  /** Rooms that became dirty, the next to visit first. */
  private readonly rooms = new Queue<Room>();
  /** Rooms that are dirty for longer than BURST_MS. */
  private readonly saturated = new Queue<Room>();
  private readonly resumed = new Queue<Session>();
  /** Since when there was always a room that became dirty. */
  private busySince: number | undefined;
  private scheduled = false;
  private resumedScheduled = false;
  private readonly runFlush = () => {
    this.scheduled = false;
    this.slice();
  };
  private readonly runResumed = () => {
    this.resumedScheduled = false;
    this.counters.flushes += 1;
    this.visitResumed(RESUMED_MS.idle);
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
      room.dirtySince = this.clock.monotonic();
      room.marks = 0;
      room.visitedMs = 0;
      room.visits = 0;
      this.rooms.push(room);
    }
    room.marks += 1;
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
    // A room that stays dirty has its next look in the next slice.
    const staysDirty = this.saturated.length > 0;
    let resumedMs: number = RESUMED_MS.idle;
    if (this.rooms.length > 0) {
      this.busySince ??= start;
      const isSaturated = start - this.busySince >= BURST_MS;
      resumedMs = isSaturated ? RESUMED_MS.saturated : RESUMED_MS.busy;
      this.visitRooms(this.rooms, isSaturated ? SATURATED_MS : ROOMS_MS);
      if (this.rooms.length === 0) this.busySince = undefined;
    }
    if (staysDirty) {
      resumedMs = RESUMED_MS.saturated;
      this.visitRooms(this.saturated, 0);
    }
    this.visitResumed(resumedMs);
    if (this.rooms.length + this.saturated.length + this.resumed.length > 0) this.schedule(setImmediate);
  }

  /** Rooms of the queue, in turn, for so long, and at least one look at one of them. */
  private visitRooms(queue: Queue<Room>, forMs: number): void {
    let now = this.clock.monotonic();
    const end = now + forMs;
    for (let room = queue.shift(); room !== undefined; room = queue.shift()) {
      const before = now;
      this.visitRoom(room);
      now = this.clock.monotonic();
      room.visitedMs += now - before;
      room.queued = room.visitsLeft > 0;
      if (room.queued) (isOverloaded(room, now) ? this.saturated : this.rooms).push(room);
      if (now >= end) return;
    }
  }

  /** Whoever is not steady is not visited for what has come: a drain or a page is what it waits for. */
  private visitRoom(room: Room): void {
    let visits = Math.min(VISITS_PER_LOOK, room.visitsLeft);
    while (visits > 0 && room.members.length > 0) {
      if (room.nextVisit >= room.members.length) room.nextVisit = 0;
      const member = room.members[room.nextVisit];
      room.nextVisit += 1;
      room.visitsLeft -= 1;
      room.visits += 1;
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

/** Whether it is dirty for long, and a visit of all its members takes longer than what comes next stays away. */
function isOverloaded({ dirtySince, marks, visitedMs, visits, members }: Room, now: number): boolean {
  const dirtyMs = now - dirtySince;
  if (dirtyMs < BURST_MS) return false;
  const roundMs = (visitedMs / visits) * members.length;
  return roundMs * marks >= dirtyMs;
}
