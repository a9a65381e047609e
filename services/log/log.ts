/**
 * The log: the only state that revcast keeps. It stores entries (one or more consecutive revisions of one room) in an
 * order per room, numbers them without holes, and tells followers of what is committed. Two adapters implement this
 * port: memory (the embedded default, nothing survives the process) and jetstream. One contract suite
 * (test/contract) runs on both; SPEC.md's rules L1 to L12 say what it holds them to.
 */

/** Where a reader stands in a room: after revision `rev` of numbering `epoch`. */
export interface Position {
  /** Identity of the room's numbering; empty before the room's first revision. */
  readonly epoch: string;
  /** 0 before the room's first revision. */
  readonly rev: number;
  /** Eight hex digits: the tag of the entry that holds `rev`; empty when rev is 0. */
  readonly tag: string;
}

/** The newest revision of a room. */
export interface Head extends Position {
  /** The log's sequence number of the head's entry: a hint for `range`. */
  readonly seq: number;
  /** Time of the head, milliseconds since 1970. */
  readonly time: number;
}

export interface StoredRevision {
  /** Milliseconds since 1970, never below the time of the revision before. */
  readonly time: number;
  readonly author?: string;
  /** On the first revision of an append that came with an idempotency key. */
  readonly key?: string;
  /** On the first revision of an append: how many revisions the append has. */
  readonly appendSize?: number;
  /** UTF-8 JSON text without white space between its tokens. */
  readonly data: Uint8Array;
}

/** What is stored: consecutive revisions of one room, committed together. */
export interface Entry {
  readonly room: string;
  readonly epoch: string;
  /** Eight hex digits, random: two entries with the same rev and different tags are different histories. */
  readonly tag: string;
  /** Names the publication of this entry; unique. */
  readonly appendId: string;
  readonly firstRev: number;
  /** Time of the revision before `firstRev`, 0 if there is none. */
  readonly previousTime: number;
  /** seq of the room's entry before this one, 0 if there is none. */
  readonly previousSeq: number;
  readonly revisions: readonly StoredRevision[];
  /** The log's sequence number: grows with every entry of every room. */
  readonly seq: number;
}

export interface NewRevision {
  /** UTF-8 JSON text without white space between its tokens. */
  readonly data: Uint8Array;
  readonly author?: string;
}

/** One append: stored whole, in one entry, or not at all. */
export interface Append {
  /** At least one. */
  readonly revisions: readonly NewRevision[];
  /** Idempotency key: an append whose key the room has seen within its key window is answered, not stored again. */
  readonly key?: string;
  /** Refuse with `conflict` unless the room's head is exactly this revision (0: the room is empty). */
  readonly expectedRev?: number;
}

export interface Appended {
  readonly epoch: string;
  /** The first revision of the append. */
  readonly firstRev: number;
  /** The last revision of the append. */
  readonly rev: number;
  readonly tag: string;
  readonly seq: number;
  /** Time of the last revision. */
  readonly time: number;
  /** Whether an earlier append with the same key had stored it. */
  readonly duplicate: boolean;
}

export interface RangeOptions {
  /** At most so many revisions; at least 1. */
  readonly limit: number;
  /** Stop before the entries' data exceed so many bytes; one entry is always answered, cut to `limit` revisions. */
  readonly maxBytes: number;
  /** seq of an entry at or before the range; checked before it is used, so that a wrong one only costs time. */
  readonly hint?: number;
}

export type Range =
  /** Consecutive entries from the asked revision on, the first and last cut to the range; empty when it is above the head. */
  | { readonly kind: 'entries'; readonly entries: readonly Entry[]; readonly head: Head }
  /** The asked revision is older than what the log keeps of the room. */
  | { readonly kind: 'truncated'; readonly firstRev: number; readonly head: Head }
  /** The room has no revisions. */
  | { readonly kind: 'empty' };

/** A subscription to committed entries. */
export interface Following {
  /** Resolves when entries committed from now on will be delivered (best effort, see `Log.follow`). */
  readonly ready: Promise<void>;
  /** Ends it: no call follows. Idempotent. */
  stop(): void;
}

export type LogStatus =
  | { readonly state: 'starting'; readonly detail: string }
  | { readonly state: 'ready' }
  | { readonly state: 'unavailable'; readonly detail: string };

/** Why followers may have missed entries. */
export type Disturbance = 'reconnected' | 'leader_elected';

/** The live half of the log: all that an edge needs of it, and all that its credentials allow. */
export interface LiveLog {
  /**
   * Calls `onEntry` for committed entries of the rooms, in the order of their rev. Never for an entry that was not
   * committed. It is a hint: at a reconnect or a change of leader it may miss entries or repeat them, late ones too.
   * Calls come from a turn of the event loop of their own, never from inside `append`. `onEntry` must not throw.
   * Entries are the listener's to keep: they share no buffer with the network client.
   */
  follow(rooms: readonly string[], onEntry: (entry: Entry) => void): Following;

  status(): LogStatus;

  /** Calls `listener` whenever followers may have missed entries. The answer ends it. */
  onDisturbance(listener: (disturbance: Disturbance) => void): () => void;

  /** Fails what is under way with `log_unavailable` and frees everything. Idempotent. */
  close(): Promise<void>;
}

export interface Log extends LiveLog {
  /**
   * Stores the append and numbers its revisions. Concurrent appends of one room share entries (group commit).
   * Throws `conflict` (details: head) when `expectedRev` does not hold; `too_large`; `log_unavailable` when it
   * certainly was not stored; `outcome_unknown` when the deadline passed with the outcome open (a retry with the
   * same key is safe); `log_full` when the log has no space.
   */
  append(room: string, append: Append): Promise<Appended>;

  /** Revisions of a room from `fromRev` on, or from the oldest kept with 'first'. Throws `log_unavailable`. */
  range(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range>;

  /**
   * The head of each room, null where the room has no revisions; confirmed by whoever decides what is committed
   * (JetStream's leader). Throws `log_unavailable`.
   */
  heads(rooms: readonly string[]): Promise<ReadonlyMap<string, Head | null>>;
}

/** rev of the entry's last revision. */
export function lastRev(entry: Entry): number {
  return entry.firstRev + entry.revisions.length - 1;
}

/** The head that the room has when `entry` is its newest entry. */
export function headOf(entry: Entry): Head {
  const last = entry.revisions.at(-1);
  if (last === undefined) throw new Error('invariant broken: an entry has at least one revision');
  return { epoch: entry.epoch, rev: lastRev(entry), tag: entry.tag, seq: entry.seq, time: last.time };
}
