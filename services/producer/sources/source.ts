/**
 * What a source is: a part that reads revisions from somewhere and appends them to rooms, in order. It owns nothing that
 * cannot be read again: where it stands is read from the room itself.
 *
 * Every source keeps to the same rules: an append that fails with a retryable error is tried again for ever, and nothing
 * after it is appended before it; an error that no retry can mend is a fault, told once through `onFault`, after which
 * the source has stopped.
 */
import type { Log } from '../../log/log.js';
import { RevcastError } from '../../shared/errors.js';
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';

/** The part of the log that sources use; the producer's appender has the same shape. */
export type SourceLog = Pick<Log, 'append' | 'heads' | 'range'>;

export interface SourceParts {
  readonly log: SourceLog;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Told once, when a source has met what no retry can mend and has stopped. */
export type OnFault = (fault: Error) => void;

/** Whether the same append may succeed later. */
export function isRetryable(error: unknown): error is RevcastError {
  return error instanceof RevcastError && error.retryable;
}
