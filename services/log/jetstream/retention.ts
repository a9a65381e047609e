/**
 * Retention by age: removes a room's oldest entries with a purge of its subject up to, not including, the first entry
 * that is kept. A room's newest entry is never removed: what is kept begins at an entry that was the newest or older
 * when it was looked at, and later entries have higher seqs, so appends and other runs at the same time change nothing.
 *
 * Of a room with a snapshot all that follows the snapshot stays as well: who begins with it needs that.
 *
 * Where to cut is found by bisecting seqs, since times never go back within a room (about 25 reads for a room that was
 * written over a million others' entries); rooms of one entry cost no read. A cut is given up and looked for anew when
 * the connection broke after the look: a server that comes back rolled back has other entries at those seqs.
 * Limits: rooms are listed in pages (the server's 100,000 subjects at most, of one partition); one purge at a time, because each holds up the stream's appends.
 */
import { systemClock } from '../../shared/clock.js';
import { RevcastError } from '../../shared/errors.js';
import { headOf, lastRev, type Entry } from '../log.js';
import { PARTITIONS, roomOfStored, storedSubject, storedSubjects, STORED_SUBJECTS, STREAM } from '../subjects.js';
import { API_ERROR, ApiError, type JetStreamApi } from './api.js';
import { EntryReader } from './entry-reader.js';
import { HistoryGuard } from './history-guard.js';
import { ReplicaReads } from './replica-reads.js';
import { Slots } from './slots.js';
import { JetStreamSnapshots } from './snapshot-store.js';
import { checkVersion, StreamRefused } from './stream.js';

const MAX_WAITING_PURGES = 10_000;
/** A cut is looked for so often, then the room is left as it is. */
const ATTEMPTS = 3;

export interface RetentionRule {
  /** Entries whose newest revision is older go; milliseconds since 1970. */
  readonly keepSince: number;
  /** The room's last so many revisions stay, however old. */
  readonly keepRevisions: number;
}

/** What was removed of a room, or would be. */
export interface Removed {
  readonly entries: number;
  /** About: what the stream lost meanwhile, less the average of what was appended. Absent in a dry run. */
  readonly bytes?: number;
}

export interface StoredRoom {
  readonly room: string;
  readonly entries: number;
}

/** A page of the stream's subjects. */
export interface RoomPage {
  readonly rooms: readonly StoredRoom[];
  /** Subjects that are no room's: someone else wrote them. */
  readonly foreign: readonly string[];
}

interface Info {
  readonly config: { readonly subjects?: readonly string[]; readonly num_replicas?: number };
  readonly state: {
    readonly bytes: number;
    readonly messages: number;
    readonly last_seq: number;
    readonly subjects?: Readonly<Record<string, number>>;
  };
  readonly total?: number;
}

/** Where a room is cut, and what that was concluded from. */
interface Cut {
  readonly keepFrom: number;
  readonly covered: number;
  readonly newest: Entry;
  readonly breaks: number;
}

const NOTHING: Removed = { entries: 0 };

export class Retention {
  private readonly reader: EntryReader;
  private readonly snapshots: JetStreamSnapshots;
  private readonly purges = new Slots(1, MAX_WAITING_PURGES);
  /** Counts broken connections. */
  private breaks = 0;
  private readonly stopWatching: () => void;

  constructor(private readonly api: JetStreamApi) {
    const replicas = new ReplicaReads(api, systemClock);
    this.reader = new EntryReader(api, replicas, new HistoryGuard());
    this.snapshots = new JetStreamSnapshots({
      api,
      replicas,
      replicated: false,
      assertReady: () => undefined,
      suspectStream: () => undefined,
    });
    this.stopWatching = api.link.onDown(() => {
      this.breaks += 1;
    });
  }

  close(): void {
    this.stopWatching();
    this.api.close();
  }

  /** Throws `log_unavailable` unless there is revcast's stream, on a server that may purge it. */
  async check(): Promise<void> {
    const { config } = await this.info({});
    checkVersion(this.api.link.connection?.info?.version ?? '', config.num_replicas ?? 1);
    if (config.subjects?.includes(STORED_SUBJECTS) === true) return;
    throw new StreamRefused(`stream ${STREAM} is not revcast's: its subjects are ${config.subjects?.join(', ')}`);
  }

  /** All rooms, page by page. Those that come or go meanwhile may be missing or come twice. */
  async *rooms(): AsyncGenerator<RoomPage> {
    for (let partition = 0; partition < PARTITIONS; partition += 1) {
      let offset = 0;
      for (;;) {
        const { state, total = 0 } = await this.info({ subjects_filter: storedSubjects(partition), offset });
        const subjects = Object.entries(state.subjects ?? {});
        offset += subjects.length;
        if (subjects.length > 0) yield pageOf(subjects);
        if (subjects.length === 0 || offset >= total) break;
      }
    }
  }

  /** How many entries the room has; 0: there is no such room. */
  async countOf(room: string): Promise<number> {
    const subject = storedSubject(room);
    return (await this.info({ subjects_filter: subject })).state.subjects?.[subject] ?? 0;
  }

  /** Removes what the rule lets go; in a dry run only counts it. Throws `log_unavailable`, `internal`. */
  async enforce({ room, entries }: StoredRoom, rule: RetentionRule, dryRun: boolean): Promise<Removed> {
    if (entries <= 1) return NOTHING;
    for (let attempt = 1; ; attempt += 1) {
      const { breaks } = this;
      const found = await this.firstToKeep(room, rule);
      if (found === null) return NOTHING;
      const { seq: keepFrom, covered, newest } = found;
      if (dryRun) return { entries: Math.max(0, (await this.countOf(room)) - (await this.countFrom(room, keepFrom))) };
      const removed = await this.purges.run(() => this.purge(room, { keepFrom, covered, newest, breaks }));
      if (removed !== null) return removed;
      if (attempt === ATTEMPTS)
        throw new RevcastError('log_unavailable', 'the connection to NATS breaks, or snapshots come, again and again');
    }
  }

  /** seq of the oldest entry that stays, and of what that was concluded; null where all stay. */
  private async firstToKeep(
    room: string,
    rule: RetentionRule,
  ): Promise<{ readonly seq: number; readonly covered: number; readonly newest: Entry } | null> {
    const newest = await this.reader.confirmedLast(room);
    const oldest = newest === null ? null : await this.reader.confirmedNext(room, 0);
    if (newest === null || oldest === null || oldest.seq >= newest.seq) return null;
    if (!mayGo(oldest, newest, rule)) return null;
    const covered = await this.coveredRev(room, newest);
    const goes = (entry: Entry) =>
      mayGo(entry, newest, rule) && (entry.epoch !== newest.epoch || lastRev(entry) <= covered);
    if (!goes(oldest)) return null;
    let low = oldest;
    // The newest one stays, whatever its age.
    let kept = newest;
    let ceiling = kept.seq;
    while (kept.previousSeq > low.seq && ceiling > low.seq + 1) {
      const probe = Math.floor((low.seq + ceiling) / 2);
      const entry = await this.reader.confirmedNext(room, probe - 1);
      if (entry === null || entry.seq >= kept.seq) ceiling = probe;
      else if (goes(entry)) low = entry;
      else {
        kept = entry;
        ceiling = probe;
      }
    }
    return { seq: kept.seq, covered, newest };
  }

  /** What follows the room's snapshot is needed by who begins with it; without one, nothing is. */
  private async coveredRev(room: string, newest: Entry): Promise<number> {
    try {
      const kept = await this.snapshots.read(room, { confirmed: true });
      return kept?.snapshot.epoch === newest.epoch ? kept.snapshot.rev : Number.POSITIVE_INFINITY;
    } catch (error) {
      if (error instanceof ApiError && error.number === API_ERROR.streamNotFound) return Number.POSITIVE_INFINITY;
      throw error;
    }
  }

  /**
   * null: the connection broke since the cut was looked for, so the seq may mean something else now; or a snapshot was put
   * meanwhile, which needs what follows it (one that only moved up needs less). That is looked at last: whoever puts one
   * later sees that it is not followed.
   */
  private async purge(room: string, { keepFrom, covered, newest, breaks }: Cut): Promise<Removed | null> {
    const before = (await this.info({})).state;
    if ((await this.coveredRev(room, newest)) < covered || this.breaks !== breaks) return null;
    const request = { filter: storedSubject(room), seq: keepFrom };
    const { purged } = (await this.api.call(`STREAM.PURGE.${STREAM}`, request)) as { purged: number };
    const after = (await this.info({})).state;
    const appended = ((after.last_seq - before.last_seq) * before.bytes) / Math.max(1, before.messages);
    return { entries: purged, bytes: Math.max(0, Math.round(before.bytes + appended - after.bytes)) };
  }

  /** How many entries of the room there are from `seq` on: what a consumer that begins there has to come. */
  private async countFrom(room: string, seq: number): Promise<number> {
    const config = {
      deliver_policy: 'by_start_sequence',
      opt_start_seq: seq,
      ack_policy: 'none',
      filter_subject: storedSubject(room),
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: 1_000_000_000,
    };
    const created = await this.api.call(`CONSUMER.CREATE.${STREAM}`, { stream_name: STREAM, config });
    const { name, num_pending: count } = created as { name: string; num_pending: number };
    await this.api.call(`CONSUMER.DELETE.${STREAM}.${name}`);
    return count;
  }

  private async info(options: { subjects_filter?: string; offset?: number }): Promise<Info> {
    try {
      return (await this.api.call(`STREAM.INFO.${STREAM}`, options)) as Info;
    } catch (error) {
      if (!(error instanceof ApiError && error.number === API_ERROR.streamNotFound)) throw error;
      throw new StreamRefused(`there is no stream ${STREAM}: nothing was published yet, or this is another NATS`);
    }
  }
}

/** Whether the rule lets the entry go. If it does, it lets all earlier ones of the room go. */
function mayGo(entry: Entry, newest: Entry, { keepSince, keepRevisions }: RetentionRule): boolean {
  if (headOf(entry).time >= keepSince) return false;
  // Revisions of a numbering that was given up are no part of the room any more.
  return entry.epoch !== newest.epoch || lastRev(entry) <= lastRev(newest) - keepRevisions;
}

function pageOf(subjects: readonly (readonly [string, number])[]): RoomPage {
  const rooms: StoredRoom[] = [];
  const foreign: string[] = [];
  for (const [subject, entries] of subjects) {
    const room = roomOfStored(subject);
    if (room === undefined) foreign.push(subject);
    else rooms.push({ room, entries });
  }
  return { rooms, foreign };
}
