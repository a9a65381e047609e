/**
 * Whether the revision service can be asked at all. When nobody answers (NATS says so at once; or MANY_TIMEOUTS requests
 * in a row had no answer, and nobody had one for as long as a request may take), requests are refused for a pause, and after each pause one goes, to find out: so an outage
 * costs the asker no waiting and NATS no storm.
 *
 *   answering ──nobody──▶ paused ──pause over──▶ trying (one request) ──answer──▶ answering
 *                            ▲──── none: the pause doubles ────┘
 */
import type { RequestFailure } from '../log/jetstream/request-error.js';
import type { Clock } from '../shared/clock.js';

/** One hung replica of several makes requests time out, many of them where many are under way; but others are answered meanwhile. */
const MANY_TIMEOUTS = 8;
/** Half of the pause to all of it, at random. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 1_000;

type State =
  | { readonly kind: 'answering' }
  | { readonly kind: 'paused'; readonly pauseMs: number; readonly until: number }
  | { readonly kind: 'trying'; readonly pauseMs: number };

export class Outage {
  private state: State = { kind: 'answering' };
  /** In a row. */
  private timeouts = 0;
  private answeredAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly clock: Clock,
    /** How long a request may take. */
    private readonly timeoutMs: number,
  ) {}

  /** Whether a request may go now. One that may must be reported with `answered` or `failed`. */
  admits(): boolean {
    switch (this.state.kind) {
      case 'answering':
        return true;
      case 'trying':
        return false;
      case 'paused':
        if (this.clock.monotonic() < this.state.until) return false;
        this.state = { kind: 'trying', pauseMs: this.state.pauseMs };
        return true;
    }
  }

  /** Somebody is there. */
  answered(): void {
    this.timeouts = 0;
    this.answeredAt = this.clock.monotonic();
    this.state = { kind: 'answering' };
  }

  /** A request had no answer. Whether that begins an outage. */
  failed(failure: RequestFailure): boolean {
    this.timeouts = failure === 'timed_out' ? this.timeouts + 1 : 0;
    switch (this.state.kind) {
      case 'answering':
        if (failure !== 'no_responders' && !this.isSilent) return false;
        this.pause(MIN_PAUSE_MS);
        return true;
      case 'trying':
        this.pause(Math.min(MAX_PAUSE_MS, this.state.pauseMs * 2));
        return false;
      case 'paused':
        return false;
    }
  }

  private get isSilent(): boolean {
    return this.timeouts >= MANY_TIMEOUTS && this.clock.monotonic() - this.answeredAt >= this.timeoutMs;
  }

  private pause(pauseMs: number): void {
    const until = this.clock.monotonic() + pauseMs * (0.5 + Math.random() / 2);
    this.state = { kind: 'paused', pauseMs, until };
  }
}
