/**
 * The memory adapter's store: every room's entries in arrays, in one process, lost with it. Several writers may share
 * one store, as several producers share a stream.
 *
 * Limits: per room `maxRevisionsPerRoom` and MAX_ROOM_BYTES, beyond which its oldest entries go (never the last one).
 */
import { entryBytes } from './entry-range.js';
import type { EntryStore, NewEntry, PutOutcome } from './entry-store.js';
import { lastRev, type Entry, type LogExtent } from './log.js';
import { MemorySnapshots } from './snapshot-store.js';

const MAX_ROOM_BYTES = 64 * 1024 * 1024;
/** Trimming moves the array: do it rarely. */
const TRIM_SLACK = 1.25;

interface RoomEntries {
  entries: Entry[];
  bytes: number;
}

export class MemoryStore implements EntryStore {
  readonly maxEntryBytes = 8 * 1024 * 1024;
  readonly snapshots = new MemorySnapshots();
  private readonly rooms = new Map<string, RoomEntries>();
  private readonly listeners = new Map<string, Set<(entry: Entry) => void>>();
  private readonly wholeListeners = new Set<(entry: Entry) => void>();
  private undelivered: Entry[] = [];
  private seq = 0;
  private removed = 0;

  constructor(private readonly maxRevisionsPerRoom = 100_000) {}

  /** The room's entries, oldest first. */
  entriesOf(room: string): readonly Entry[] {
    return this.rooms.get(room)?.entries ?? [];
  }

  last(room: string): Promise<Entry | null> {
    return Promise.resolve(this.entriesOf(room).at(-1) ?? null);
  }

  next(room: string, afterSeq: number): Promise<Entry | null> {
    const entries = this.entriesOf(room);
    return Promise.resolve(entries[firstIndex(entries, (entry) => entry.seq > afterSeq)] ?? null);
  }

  recent(room: string, window: { upToSeq: number }): Promise<readonly Entry[]> {
    return Promise.resolve(this.entriesOf(room).filter((entry) => entry.seq <= window.upToSeq));
  }

  put(entry: NewEntry, expectedSeq: number): Promise<PutOutcome> {
    const room = this.rooms.get(entry.room) ?? { entries: [], bytes: 0 };
    if ((room.entries.at(-1)?.seq ?? 0) !== expectedSeq) return Promise.resolve({ kind: 'conflict' });
    this.seq += 1;
    const stored: Entry = { ...entry, seq: this.seq };
    room.entries.push(stored);
    room.bytes += entryBytes(stored);
    this.rooms.set(entry.room, room);
    this.trim(room);
    this.publish(stored);
    return Promise.resolve({ kind: 'stored', seq: stored.seq });
  }

  /** Calls `listener` for every entry of the room from now on, from a turn of its own. The answer ends it. */
  listen(room: string, listener: (entry: Entry) => void): () => void {
    const listeners = this.listeners.get(room) ?? new Set();
    this.listeners.set(room, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.listeners.get(room) === listeners) this.listeners.delete(room);
    };
  }

  /** The same for the entries of all rooms. */
  listenToAll(listener: (entry: Entry) => void): () => void {
    this.wholeListeners.add(listener);
    return () => this.wholeListeners.delete(listener);
  }

  /** Each room's newest entry, in seq order. */
  newest(): readonly Entry[] {
    const newest = [...this.rooms.values()].flatMap(({ entries }) => entries.at(-1) ?? []);
    return newest.sort((one, other) => one.seq - other.seq);
  }

  get extent(): LogExtent {
    return { lastSeq: this.seq, rooms: this.rooms.size, removed: this.removed, made: '' };
  }

  /** Removes all of the room's history, as an operator's purge does. */
  removeHistory(room: string): void {
    this.removed += this.entriesOf(room).length;
    this.rooms.delete(room);
  }

  /** All that was stored in one turn is delivered in one later turn, so never from inside a socket's handler. */
  private publish(entry: Entry): void {
    this.undelivered.push(entry);
    if (this.undelivered.length > 1) return;
    setImmediate(() => {
      const entries = this.undelivered;
      this.undelivered = [];
      for (const each of entries) {
        for (const listener of this.listeners.get(each.room) ?? []) listener(each);
        for (const listener of this.wholeListeners) listener(each);
      }
    });
  }

  private trim(room: RoomEntries): void {
    const { entries } = room;
    const newest = entries.at(-1);
    const oldest = entries[0];
    if (newest === undefined || oldest === undefined) return;
    const revisions = lastRev(newest) - oldest.firstRev + 1;
    if (revisions <= this.maxRevisionsPerRoom * TRIM_SLACK && room.bytes <= MAX_ROOM_BYTES * TRIM_SLACK) return;
    let drop = 0;
    let left = revisions;
    for (const entry of entries.slice(0, -1)) {
      if (left <= this.maxRevisionsPerRoom && room.bytes <= MAX_ROOM_BYTES) break;
      left -= entry.revisions.length;
      room.bytes -= entryBytes(entry);
      drop += 1;
    }
    room.entries = entries.slice(drop);
    this.removed += drop;
  }
}

/** The first index whose entry satisfies a condition that all later ones satisfy too; the length if there is none. */
export function firstIndex(entries: readonly Entry[], condition: (entry: Entry) => boolean): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle];
    if (entry !== undefined && condition(entry)) high = middle;
    else low = middle + 1;
  }
  return low;
}
