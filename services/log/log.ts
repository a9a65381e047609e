/**
 * The log: the only state that revcast keeps. It stores entries (one or more consecutive revisions of one room) in an
 * order per room, numbers them without holes, and tells followers of what is committed. Two adapters implement this
 * port: memory (the embedded default, nothing survives the process) and jetstream. One contract suite
 * (test/contract) runs on both; SPEC.md's rules L1 to L12 say what it holds them to.
 *
 * A room begins with its first revisions, or with a base entry: a snapshot at some revision N (a document that lived
 * elsewhere before). A base entry has no revisions; the numbering goes on with N + 1. It is stored like any entry, so
 * it mints the epoch, gives the head a tag, is told to followers, and is removed with the room.
 */

/** Where a reader stands in a room: after revision `rev` of numbering `epoch`. */
export interface Position {
  /** Identity of the room's numbering; empty before the room's first revision. */
  readonly epoch: string;
  /** 0 before the room's first revision. */
  readonly rev: number;
  /** Eight hex digits: the tag of the entry that holds `rev`, or of the base that ends with it; empty with the epoch. */
  readonly tag: string;
}

/** The newest revision of a room; in a room that began with a snapshot and has no revisions yet, where that stands. */
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

/** What is stored: consecutive revisions of one room, committed together; or a base, which has none. */
export interface Entry {
  readonly room: string;
  readonly epoch: string;
  /** Eight hex digits, random: two entries with the same rev and different tags are different histories. */
  readonly tag: string;
  /** Names the publication of this entry; unique. */
  readonly appendId: string;
  readonly firstRev: number;
  /** Time of the revision before `firstRev`, or of the base; 0 if there is none. */
  readonly previousTime: number;
  /** seq of the room's entry before this one, 0 if there is none. */
  readonly previousSeq: number;
  /**
   * Tag of the revision before `firstRev`, or of the base; absent where there is none, and in entries that were stored before
   * there was this field.
   */
  readonly previousTag?: string;
  readonly revisions: readonly StoredRevision[];
  /** Of a base entry, and only of one: the snapshot that the numbering begins with, at revision `firstRev - 1`. */
  readonly base?: Uint8Array;
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

/** The content of a room at a revision: a reader who has it needs only what follows. */
export interface Snapshot extends Position {
  /** Time of the revision. */
  readonly time: number;
  /** UTF-8 JSON text without white space between its tokens. */
  readonly data: Uint8Array;
}

export interface NewSnapshot {
  /** At or below the head. In an empty room any revision, 0 too: the room begins there. */
  readonly rev: number;
  /** UTF-8 JSON text without white space between its tokens. */
  readonly data: Uint8Array;
  /** Refuse with `epoch_changed` unless this is the room's numbering. */
  readonly epoch?: string;
  /** Begin a new numbering at `rev` in place of this one, whose history was lost where the revisions come from. */
  readonly replaces?: string;
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
  /** The asked revision is older than what the log keeps of the room; `firstRev` may be yet to come, behind a base. */
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

/** Why followers may have missed entries; `hinted`: a producer had to retry an append of the room. */
export type Disturbance = 'reconnected' | 'leader_elected' | 'hinted';
/** `room`: with `hinted` only, and only of rooms that may be followed. */
export type DisturbanceListener = (disturbance: Disturbance, room?: string) => void;

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
  onDisturbance(listener: DisturbanceListener): () => void;

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
   * (JetStream's leader). A room whose newest entry cannot be read is left out. Throws `log_unavailable`.
   */
  heads(rooms: readonly string[]): Promise<ReadonlyMap<string, Head | null>>;

  /**
   * The room's snapshot, null where its present numbering has none. It may be a little stale, and whether what follows
   * it is still kept is for `range` to say. Throws `log_unavailable`.
   */
  snapshot(room: string): Promise<Snapshot | null>;

  /**
   * Keeps the snapshot in place of the one before. An empty room begins with it. The same again is answered as before.
   * Throws `snapshot_above_head` (details: head), `snapshot_outdated` (details: kept), `history_truncated` (details:
   * firstRev, head) when that revision is no longer kept, `epoch_changed` (details: head), `too_large`, and what
   * `append` throws; after `outcome_unknown` a retry is safe.
   */
  putSnapshot(room: string, snapshot: NewSnapshot): Promise<Snapshot>;
}

/** How far the whole log reaches, as whoever decides what is committed says. */
export interface LogExtent {
  /** The highest seq that was given, to an entry that may be removed since. */
  readonly lastSeq: number;
  /** Rooms that have an entry. */
  readonly rooms: number;
  /** Entries that were stored and are not kept any more. It only grows while the history is the same. */
  readonly removed: number;
  /** When the log's storage was made. Another one may mean another history; replicas may differ in it. */
  readonly made: string;
}

export interface WholeListener {
  /** In seq order: first each room's newest entry, then every entry that is committed, once each. */
  onEntry(entry: Entry): void;
  /** All that the log holds up to `seq` was given. */
  onReached(seq: number): void;
  /** What was given may not be true any more, as after a loss of history: everything begins again. */
  onRestart(): void;
}

/** A subscription to the whole log. It goes on by itself after whatever interrupts it. */
export interface WholeFollowing {
  /** Something contradicts what was given: finds out whether it is still true, and begins again if not. */
  verify(): void;
  /** Begins again. */
  restart(): void;
  /** Whether what was given is of the history that the extent tells of, and nothing interrupted it since. */
  vouchesFor(extent: LogExtent): boolean;
  /** Ends it: no call follows. Idempotent. */
  stop(): void;
}

/** The log as one sequence of all rooms' entries, for whoever keeps a copy of its end. */
export interface WholeLog {
  /** The listener's calls come from turns of the event loop of their own, and must not throw. */
  followAll(listener: WholeListener): WholeFollowing;

  /** Throws `log_unavailable`. */
  extent(): Promise<LogExtent>;

  /** Whether the entry is kept, as whoever decides what is committed says. Throws `log_unavailable`. */
  keeps(entry: Pick<Entry, 'room' | 'seq' | 'tag'>): Promise<boolean>;
}

/** rev of the entry's last revision; of a base entry, the revision that it stands for. */
export function lastRev(entry: Entry): number {
  return entry.firstRev + entry.revisions.length - 1;
}

/** The head that the room has when `entry` is its newest entry. */
export function headOf(entry: Entry): Head {
  const time = entry.revisions.at(-1)?.time ?? entry.previousTime;
  return { epoch: entry.epoch, rev: lastRev(entry), tag: entry.tag, seq: entry.seq, time };
}
