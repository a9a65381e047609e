/**
 * What one append may be: checked for HTTP, for sources and for whatever else appends, before the log sees it. What a
 * caller got wrong is `invalid_request`, what is only too big is `too_large`; both name the place in `details.where`.
 */
import { RevcastError } from '../shared/errors.js';
import type { Append, NewRevision } from '../log/log.js';

/** Of an author's name and of an idempotency key. */
export const MAX_NAME_BYTES = 200;

export interface AppendLimits {
  readonly maxRevisions: number;
  /** Of one revision's data, as it is stored. */
  readonly maxDataBytes: number;
  /** Of a snapshot's data. */
  readonly maxSnapshotBytes: number;
}

/** How the caller's text names a property of the append's revision `index`: for messages. */
export type PlaceOf = (index: number, property: keyof NewRevision) => string;

export const placeInList: PlaceOf = (index, property) => `revisions[${index}].${property}`;

/** Throws `invalid_request` or `too_large` unless the append is within the limits. */
export function checkAppend(append: Append, limits: AppendLimits, placeOf: PlaceOf): void {
  const { revisions, key, expectedRev } = append;
  if (revisions.length === 0) throw invalid('revisions', 'must not be empty');
  if (revisions.length > limits.maxRevisions) throw tooManyRevisions(limits);
  if (key !== undefined) checkName('key', key);
  if (expectedRev !== undefined && !(Number.isSafeInteger(expectedRev) && expectedRev >= 0)) {
    throw invalid('expectedRev', 'must be a whole number, 0 or above');
  }
  revisions.forEach(({ data, author }, index) => {
    if (author !== undefined) checkName(placeOf(index, 'author'), author);
    if (data.byteLength > limits.maxDataBytes) {
      throw tooLarge(placeOf(index, 'data'), `has ${data.byteLength} bytes`, `${limits.maxDataBytes} bytes`);
    }
  });
}

/** Throws unless `name`, which stands at `where`, is well-formed Unicode of 1 to 200 bytes. */
export function checkName(where: string, name: string): void {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0) throw invalid(where, 'must not be empty');
  if (bytes > MAX_NAME_BYTES) throw invalid(where, `has ${bytes} bytes, at most ${MAX_NAME_BYTES} are allowed`);
  if (/\p{Surrogate}/u.test(name)) throw invalid(where, 'is not well-formed Unicode (a lone surrogate)');
}

export function tooManyRevisions({ maxRevisions }: AppendLimits): RevcastError {
  return tooLarge('revisions', 'has too many elements', String(maxRevisions));
}

/** 400: what is wrong, and where. */
export function invalid(where: string, problem: string): RevcastError {
  return new RevcastError('invalid_request', `${where} ${problem}`, { details: { where } });
}

export function tooLarge(where: string, problem: string, limit: string): RevcastError {
  return new RevcastError('too_large', `${where} ${problem}, at most ${limit} are allowed`, { details: { where } });
}
