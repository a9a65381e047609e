/**
 * What an edge asks of the revision service: heads, ranges and snapshots. Implemented by the service itself (in one process with
 * the edge) and by rpc-client (over NATS). Positions are checked here, so that an edge is never given a hole: a range
 * that cannot follow the asked position without one is answered `truncated` or `epoch_changed`, never shortened.
 */
import type { Entry, Head, Snapshot } from '../log/log.js';

/** A position as a client gives it: the tag is checked where it is known. */
export interface ClientPosition {
  readonly epoch: string;
  readonly rev: number;
  readonly tag?: string;
}

export interface KnownHead {
  readonly room: string;
  /** What the asker holds to be the head; null: nothing, the head is always answered. */
  readonly position: ClientPosition | null;
}

export interface RoomHead {
  readonly room: string;
  /** null: the room has no revisions. */
  readonly head: Head | null;
}

export interface RangeQuery {
  readonly room: string;
  /**
   * The revisions after this position (rev 0, epoch '': from revision 1 on, of whatever numbering, unless the room began
   * with a snapshot, which is `truncated`; an epoch '' with another rev is no room's); null: from the oldest kept.
   */
  readonly after: ClientPosition | null;
  /** At most so many revisions. */
  readonly limit: number;
  /** At most about so many bytes; at least one revision is answered. */
  readonly maxBytes: number;
  /** seq of an entry at or before the range, where known. */
  readonly hint?: number;
}

export type RangeAnswer =
  /** Consecutive entries right after the position; empty when the position is the head (or the room is empty: head null). */
  | { readonly kind: 'entries'; readonly entries: readonly Entry[]; readonly head: Head | null }
  /** The revision after the position is older than what is kept. */
  | { readonly kind: 'truncated'; readonly firstRev: number; readonly head: Head }
  /** The position is of another numbering, of a rewritten history, or above the head. */
  | { readonly kind: 'epoch_changed'; readonly head: Head | null };

export type SnapshotAnswer =
  /** What follows the snapshot is kept. It need not be the newest: whoever has it catches up like anyone. */
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot; readonly head: Head }
  /** There is none; the room's revisions are kept from 1 on, or it has none (head null). */
  | { readonly kind: 'none'; readonly head: Head | null }
  /** What follows the snapshot, or the room's beginning where there is none, is no longer kept. */
  | { readonly kind: 'truncated'; readonly firstRev: number; readonly head: Head };

export interface RevisionReader {
  /** The heads, confirmed by the log, of those rooms whose head differs from what the asker knows. Throws `log_unavailable`. */
  heads(known: readonly KnownHead[]): Promise<readonly RoomHead[]>;
  /**
   * Throws `log_unavailable` (nobody answered in time), `overloaded`, `invalid_room`, `too_large` (a revision that fits
   * no reply), and `internal` (what the log or the service answered is not sound).
   */
  range(query: RangeQuery): Promise<RangeAnswer>;
  /** The room's snapshot, where what follows it can be had from `range`. Throws as `range` does. */
  snapshot(room: string): Promise<SnapshotAnswer>;
}
