/**
 * Compare-and-set on a subject, and what its answer, or the lack of one, says about what was put. The header is written
 * here, for 0 too (the subject is empty): the client's own publish leaves it out then, and two first messages would
 * both be stored.
 */
import { asError, RevcastError } from '../../shared/errors.js';
import type { PutOutcome } from '../entry-store.js';
import { API_ERROR, ApiError } from './api.js';
import { RequestError } from './request-error.js';

const EXPECTED_SEQ = 'Nats-Expected-Last-Subject-Sequence';

const CONFLICT: ReadonlySet<number> = new Set([API_ERROR.wrongLastSequence, API_ERROR.wrongLastSequenceConstant]);
/** Limits of the account or of the server's storage. */
const FULL: ReadonlySet<number> = new Set([10_002, 10_023, 10_028, 10_047]);
/** max_bytes reached (checked before anything is stored), or a failure of the leader's disk. */
const STORE_FAILED = 10_077;
const LIMIT_REACHED = /maximum (bytes|messages)/u;
const TOO_LARGE = 10_054;

/** Headers of a put behind the subject's message at `seq`; 0: it has none. */
export function expecting(seq: number): Readonly<Record<string, string>> {
  return { [EXPECTED_SEQ]: String(seq) };
}

/**
 * What became of a put of `bytes` that failed with `error`. `replicated`: the stream has several replicas, and a leader
 * whose disk fails may not speak for the others.
 */
export function putOutcome(error: unknown, bytes: number, { replicated }: { replicated: boolean }): PutOutcome {
  if (error instanceof ApiError) return outcomeOfAnswer(error, bytes, replicated);
  if (error instanceof RequestError && !error.certainlyNotProcessed) return { kind: 'unknown', cause: error };
  if (error instanceof RevcastError) return { kind: 'refused', error };
  return { kind: 'unknown', cause: asError(error) };
}

export function tooLarge(bytes: number, limit: number | undefined): RevcastError {
  const allowed = limit === undefined ? 'more than the stream allows' : `at most ${limit} fit into one message`;
  return new RevcastError('too_large', `the entry has ${bytes} bytes, ${allowed}`);
}

function outcomeOfAnswer(error: ApiError, bytes: number, replicated: boolean): PutOutcome {
  if (CONFLICT.has(error.number)) return { kind: 'conflict' };
  if (error.number === TOO_LARGE) return { kind: 'refused', error: tooLarge(bytes, undefined) };
  const certainlyFull = !replicated || LIMIT_REACHED.test(error.description);
  if (FULL.has(error.number) || (error.number === STORE_FAILED && certainlyFull)) {
    return { kind: 'refused', error: new RevcastError('log_full', `the log is full: ${error.description}`) };
  }
  // Whatever else the server says: reading tells whether it is there.
  return { kind: 'unknown', cause: error };
}
