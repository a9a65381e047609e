/** The memory adapter of the log: the embedded default. Nothing survives the process. */
import type { Clock } from '../shared/clock.js';
import { RangeCollector } from './entry-range.js';
import type { EntryStore } from './entry-store.js';
import {
  headOf,
  lastRev,
  type Append,
  type Appended,
  type Entry,
  type Following,
  type Head,
  type Log,
  type LogExtent,
  type LogStatus,
  type NewSnapshot,
  type Range,
  type RangeOptions,
  type Snapshot,
  type WholeFollowing,
  type WholeListener,
  type WholeLog,
} from './log.js';
import { firstIndex, MemoryStore } from './memory-store.js';
import { RoomWriters } from './room-writers.js';
import type { WriterSettings } from './room-writer.js';
import type { SnapshotStore } from './snapshot-store.js';
import { Snapshots } from './snapshots.js';

export interface MemoryLogParts {
  readonly clock: Clock;
  /** Shared by several logs to stand for several producers; a new one by default. */
  readonly store?: MemoryStore;
  /** What the writers put through, where it differs from `store`: a store that loses answers, in tests. */
  readonly writeStore?: EntryStore;
  /** Where snapshots are kept, where that is not `store`: likewise in tests. */
  readonly snapshotStore?: SnapshotStore;
  readonly settings?: Partial<WriterSettings>;
}

const DEFAULTS: WriterSettings = { appendDeadlineMs: 5_000, keyWindowRevisions: 1_000, keyWindowMs: 600_000 };

export class MemoryLog implements Log, WholeLog {
  private readonly store: MemoryStore;
  private readonly writers: RoomWriters;
  private readonly snapshots: Snapshots;
  private readonly followings = new Set<() => void>();

  constructor(parts: MemoryLogParts) {
    const { clock, store = new MemoryStore(), writeStore = store, snapshotStore = store.snapshots } = parts;
    const settings = { ...DEFAULTS, ...parts.settings };
    this.store = store;
    this.writers = new RoomWriters({ store: writeStore, clock, settings });
    this.snapshots = new Snapshots({
      store: snapshotStore,
      entries: store,
      range: (...asked) => this.range(...asked),
      begin: (room, base) => this.writers.begin(room, base),
      clock,
      deadlineMs: settings.appendDeadlineMs,
    });
  }

  append(room: string, append: Append): Promise<Appended> {
    return this.writers.append(room, append);
  }

  follow(rooms: readonly string[], onEntry: (entry: Entry) => void): Following {
    const ends = rooms.map((room) => this.store.listen(room, onEntry));
    const stop = () => {
      this.followings.delete(stop);
      for (const end of ends) end();
    };
    this.followings.add(stop);
    return { ready: Promise.resolve(), stop };
  }

  followAll(listener: WholeListener): WholeFollowing {
    const following = new MemoryFollowing(this.store, listener);
    const stop = () => {
      this.followings.delete(stop);
      following.stop();
    };
    this.followings.add(stop);
    return { verify: () => undefined, restart: () => following.restart(), vouchesFor: () => true, stop };
  }

  extent(): Promise<LogExtent> {
    return Promise.resolve(this.store.extent);
  }

  keeps({ room, seq, tag }: Pick<Entry, 'room' | 'seq' | 'tag'>): Promise<boolean> {
    const entries = this.store.entriesOf(room);
    const found = entries[firstIndex(entries, (entry) => entry.seq >= seq)];
    return Promise.resolve(found?.seq === seq && found.tag === tag);
  }

  range(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range> {
    const all = this.store.entriesOf(room);
    const newest = all.at(-1);
    if (newest === undefined) return Promise.resolve({ kind: 'empty' });
    const head = headOf(newest);
    // Entries of an earlier numbering are no part of the room any more.
    const start = firstIndex(all, (entry) => entry.epoch === head.epoch);
    const firstRev = all[start]?.firstRev ?? head.rev;
    const from = fromRev === 'first' ? firstRev : fromRev;
    if (from < firstRev) return Promise.resolve({ kind: 'truncated', firstRev, head });
    const collector = new RangeCollector(from, options);
    const index = firstIndex(all, (entry) => entry.epoch === head.epoch && lastRev(entry) >= from);
    for (let i = index; i < all.length; i += 1) {
      const entry = all[i];
      if (entry === undefined || !collector.add(entry)) break;
    }
    return Promise.resolve({ kind: 'entries', entries: collector.entries, head });
  }

  heads(rooms: readonly string[]): Promise<ReadonlyMap<string, Head | null>> {
    const heads = new Map<string, Head | null>();
    for (const room of rooms) {
      const newest = this.store.entriesOf(room).at(-1);
      heads.set(room, newest === undefined ? null : headOf(newest));
    }
    return Promise.resolve(heads);
  }

  snapshot(room: string): Promise<Snapshot | null> {
    return this.snapshots.read(room);
  }

  putSnapshot(room: string, snapshot: NewSnapshot): Promise<Snapshot> {
    return this.snapshots.put(room, snapshot);
  }

  status(): LogStatus {
    return { state: 'ready' };
  }

  /** Nothing disturbs a log in memory. */
  onDisturbance(): () => void {
    return () => undefined;
  }

  close(): Promise<void> {
    this.writers.close();
    for (const stop of this.followings) stop();
    return Promise.resolve();
  }
}

/** Follows all rooms of a store. Entries that were stored but not yet told of when it began come once. */
class MemoryFollowing {
  private lastSeq = 0;
  private readonly end: () => void;
  private begun = false;
  private stopped = false;

  constructor(
    private readonly store: MemoryStore,
    private readonly listener: WholeListener,
  ) {
    this.end = store.listenToAll((entry) => {
      if (this.begun) this.give(entry);
    });
    this.beginSoon();
  }

  restart(): void {
    if (this.stopped) return;
    this.begun = false;
    this.lastSeq = 0;
    this.listener.onRestart();
    this.beginSoon();
  }

  stop(): void {
    this.stopped = true;
    this.end();
  }

  private beginSoon(): void {
    setImmediate(() => {
      if (this.stopped || this.begun) return;
      this.begun = true;
      const { lastSeq } = this.store.extent;
      for (const entry of this.store.newest()) this.give(entry);
      this.reached(lastSeq);
    });
  }

  private give(entry: Entry): void {
    if (this.stopped || entry.seq <= this.lastSeq) return;
    this.lastSeq = entry.seq;
    this.listener.onEntry(entry);
    this.reached(entry.seq);
  }

  private reached(seq: number): void {
    this.lastSeq = Math.max(this.lastSeq, seq);
    if (!this.stopped) this.listener.onReached(this.lastSeq);
  }
}
