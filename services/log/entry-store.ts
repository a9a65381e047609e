/**
 * What numbering needs of a store: read a room's entries, and put one entry behind a known one (compare-and-set).
 * The room writer holds the whole algorithm above it, so both adapters number in the same way, and a test can lose
 * an answer between the two.
 */
import type { RevcastError } from '../shared/errors.js';
import type { Entry } from './log.js';

/** An entry that has no place in the log yet. */
export type NewEntry = Omit<Entry, 'seq'>;

export type PutOutcome =
  /** Committed under this seq. */
  | { readonly kind: 'stored'; readonly seq: number }
  /** Not stored by this call: the room's newest entry is not the expected one. An earlier, unanswered put of the same entry may be what stands there. */
  | { readonly kind: 'conflict' }
  /** No answer: stored, or not, or still to be stored. */
  | { readonly kind: 'unknown'; readonly cause: unknown }
  /** Certainly not stored by this call, for another reason. */
  | { readonly kind: 'refused'; readonly error: RevcastError };

export interface EntryStore {
  /** Largest encoded entry in bytes; Infinity where nothing bounds it. */
  readonly maxEntryBytes: number;

  /**
   * The room's newest entry, or null. Without `confirmed` it may be a little stale. `conclusive`: what is not there then was lost;
   * who answers is certain to speak for the log. Throws `log_unavailable`.
   */
  last(room: string, options: { confirmed: boolean; conclusive?: boolean }): Promise<Entry | null>;

  /** The room's first entry with a seq above `afterSeq`, confirmed, or null. Throws `log_unavailable`. */
  next(room: string, afterSeq: number): Promise<Entry | null>;

  /**
   * The room's entries that hold its `revisions` last revisions or were stored within the last `ageMs`, whichever
   * reaches further back, oldest first, up to the entry at `upToSeq`. More may come than asked for. Throws
   * `log_unavailable`.
   */
  recent(room: string, window: { revisions: number; ageMs: number; upToSeq: number }): Promise<readonly Entry[]>;

  /**
   * Stores `entry` if the room's newest entry has seq `expectedSeq` (0: the room has none). Never throws for what the
   * network or the server does: that is an outcome.
   */
  put(entry: NewEntry, expectedSeq: number): Promise<PutOutcome>;
}
