/**
 * Who may connect: at most `maxSockets` at once, and `rate` a second with `burst` at once (a token bucket; rate 0: no
 * limit). Beyond that the answer is 503 before the upgrade, with a Retry-After that differs by chance, so that those who
 * were refused together do not come back together. Counted.
 */
import type { Clock } from '../shared/clock.js';
import { RevcastError } from '../shared/errors.js';
import type { EdgeCounters } from './counters.js';
import type { Refusal } from './upgrade.js';

/** Whoever is refused comes back after 1 to so many seconds. */
const MAX_RETRY_AFTER_S = 5;
/** Of the files that a process may open, these are not for sockets: the listener, NATS, requests, those on their way out. */
const RESERVED_SHARE = 0.05;
const RESERVED_LEAST = 64;

export interface AcceptLimitParts {
  readonly maxSockets: number;
  readonly rate: number;
  readonly burst: number;
  readonly clock: Clock;
  readonly counters: Pick<EdgeCounters, 'refusedFull' | 'refusedRate' | 'refusedStopping'>;
  readonly random: () => number;
}

export class AcceptLimits {
  private readonly bucket: TokenBucket | undefined;

  constructor(private readonly parts: AcceptLimitParts) {
    const { rate, burst, clock } = parts;
    if (rate > 0) this.bucket = new TokenBucket(rate, burst, clock);
  }

  isFull(sockets: number): boolean {
    return sockets >= this.parts.maxSockets;
  }

  /** Why one more is not taken; else its token is used up, unless it was `counted` before. */
  refusal(sockets: number, counted = false): Refusal | undefined {
    const { counters, rate } = this.parts;
    if (this.isFull(sockets)) {
      counters.refusedFull += 1;
      return this.refused(new RevcastError('overloaded', `this edge has ${sockets} sockets, the most it may`));
    }
    if (counted || this.bucket === undefined || this.bucket.take()) return undefined;
    counters.refusedRate += 1;
    return this.refused(new RevcastError('overloaded', `this edge takes ${rate} new sockets a second`));
  }

  /** Of an edge that is stopping. */
  stopping(): Refusal {
    this.parts.counters.refusedStopping += 1;
    return this.refused(new RevcastError('shutting_down', 'this edge is stopping'), 1);
  }

  private refused(error: RevcastError, afterS = 1 + Math.floor(this.parts.random() * MAX_RETRY_AFTER_S)): Refusal {
    const headers: [string, string][] = [['Retry-After', String(afterS)]];
    return { kind: 'refuse', status: '503 Service Unavailable', headers, error, closes: true };
  }
}

/** Sums of parts of a token may be a little less than one. */
const ROUNDING = 1e-9;

/** So many tokens a second, up to `burst` of them kept. */
export class TokenBucket {
  private tokens: number;
  private atMs: number;

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
    private readonly clock: Pick<Clock, 'monotonic'>,
  ) {
    this.tokens = burst;
    this.atMs = clock.monotonic();
  }

  take(): boolean {
    const now = this.clock.monotonic();
    this.tokens = Math.min(this.burst, this.tokens + ((now - this.atMs) * this.perSecond) / 1_000);
    this.atMs = now;
    if (this.tokens < 1 - ROUNDING) return false;
    this.tokens -= 1;
    return true;
  }
}

/** How many sockets a process may have that may open so many files. */
export function socketsWithin(openFiles: number): number {
  if (openFiles === Number.POSITIVE_INFINITY) return openFiles;
  return Math.max(1, openFiles - Math.max(RESERVED_LEAST, Math.ceil(openFiles * RESERVED_SHARE)));
}
