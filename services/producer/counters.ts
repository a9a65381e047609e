/** What a producer appended, counted where it happens. They only grow. */
import type { Appended } from '../log/log.js';
import { asError, RevcastError } from '../shared/errors.js';

export class ProducerCounters {
  /** Appends that were stored, … */
  appends = 0;
  /** … of them those that had been stored before, under the same key. */
  duplicates = 0;
  /** Revisions of appends that were stored for the first time, and bytes of their data. */
  revisions = 0;
  dataBytes = 0;
  snapshots = 0;
  /** Appends and snapshots that were not stored, or of which that is not known, by error code. */
  readonly failures = new Map<string, number>();

  stored({ duplicate }: Appended, revisions: number, dataBytes: number): void {
    this.appends += 1;
    if (duplicate) {
      this.duplicates += 1;
      return;
    }
    this.revisions += revisions;
    this.dataBytes += dataBytes;
  }

  failed(error: unknown): void {
    const code = error instanceof RevcastError ? error.code : asError(error).name;
    this.failures.set(code, (this.failures.get(code) ?? 0) + 1);
  }
}
