/**
 * When a request without an answer is sent again, beside the first. NATS gives a request to any replica of its group, also
 * to one that hangs; another request meets another replica, by chance.
 *
 * quick: answers, when they come, come in a fraction of the time that a request has. A request that is late then has met a replica that
 * hangs, and is sent again as soon as it is late by what answers take, as often as it is: one hung replica of two delays a
 * request by tens of milliseconds. slow: whoever asks twice makes it slower, so hedges wait for `hedgeMs`, and there are at
 * most HEDGES_PER_SECOND.
 */
import type { Clock } from '../shared/clock.js';

const HEDGES_PER_SECOND = 20;
/** Late is what takes so many times what answers take on average, but not less than this part of `hedgeMs`. */
const LATE_FACTOR = 4;
const LEAST_PART = 1 / 4;
/** Of the time that a request has: what is late only after more of it is slow. */
const QUICK_PART = 1 / 2;
/** How much of the average the last answer is. */
const WEIGHT = 0.1;

export class Hedging {
  private hedgesLeft = HEDGES_PER_SECOND;
  private countedAt: number;
  /** How long an answer takes on average, in milliseconds; undefined: there was none. */
  private usualMs: number | undefined;

  constructor(
    private readonly clock: Clock,
    /** hedgeMs 0: nothing is sent twice. */
    private readonly limits: { readonly hedgeMs: number; readonly timeoutMs: number },
  ) {
    this.countedAt = clock.monotonic();
  }

  /** A request was answered after so long. */
  answered(afterMs: number): void {
    this.usualMs = this.usualMs === undefined ? afterMs : this.usualMs + (afterMs - this.usualMs) * WEIGHT;
  }

  /** How long a request waits for its answer before it is sent again; undefined: it is not. */
  get delayMs(): number | undefined {
    const { hedgeMs } = this.limits;
    if (hedgeMs === 0) return undefined;
    return this.isQuick ? Math.max(this.lateMs, hedgeMs * LEAST_PART) : hedgeMs;
  }

  /** Whether one more may be sent now, which is counted. */
  take(): boolean {
    if (this.isQuick) return true;
    const now = this.clock.monotonic();
    const earned = ((now - this.countedAt) / 1_000) * HEDGES_PER_SECOND;
    this.hedgesLeft = Math.min(HEDGES_PER_SECOND, this.hedgesLeft + earned);
    this.countedAt = now;
    if (this.hedgesLeft < 1) return false;
    this.hedgesLeft -= 1;
    return true;
  }

  private get lateMs(): number {
    return (this.usualMs ?? Number.POSITIVE_INFINITY) * LATE_FACTOR;
  }

  private get isQuick(): boolean {
    return this.lateMs <= this.limits.timeoutMs * QUICK_PART;
  }
}
