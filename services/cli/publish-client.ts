/**
 * One publication over HTTP, tried again with the same key while the producer cannot be reached or asks to come again,
 * until the time for it is up. So it is published once, or the failure says whether it may have been.
 */
import { asError } from '../shared/errors.js';
import type { Clock } from '../shared/clock.js';
import { Backoff } from '../producer/sources/backoff.js';
import { CommandFailure } from './command.js';
import { onAbort, sleepUnless } from './stopping.js';

const BACKOFF = { firstMs: 200, maxMs: 5_000 };
/** Statuses that mean "the same request may succeed later". */
const RETRYABLE = new Set([408, 429, 502, 503, 504]);
/** Of an answer that is not the producer's, so much is shown. */
const SHOWN_CHARS = 200;
/** With these the request has certainly not been seen. */
const NEVER_CONNECTED: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

export interface Publication {
  readonly room: string;
  /** JSON texts of the revisions: appended all or none. At least one. */
  readonly data: readonly string[];
  readonly author?: string | undefined;
  readonly key: string;
  readonly expectedRev?: number | undefined;
}

export interface PublishClientOptions {
  /** Of the producer. */
  readonly url: string;
  readonly timeoutMs: number;
  /** For how long a publication is tried again. */
  readonly retryMs: number;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  /** Told of each attempt that failed and is made again. */
  readonly onRetry: (reason: string) => void;
}

type Attempt =
  | { readonly kind: 'published'; readonly position: string }
  | { readonly kind: 'refused'; readonly reason: string }
  /** `open`: it may have been stored. */
  | { readonly kind: 'again'; readonly reason: string; readonly open: boolean; readonly waitMs: number };

export class PublishClient {
  constructor(private readonly options: PublishClientOptions) {}

  /** The position that the producer answers, as JSON text. Throws CommandFailure. */
  async publish(publication: Publication): Promise<string> {
    const { clock, retryMs, stopping, onRetry } = this.options;
    const giveUpAt = clock.monotonic() + retryMs;
    const backoff = new Backoff(BACKOFF);
    let open = false;
    for (;;) {
      const attempt = await this.attempt(publication);
      if (attempt.kind === 'published') return attempt.position;
      if (attempt.kind === 'refused') throw new CommandFailure(attempt.reason);
      open ||= attempt.open;
      const waitMs = Math.max(backoff.next(), attempt.waitMs);
      if (stopping.aborted || clock.monotonic() + waitMs > giveUpAt) {
        throw new CommandFailure(`${attempt.reason}${open ? `; ${mayBeStored(publication.key)}` : ''}`);
      }
      onRetry(attempt.reason);
      await sleepUnless(stopping, clock, waitMs);
    }
  }

  private async attempt({ room, key, ...rest }: Publication): Promise<Attempt> {
    const { url, timeoutMs, stopping, clock } = this.options;
    const ending = new AbortController();
    const end = () => {
      ending.abort();
    };
    const cancelTimeout = clock.after(timeoutMs, end);
    const takeBack = onAbort(stopping, end);
    try {
      const response = await fetch(addressOf(url, room), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: requestBody({ key, ...rest }),
        signal: ending.signal,
        redirect: 'error',
      });
      const text = await response.text();
      return response.status === 201 ? { kind: 'published', position: text } : refusal(url, response, text);
    } catch (error) {
      if (stopping.aborted) return again('stopped', true);
      if (ending.signal.aborted) return again(`${url} has not answered after ${timeoutMs} ms`, true);
      const { code, message } = rootCause(error);
      return again(`no connection to the producer at ${url}: ${message}`, !NEVER_CONNECTED.has(code));
    } finally {
      cancelTimeout();
      takeBack();
    }
  }
}

function again(reason: string, open: boolean, waitMs = 0): Attempt {
  return { kind: 'again', reason, open, waitMs };
}

/** Below the producer's address, which may have a path of its own. */
function addressOf(url: string, room: string): URL {
  const address = new URL(url);
  const base = address.pathname.replace(/\/$/u, '');
  address.pathname = `${base}/v1/rooms/${encodeURIComponent(room)}/revisions`;
  return address;
}

/** The data are JSON texts and go into the request as they are, so that not a byte of a number changes. */
function requestBody({ data, author, key, expectedRev }: Omit<Publication, 'room'>): string {
  const authorMember = author === undefined ? '' : `,"author":${JSON.stringify(author)}`;
  const revisions = data.map((text) => `"data":${text}${authorMember}`);
  const expected = expectedRev === undefined ? '' : `,"expectedRev":${expectedRev}`;
  const [only] = revisions;
  const what = revisions.length === 1 ? only : `"revisions":[${revisions.map((one) => `{${one}}`).join(',')}]`;
  return `{${what},"key":${JSON.stringify(key)}${expected}}`;
}

function refusal(url: string, response: Response, text: string): Attempt {
  const error = parseError(text);
  const reason =
    error === undefined
      ? `${url} answered ${response.status}, and not as a producer does: ${text.slice(0, SHOWN_CHARS)}`
      : `${error.code}: ${error.message}${error.head === undefined ? '' : `; the head is ${JSON.stringify(error.head)}`}`;
  if (!RETRYABLE.has(response.status)) return { kind: 'refused', reason };
  const seconds = Number(response.headers.get('retry-after') ?? 0);
  const open = error === undefined || error.outcome === 'unknown';
  return again(reason, open, Number.isFinite(seconds) ? seconds * 1_000 : 0);
}

interface ErrorAnswer {
  readonly code: string;
  readonly message: string;
  readonly outcome?: string;
  readonly head?: unknown;
}

function parseError(text: string): ErrorAnswer | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: Partial<ErrorAnswer> };
    return typeof error?.code === 'string' && typeof error.message === 'string' ? (error as ErrorAnswer) : undefined;
  } catch {
    return undefined;
  }
}

function mayBeStored(key: string): string {
  return `it may have been stored: publishing the same again with --key ${JSON.stringify(key)} is safe`;
}

/** fetch says "fetch failed", and why in the cause; of several addresses that were tried, the first's. */
function rootCause(error: unknown): { code: string | undefined; message: string } {
  let cause = asError(error) as NodeJS.ErrnoException;
  while (cause.cause instanceof Error) cause = cause.cause;
  if (cause instanceof AggregateError) cause = asError(cause.errors[0]);
  return { code: cause.code, message: cause.code === 'ECONNREFUSED' ? 'connection refused' : cause.message };
}
