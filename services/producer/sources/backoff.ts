/**
 * How long to wait before the next attempt: doubles from `firstMs` to `maxMs`, each wait drawn from its upper half, so
 * that many clients of one failed server do not come back at the same moment.
 */
export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

export class Backoff {
  /** Attempts since the last success. */
  private attempts = 0;

  constructor(
    private readonly limits: BackoffLimits,
    private readonly random: () => number = Math.random,
  ) {}

  /** Milliseconds to wait before the next attempt. */
  next(): number {
    // The exponent is capped: 2 ** 1024 would be Infinity, and Infinity * 0 is not a number.
    const ceiling = Math.min(this.limits.maxMs, this.limits.firstMs * 2 ** Math.min(this.attempts, 30));
    this.attempts += 1;
    return ceiling * (0.5 + this.random() / 2);
  }

  /** After a success: the next wait is the shortest again. */
  reset(): void {
    this.attempts = 0;
  }
}
