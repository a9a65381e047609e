/**
 * The rules of snapshots (SPEC.md, S rules), above both adapters' stores.
 *
 * An empty room begins with a snapshot by one compare-and-set: the base entry holds its data. So there is no moment in
 * which a room has begun and its content is nowhere. A copy of it goes where the later ones are kept, because retention
 * removes the base like any entry.
 *
 * Every put reads what is kept, decides, and puts behind what it read; whatever else happens in between is a conflict,
 * and decided anew. So of two producers that race a lower snapshot never replaces a higher one, and a put whose answer
 * was lost is found by reading. Only a snapshot of the room's present numbering counts.
 *
 * A snapshot is acknowledged only if what follows it is kept after it was stored: who removes old entries looks for a
 * snapshot right before, so of the two one sees the other.
 */
import { sleep, type Clock } from '../shared/clock.js';
import { RevcastError } from '../shared/errors.js';
import type { Base } from './append-batch.js';
import type { EntryStore } from './entry-store.js';
import {
  headOf,
  lastRev,
  type Appended,
  type Entry,
  type Head,
  type Log,
  type NewSnapshot,
  type Snapshot,
} from './log.js';
import type { KeptSnapshot, SnapshotStore } from './snapshot-store.js';

const RETRY_MS = 50;
/** Of a kept snapshot beside its data: room name, ids, numbers; what an answer over NATS has is within it too. */
const SNAPSHOT_OVERHEAD_BYTES = 1_024;
const ONE = { limit: 1, maxBytes: 1 };

export interface SnapshotsParts {
  readonly store: SnapshotStore;
  readonly entries: Pick<EntryStore, 'last' | 'next' | 'maxEntryBytes'>;
  readonly range: Log['range'];
  readonly begin: (room: string, base: Base) => Promise<Appended>;
  readonly clock: Clock;
  /** How long a put may wait for its outcome. */
  readonly deadlineMs: number;
}

/** One put on its way. */
interface Putting {
  readonly room: string;
  readonly wanted: NewSnapshot;
  /** Whether a put was sent whose outcome is not known, or is that it was stored. */
  outcomeOpen: boolean;
  /** A leader just elected may be an entry short for a moment: it is asked twice before a snapshot is above its head. */
  wasAbove: boolean;
}

export class Snapshots {
  constructor(private readonly parts: SnapshotsParts) {}

  /** See `Log.snapshot`. */
  async read(room: string): Promise<Snapshot | null> {
    const { store, entries } = this.parts;
    const [kept, newest] = await Promise.all([
      store.read(room, { confirmed: false }),
      entries.last(room, { confirmed: true }),
    ]);
    if (newest === null) return null;
    if (kept !== null && isOf(kept.snapshot, headOf(newest))) return kept.snapshot;
    const base = await this.baseOf(room, newest);
    return base === null ? null : snapshotOf(base);
  }

  /** See `Log.putSnapshot`. */
  async put(room: string, wanted: NewSnapshot): Promise<Snapshot> {
    const limit = this.parts.entries.maxEntryBytes - SNAPSHOT_OVERHEAD_BYTES;
    if (wanted.data.length > limit) {
      throw new RevcastError('too_large', `the snapshot has ${wanted.data.length} bytes, at most ${limit} can be kept`);
    }
    const { clock, deadlineMs } = this.parts;
    const deadline = clock.monotonic() + deadlineMs;
    const putting: Putting = { room, wanted, outcomeOpen: false, wasAbove: false };
    for (;;) {
      let last: RevcastError | undefined;
      try {
        const kept = await this.attempt(putting);
        if (kept !== 'again') {
          putting.outcomeOpen = true;
          await this.assertFollowed(room, kept);
          return kept;
        }
      } catch (error) {
        if (!(error instanceof RevcastError) || error.code !== 'log_unavailable') throw error;
        last = error;
      }
      if (clock.monotonic() >= deadline) throw timedOut(putting, last);
      await sleep(clock, RETRY_MS * (0.5 + Math.random() / 2));
    }
  }

  /** Reads, decides, and puts; 'again' when that has to be done anew. */
  private async attempt(putting: Putting): Promise<Snapshot | 'again'> {
    const { room, wanted } = putting;
    const { store, entries } = this.parts;
    const [kept, newest] = await Promise.all([
      store.read(room, { confirmed: true }),
      entries.last(room, { confirmed: true }),
    ]);
    if (newest === null || newest.epoch === wanted.replaces) return this.begin(room, wanted, newest);
    const head = headOf(newest);
    if (wanted.epoch !== undefined && wanted.epoch !== head.epoch) throw epochChanged(head);
    const present = await this.present(room, newest, kept);
    if (present?.rev === wanted.rev && isSame(present, wanted)) {
      return present === kept?.snapshot ? present : this.keep(putting, present, kept);
    }
    if (wanted.replaces !== undefined) throw epochChanged(head);
    if (present !== null && wanted.rev <= present.rev) throw outdated(wanted.rev, present);
    if (wanted.rev > head.rev) {
      if (putting.wasAbove) throw aboveHead(wanted.rev, head);
      putting.wasAbove = true;
      return 'again';
    }
    const place = await this.placeOf(room, wanted.rev, newest);
    return place === 'changing' ? 'again' : this.keep(putting, { ...place, data: wanted.data }, kept);
  }

  /** The room begins with the snapshot; the next attempt then finds it as the room's base, and keeps a copy. */
  private async begin(room: string, wanted: NewSnapshot, newest: Entry | null): Promise<'again'> {
    if (newest === null && wanted.epoch !== undefined) throw epochChanged(null);
    const { rev, data, replaces } = wanted;
    try {
      await this.parts.begin(room, { rev, data, ...(replaces === undefined ? {} : { replaces }) });
    } catch (error) {
      // Someone else was first.
      if (!(error instanceof RevcastError) || error.code !== 'conflict') throw error;
    }
    return 'again';
  }

  private async keep(putting: Putting, snapshot: Snapshot, kept: KeptSnapshot | null): Promise<Snapshot | 'again'> {
    const put = await this.parts.store.put(putting.room, snapshot, kept?.seq ?? 0);
    switch (put.kind) {
      case 'stored':
        return snapshot;
      case 'conflict':
        return 'again';
      case 'unknown':
        putting.outcomeOpen = true;
        return 'again';
      case 'refused':
        if (putting.outcomeOpen) return 'again';
        throw put.error;
    }
  }

  /** What stands for the room now: the kept snapshot if the log still has it so, else the base. */
  private async present(room: string, newest: Entry, kept: KeptSnapshot | null): Promise<Snapshot | null> {
    const head = headOf(newest);
    if (kept !== null && isOf(kept.snapshot, head) && (await this.standsIn(room, newest, kept.snapshot))) {
      return kept.snapshot;
    }
    const base = await this.baseOf(room, newest);
    return base === null ? null : snapshotOf(base);
  }

  /** Whether the log has the snapshot's tag at its revision, or cannot tell: a log that was rolled back may not. */
  private async standsIn(room: string, newest: Entry, snapshot: Snapshot): Promise<boolean> {
    if (snapshot.rev === lastRev(newest)) return snapshot.tag === newest.tag;
    const range = await this.parts.range(room, snapshot.rev, ONE);
    const entry = range.kind === 'entries' ? range.entries[0] : undefined;
    return entry === undefined || entry.tag === snapshot.tag;
  }

  /** Position and time of a revision at or below the head. Throws `history_truncated`. */
  private async placeOf(room: string, rev: number, newest: Entry): Promise<Omit<Snapshot, 'data'> | 'changing'> {
    const head = headOf(newest);
    if (rev === head.rev) return { epoch: head.epoch, rev, tag: head.tag, time: head.time };
    const range = await this.parts.range(room, rev, ONE);
    if (range.kind === 'truncated') throw truncated(range);
    const entry = range.kind === 'entries' ? range.entries[0] : undefined;
    const time = entry?.revisions[0]?.time;
    if (entry === undefined || time === undefined || entry.epoch !== head.epoch) return 'changing';
    return { epoch: entry.epoch, rev, tag: entry.tag, time };
  }

  /** Throws `history_truncated` where what follows the snapshot is not kept any more. */
  private async assertFollowed(room: string, { epoch, rev }: Snapshot): Promise<void> {
    const range = await this.parts.range(room, rev + 1, ONE);
    if (range.kind === 'truncated' && range.head.epoch === epoch) throw truncated(range);
  }

  /** The base entry of the room's numbering, which ends with `newest`; null where it has none, or it is no longer kept. */
  private async baseOf(room: string, newest: Entry): Promise<Entry | null> {
    if (newest.base !== undefined) return newest;
    const range = await this.parts.range(room, 'first', ONE);
    const first = range.kind === 'entries' ? range.entries[0] : undefined;
    if (first === undefined || first.epoch !== newest.epoch || first.previousTime === 0) return null;
    const before = await this.parts.entries.next(room, first.previousSeq - 1);
    const isBase = before?.base !== undefined && before.seq === first.previousSeq && before.epoch === first.epoch;
    return isBase ? before : null;
  }
}

function snapshotOf(base: Entry): Snapshot {
  const { epoch, rev, tag, time } = headOf(base);
  return { epoch, rev, tag, time, data: base.base ?? new Uint8Array(0) };
}

function isOf(snapshot: Snapshot, head: Head): boolean {
  return snapshot.epoch === head.epoch && snapshot.rev <= head.rev;
}

function isSame(one: { readonly data: Uint8Array }, other: { readonly data: Uint8Array }): boolean {
  return Buffer.compare(one.data, other.data) === 0;
}

function details({ epoch, rev, tag, time }: Omit<Snapshot, 'data'>): Omit<Snapshot, 'data'> {
  return { epoch, rev, tag, time };
}

function aboveHead(rev: number, head: Head): RevcastError {
  return new RevcastError('snapshot_above_head', `revision ${rev} is not there yet, the head is ${head.rev}`, {
    details: { head: details(head) },
  });
}

function outdated(rev: number, kept: Snapshot): RevcastError {
  const what = rev === kept.rev ? 'has another snapshot already' : `is below the kept snapshot, at ${kept.rev}`;
  return new RevcastError('snapshot_outdated', `revision ${rev} ${what}`, { details: { kept: details(kept) } });
}

function truncated({ firstRev, head }: { readonly firstRev: number; readonly head: Head }): RevcastError {
  return new RevcastError('history_truncated', `the oldest kept revision is ${firstRev}`, {
    details: { firstRev, head: details(head) },
  });
}

function epochChanged(head: Head | null): RevcastError {
  return new RevcastError('epoch_changed', 'the room has another history than the snapshot', {
    details: { head: head === null ? null : details(head) },
  });
}

function timedOut({ outcomeOpen }: Putting, cause: RevcastError | undefined): RevcastError {
  const options = cause === undefined ? {} : { cause };
  return outcomeOpen
    ? new RevcastError('outcome_unknown', 'the log did not say whether the snapshot was kept', options)
    : new RevcastError('log_unavailable', cause?.message ?? 'the log did not answer in time', options);
}
