/**
 * Closes connections that have grown old, so that clients spread over edges that came later. Each has an age of its own
 * (`maxAgeMs`, by chance up to `jitter` more or less), so that those who came together do not leave together.
 *
 * A wheel: sockets are kept by the tick in which they are due, one timer for all, and to come or go costs O(1). At most
 * CLOSES_PER_TURN leave at once, the others of the tick a moment later. So an age is kept to a tick, under load to more.
 */
import type { Clock } from '../shared/clock.js';
import type { Closer, ClosingSocket } from './closer.js';

const CLOSES_PER_TURN = 200;
/** A tick is this part of the age, within bounds. */
const TICKS_PER_AGE = 200;
const TICK_MS = { least: 10, most: 1_000 } as const;

export interface ConnectionAgeParts {
  readonly clock: Clock;
  readonly closer: Pick<Closer, 'close'>;
  /** 0: connections may grow as old as they like. */
  readonly maxAgeMs: number;
  /** Per cent. */
  readonly jitter: number;
  readonly random: () => number;
  readonly onClose: () => void;
}

export class ConnectionAge {
  private readonly tickMs: number;
  private readonly due = new Map<number, Set<ClosingSocket>>();
  private readonly tickOf = new Map<ClosingSocket, number>();
  /** The tick that is looked at next. */
  private next = 0;
  private cancel: (() => void) | undefined;

  constructor(private readonly parts: ConnectionAgeParts) {
    this.tickMs = Math.min(Math.max(parts.maxAgeMs / TICKS_PER_AGE, TICK_MS.least), TICK_MS.most);
  }

  /** Sockets whose age is watched. */
  get size(): number {
    return this.tickOf.size;
  }

  start(): void {
    if (this.parts.maxAgeMs === 0) return;
    this.next = this.tickAt(this.parts.clock.monotonic());
    this.wait();
  }

  stop(): void {
    this.cancel?.();
    this.cancel = undefined;
    this.due.clear();
    this.tickOf.clear();
  }

  add(socket: ClosingSocket): void {
    if (this.cancel === undefined) return;
    const { clock, maxAgeMs, jitter, random } = this.parts;
    const ageMs = maxAgeMs * (1 + (jitter / 100) * (2 * random() - 1));
    this.put(socket, Math.max(this.tickAt(clock.monotonic() + ageMs) + 1, this.next));
  }

  remove(socket: ClosingSocket): void {
    const tick = this.tickOf.get(socket);
    if (tick === undefined) return;
    this.tickOf.delete(socket);
    const sockets = this.due.get(tick);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.due.delete(tick);
  }

  private put(socket: ClosingSocket, tick: number): void {
    const sockets = this.due.get(tick) ?? new Set<ClosingSocket>();
    this.due.set(tick, sockets.add(socket));
    this.tickOf.set(socket, tick);
  }

  private tickAt(ms: number): number {
    return Math.floor(ms / this.tickMs);
  }

  private wait(): void {
    const inMs = this.next * this.tickMs - this.parts.clock.monotonic();
    this.cancel = this.parts.clock.after(Math.max(inMs, TICK_MS.least), () => {
      this.closeDue();
      this.wait();
    });
  }

  /** Also of ticks that were missed while the edge was busy. */
  private closeDue(): void {
    const now = this.tickAt(this.parts.clock.monotonic());
    let closes = 0;
    for (; this.next <= now; this.next += 1) {
      for (const socket of this.due.get(this.next) ?? []) {
        if (closes === CLOSES_PER_TURN) return;
        closes += 1;
        this.remove(socket);
        this.parts.onClose();
        this.parts.closer.close(socket, 'connected for long enough');
      }
    }
  }
}
