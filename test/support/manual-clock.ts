/** A clock that only the test moves. Timers run in the order of their time, each with all that follows from it. */
import type { Clock } from '../../services/shared/clock.js';

interface Timer {
  readonly at: number;
  readonly action: () => void;
}

/** Lets promises and turns of the event loop that are due run out; no timer of a ManualClock is among them. */
export async function settle(turns = 12): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export class ManualClock implements Clock {
  private readonly timers = new Set<Timer>();
  private ms = 0;

  constructor(private readonly startsAt = 1_700_000_000_000) {}

  now(): number {
    return this.startsAt + this.ms;
  }

  monotonic(): number {
    return this.ms;
  }

  after(delayMs: number, action: () => void): () => void {
    const timer = { at: this.ms + delayMs, action };
    this.timers.add(timer);
    return () => {
      this.timers.delete(timer);
    };
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.timers.size;
  }

  /** Moves on without running timers, as time passes while the process computes. */
  skip(ms: number): void {
    this.ms += ms;
  }

  /** Moves on by `ms` and runs what comes due, one after the other. */
  async advance(ms: number): Promise<void> {
    const end = this.ms + ms;
    await settle();
    for (let next = this.nextUntil(end); next !== undefined; next = this.nextUntil(end)) {
      this.ms = Math.max(this.ms, next.at);
      this.timers.delete(next);
      next.action();
      await settle();
    }
    this.ms = end;
  }

  private nextUntil(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.timers) if (timer.at <= end && timer.at < (next?.at ?? Infinity)) next = timer;
    return next;
  }
}
