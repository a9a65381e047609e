/** Why a request to NATS failed: for numbering it matters whether the server can have seen it. */
import { RevcastError } from '../../shared/errors.js';

export type RequestFailure =
  /** Never sent. */
  | 'not_connected'
  /** Nobody listens: never processed. */
  | 'no_responders'
  /** Refused by the server's permissions: never processed. */
  | 'not_permitted'
  /** Sent; processed or not, or still to be. */
  | 'timed_out'
  | 'disconnected';

const REASON: Record<RequestFailure, string> = {
  not_connected: 'not connected to NATS',
  no_responders: 'NATS has nobody who answers',
  not_permitted: 'NATS does not permit it',
  timed_out: 'no answer in time from NATS',
  disconnected: 'the connection to NATS broke',
};

const NEVER_PROCESSED: ReadonlySet<RequestFailure> = new Set(['not_connected', 'no_responders', 'not_permitted']);

export class RequestError extends RevcastError {
  constructor(
    readonly failure: RequestFailure,
    subject: string,
    cause?: unknown,
  ) {
    const hint = failure === 'no_responders' && subject.startsWith('$JS.') ? '; is JetStream enabled?' : '';
    super('log_unavailable', `${REASON[failure]} (${subject})${hint}`, cause === undefined ? {} : { cause });
  }

  /** Whether the server cannot have processed the request. */
  get certainlyNotProcessed(): boolean {
    return NEVER_PROCESSED.has(this.failure);
  }
}
