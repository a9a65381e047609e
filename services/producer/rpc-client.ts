/**
 * A producer as an edge sees it: publications over NATS, at whichever replica NATS gives them to.
 *
 *   ask ─┬─ an answer ──────────────────▶ that is it
 *    ▲   ├─ none in time, or cut off ──▶ may be stored ─┐
 *    │   └─ surely not stored, not by this one ─────────┤
 *    └──────────── a pause, the same request again ◀────┘ until the time is over
 *
 * The key makes asking again safe: a killed, hung or stopping producer is survived without a second revision. Once a
 * request may have been stored, only an answer that settles it ends this: "nothing was stored" of another producer
 * tells nothing of the first. What is not settled in time is `outcome_unknown`, never a false failure.
 */
import type { Appended } from '../log/log.js';
import type { NatsLink } from '../log/jetstream/nats-link.js';
import { RequestError } from '../log/jetstream/request-error.js';
import { sleep, type Clock } from '../shared/clock.js';
import { RevcastError } from '../shared/errors.js';
import { whole, type Values } from '../shared/settings.js';
import type { Publication, Publisher } from './contract.js';
import { APPEND_SUBJECT, decodeAppendReply, encodeAppendRequest } from './rpc-messages.js';

/** The pause before another try doubles up to the largest; half of it to all of it, at random. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 800;
/** The NATS server's default, assumed while there is no connection. */
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

export const producerClientSettings = {
  producerTimeoutMs: {
    env: 'PRODUCER_TIMEOUT_MS',
    help: 'a publication of a client that a producer has not answered for so long is sent again, with the same key, to any producer',
    parse: whole('ms', 50, 60_000),
    fallback: 1_500,
    value: 'ms',
  },
} as const;

export interface ProducerClientParts {
  readonly link: Pick<NatsLink, 'request' | 'connection'>;
  readonly settings: Values<typeof producerClientSettings>;
  readonly clock: Clock;
}

type Answer =
  | { readonly kind: 'stored'; readonly appended: Appended }
  /** Nothing of this request was or will be stored; asking again gives the same answer. */
  | { readonly kind: 'refused'; readonly error: RevcastError }
  /** Nothing of this request was stored, and to try elsewhere would be no better. */
  | { readonly kind: 'turned_away'; readonly error: RevcastError }
  /** Nothing of this request was stored; it may be another producer that can, or this one in a moment. */
  | { readonly kind: 'elsewhere'; readonly error: RevcastError }
  /** It may have been stored, or still be. */
  | { readonly kind: 'open' };

export class ProducerClient implements Publisher {
  constructor(private readonly parts: ProducerClientParts) {}

  async publish(publication: Publication, withinMs: number): Promise<Appended> {
    const { clock } = this.parts;
    const request = encodeAppendRequest(publication);
    this.checkFits(request);
    const deadline = clock.monotonic() + withinMs;
    let mayBeStored = false;
    let last: RevcastError | undefined;
    for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)) {
      const leftMs = deadline - clock.monotonic();
      if (leftMs <= 0) throw mayBeStored ? outcomeUnknown() : nothingStored(last);
      const answer = await this.ask(request, leftMs);
      switch (answer.kind) {
        case 'stored':
          return answer.appended;
        case 'refused':
          throw answer.error;
        case 'turned_away':
          if (!mayBeStored) throw answer.error;
          break;
        case 'elsewhere':
          last = answer.error;
          break;
        case 'open':
          mayBeStored = true;
          break;
      }
      await sleep(clock, Math.min(pauseMs * (0.5 + Math.random() / 2), Math.max(0, deadline - clock.monotonic())));
    }
  }

  private async ask(request: Uint8Array, leftMs: number): Promise<Answer> {
    const timeoutMs = Math.min(this.parts.settings.producerTimeoutMs, leftMs);
    try {
      const reply = await this.parts.link.request(APPEND_SUBJECT, request, timeoutMs);
      return { kind: 'stored', appended: decodeAppendReply(reply) };
    } catch (error) {
      if (error instanceof RequestError) return unanswered(error);
      if (error instanceof RevcastError) return answered(error);
      throw error;
    }
  }

  private checkFits(request: Uint8Array): void {
    const limit = this.parts.link.connection?.info?.max_payload ?? DEFAULT_MAX_PAYLOAD;
    if (request.length <= limit) return;
    throw new RevcastError('too_large', `the publication has ${request.length} bytes, NATS takes at most ${limit}`);
  }
}

function unanswered(error: RequestError): Answer {
  if (error.failure === 'not_permitted') return { kind: 'refused', error };
  return error.certainlyNotProcessed ? { kind: 'elsewhere', error } : { kind: 'open' };
}

/** What an error of the producer says about the request. */
function answered(error: RevcastError): Answer {
  if (error.code === 'outcome_unknown') return { kind: 'open' };
  // A producer that has just started is asked before it reaches its log.
  if (error.code === 'shutting_down' || error.code === 'log_unavailable') return { kind: 'elsewhere', error };
  return { kind: error.retryable ? 'turned_away' : 'refused', error };
}

function nothingStored(cause: RevcastError | undefined): RevcastError {
  const why = cause === undefined ? 'there was no time left' : cause.message;
  return new RevcastError('log_unavailable', `no producer could store it in time (${why}); nothing was stored`, {
    cause,
  });
}

function outcomeUnknown(): RevcastError {
  return new RevcastError(
    'outcome_unknown',
    'no producer said in time whether the publication was stored; a retry with the same key is safe',
  );
}
