/**
 * Asks whichever replica of the revision service NATS gives a request to.
 *
 *   ask ──in an outage, or too many wait──▶ fails at once
 *    ▼
 *   waiting ──a place is free──▶ attempt ─┬─ it is late (hedging.ts): the same request again; the first answer wins
 *                                   ▲     └─ fails for now ─┐
 *                                   └── ATTEMPTS, with a wait ┘
 *
 * A hung replica stays in the queue group, and a second try may meet it again by chance: several requests, a little after
 * each other, are unlikely to meet no other, and cost a fraction of the timeout. Limits: HEDGES of one attempt; `maxUnderWay`
 * calls at once, `maxWaiting` behind them for MAX_WAIT_MS, then `overloaded`.
 */
import type { NatsLink } from '../log/jetstream/nats-link.js';
import { RequestError } from '../log/jetstream/request-error.js';
import { sleep, type Clock } from '../shared/clock.js';
import { asError, RevcastError } from '../shared/errors.js';
import { Hedging } from './hedging.js';
import { Outage } from './outage.js';

const ATTEMPTS = 2;
/** The wait before another try is half of this to all of it, at random. */
const RETRY_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;
/** Of one attempt: with one of two replicas hung, 1 attempt in 8,192 meets only that one, and both of a call 1 in 67 million. */
const HEDGES = 12;

export interface RpcAskerLimits {
  /** Of one attempt. */
  readonly timeoutMs: number;
  /** 0: nothing is asked twice at once. */
  readonly hedgeMs: number;
  readonly maxUnderWay: number;
  readonly maxWaiting: number;
}

export interface RpcAskerParts {
  readonly link: Pick<NatsLink, 'request'>;
  readonly clock: Clock;
  readonly limits: RpcAskerLimits;
}

interface Call<T> {
  readonly subject: string;
  readonly request: Uint8Array;
  readonly decode: (reply: Uint8Array) => T;
}

interface Waiting {
  readonly since: number;
  readonly resolve: () => void;
  readonly reject: (error: RevcastError) => void;
}

export class RpcAsker {
  private underWay = 0;
  /** In order. */
  private readonly waiting = new Set<Waiting>();
  private readonly outage: Outage;
  private readonly hedging: Hedging;

  constructor(private readonly parts: RpcAskerParts) {
    this.outage = new Outage(parts.clock, parts.limits.timeoutMs);
    this.hedging = new Hedging(parts.clock, parts.limits);
  }

  /** The decoded reply. Throws `log_unavailable`, `overloaded`, and what `decode` throws. */
  async ask<T>(subject: string, request: Uint8Array, decode: (reply: Uint8Array) => T): Promise<T> {
    await this.enter();
    try {
      return await this.tryAgain({ subject, request, decode });
    } finally {
      this.leave();
    }
  }

  private async enter(): Promise<void> {
    const { maxUnderWay, maxWaiting } = this.parts.limits;
    const full = this.underWay >= maxUnderWay;
    if (full && this.waiting.size >= maxWaiting) {
      throw new RevcastError('overloaded', `${maxWaiting} requests to the revision service are waiting`);
    }
    if (!this.outage.admits()) throw nobodyAnswers();
    if (!full) {
      this.underWay += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      this.waiting.add({ since: this.parts.clock.monotonic(), resolve, reject });
    });
  }

  /** Gives the place to the next who has not waited too long. */
  private leave(): void {
    const now = this.parts.clock.monotonic();
    for (const next of this.waiting) {
      this.waiting.delete(next);
      if (now - next.since <= MAX_WAIT_MS) {
        next.resolve();
        return;
      }
      next.reject(new RevcastError('overloaded', `no place for the request within ${MAX_WAIT_MS} ms`));
    }
    this.underWay -= 1;
  }

  private async tryAgain<T>(call: Call<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(call);
      } catch (error) {
        if (!mayPass(error) || attempt === ATTEMPTS) throw error;
        await sleep(this.parts.clock, RETRY_WAIT_MS * (0.5 + Math.random() / 2));
      }
    }
  }

  /** One request, and further ones while it is late. Ends with the first answer, or when no request is left open. */
  private attempt<T>(call: Call<T>): Promise<T> {
    const { clock, limits } = this.parts;
    const endMs = clock.monotonic() + limits.timeoutMs;
    return new Promise((resolve, reject) => {
      let open = 0;
      let cancelHedge: (() => void) | undefined;
      const send = (withinMs: number): void => {
        open += 1;
        this.send(call, withinMs).then(
          (answer) => {
            cancelHedge?.();
            resolve(answer);
          },
          (error: unknown) => {
            open -= 1;
            if (open > 0 && mayPass(error)) return;
            cancelHedge?.();
            reject(asError(error));
          },
        );
      };
      const hedgeLater = (hedge: number): void => {
        const { delayMs } = this.hedging;
        if (delayMs === undefined || hedge > HEDGES || clock.monotonic() + delayMs >= endMs) return;
        cancelHedge = clock.after(delayMs, () => {
          const leftMs = endMs - clock.monotonic();
          if (leftMs > 0 && this.hedging.take()) send(leftMs);
          hedgeLater(hedge + 1);
        });
      };
      send(limits.timeoutMs);
      hedgeLater(1);
    });
  }

  private async send<T>({ subject, request, decode }: Call<T>, timeoutMs: number): Promise<T> {
    const sentAt = this.parts.clock.monotonic();
    let reply: Uint8Array;
    try {
      reply = await this.parts.link.request(subject, request, timeoutMs);
    } catch (error) {
      if (error instanceof RequestError && this.outage.failed(error.failure)) this.giveUpWaiting();
      throw error;
    }
    this.outage.answered();
    this.hedging.answered(this.parts.clock.monotonic() - sentAt);
    return decode(reply);
  }

  private giveUpWaiting(): void {
    for (const { reject } of this.waiting) reject(nobodyAnswers());
    this.waiting.clear();
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof RevcastError && error.retryable;
}

function nobodyAnswers(): RevcastError {
  return new RevcastError('log_unavailable', 'no revision service answers just now');
}
