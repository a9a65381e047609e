/** What an entry costs in memory, as the bounds of tail and pages count it. */
import { entryBytes } from '../log/entry-range.js';
import type { Entry } from '../log/log.js';

/** Beside the data: of an entry, and of each of its revisions. Measured with a full collection, and rounded up. */
const ENTRY_BYTES = 640;
const REVISION_BYTES = 256;

export function entryMemory(entry: Entry): number {
  return ENTRY_BYTES + entryBytes(entry) + REVISION_BYTES * entry.revisions.length;
}
