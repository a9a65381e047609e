/**
 * JetStream's JSON interface, as far as the log uses it, on the link. Every request is bounded in time and is failed at
 * once when the connection breaks or the log closes. What the server answers as an error is an ApiError with
 * its number, so that callers can tell "there is none" from "it cannot be asked".
 */
import type { Msg } from 'nats';
import { RevcastError } from '../../shared/errors.js';
import { STREAM } from '../subjects.js';
import type { NatsLink } from './nats-link.js';
import { RequestError } from './request-error.js';

/** The server's error numbers (err_code) that mean something to the log. */
export const API_ERROR = {
  noSuitablePeers: 10_005,
  noMessageFound: 10_037,
  streamNotFound: 10_059,
  wrongLastSequence: 10_071,
  wrongLastSequenceConstant: 10_164,
} as const;

export class ApiError extends RevcastError {
  constructor(
    readonly number: number,
    readonly status: number,
    readonly description: string,
  ) {
    super('log_unavailable', `NATS answered: ${description} (${number})`);
  }
}

interface ErrorAnswer {
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description?: string };
}

export interface SendOptions {
  /** Less than what requests may take otherwise. */
  readonly timeoutMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export class JetStreamApi {
  private readonly underWay = new Set<(error: RevcastError) => void>();
  private closed = false;

  constructor(
    readonly link: NatsLink,
    readonly requestTimeoutMs: number,
  ) {}

  /** `$JS.API.<verb>` with `body` as JSON. Throws ApiError or RequestError, both `log_unavailable`. */
  async call(verb: string, body?: object, options: SendOptions = {}): Promise<object> {
    const payload = body === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(body));
    return parseAnswer(await this.send(`$JS.API.${verb}`, payload, options));
  }

  /** One request to any subject. Throws RequestError. */
  send(subject: string, payload: Uint8Array, options: SendOptions = {}): Promise<Msg> {
    if (this.closed) return Promise.reject(new RequestError('not_connected', subject));
    return new Promise((resolve, reject) => {
      const untrack = this.track(reject);
      this.link
        .requestMessage(subject, payload, { timeoutMs: this.requestTimeoutMs, ...options })
        .then(resolve, reject)
        .finally(untrack);
    });
  }

  /** Has `fail` called when the log closes. The answer ends it. */
  track(fail: (error: RevcastError) => void): () => void {
    this.underWay.add(fail);
    return () => this.underWay.delete(fail);
  }

  /** Fails what is under way, and everything after. */
  close(): void {
    this.closed = true;
    for (const fail of this.underWay) fail(new RequestError('disconnected', `stream ${STREAM}: the log is closed`));
    this.underWay.clear();
  }
}

/** The JSON object of an answer. Throws ApiError where it is an error, or none of JetStream's answers at all. */
export function parseAnswer(message: Msg): object {
  const answer = parseObject(message.string());
  if (answer === undefined) throw new ApiError(0, 0, `something else than JSON on ${message.subject}`);
  if (answer.error === undefined) return answer;
  const { code, err_code: number = 0, description = 'an error' } = answer.error;
  throw new ApiError(number, code, description);
}

function parseObject(json: string): ErrorAnswer | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether NATS said that there is no such message. */
export function isNoMessage(error: unknown): boolean {
  return error instanceof ApiError && error.number === API_ERROR.noMessageFound;
}
