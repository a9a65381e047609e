/**
 * The end of the whole log in memory: every room's head, and the newest entries of all rooms up to `maxBytes`, oldest out
 * first. Of a room it holds consecutive entries up to its head, or none but the head.
 *
 * It is a copy and may be late: a head counts as confirmed only when the leader says that nothing came behind what was
 * received, and that there are as many rooms (a purge of a room makes no entry, but one room less).
 * Limits: a head for each room of the log, and `maxBytes`.
 */
import { RangeCollector } from '../log/entry-range.js';
import {
  headOf,
  lastRev,
  type Entry,
  type Head,
  type LogExtent,
  type RangeOptions,
  type WholeListener,
} from '../log/log.js';
import { entryMemory } from './entry-memory.js';

/** New rooms that are told from those that the leader counted before. */
const MAX_NEW_ROOMS = 1_000;

interface RoomTail {
  head: Head;
  /** Consecutive, the last one is the room's newest; empty when they were evicted. */
  entries: Entry[];
  /** How many of `entries` were evicted from the front and not yet cut off. */
  gone: number;
}

export class LogTail implements WholeListener {
  private readonly rooms = new Map<string, RoomTail>();
  /** Rooms of the entries held, in seq order, by seq. */
  private readonly order = new Map<number, RoomTail>();
  /** The seqs with which the newest rooms began. */
  private newRooms: number[] = [];
  private bytes = 0;
  private upTo = 0;
  private isDoubted = false;
  private readonly waiting = new Set<() => void>();

  /** @param onForgotten called when all that was held is no longer true */
  constructor(
    private readonly maxBytes: number,
    private readonly onForgotten: () => void,
  ) {}

  /** All that the log holds up to this seq was received. */
  get reachedSeq(): number {
    return this.upTo;
  }

  /** The rooms' newest entries are coming, and not all are there. */
  get isFilling(): boolean {
    return this.upTo === 0 && this.rooms.size > 0;
  }

  /** The room's head as it was received; undefined where there was no entry of it. */
  head(room: string): Head | undefined {
    return this.rooms.get(room)?.head;
  }

  /** A head is not the log's any more, though nothing came: no head counts until all is read again. */
  distrust(): void {
    this.isDoubted = true;
  }

  /** Whether all that the log had was received, and none of its rooms was removed. */
  holds({ lastSeq, rooms }: LogExtent): boolean {
    if (this.isDoubted) return false;
    const since = this.newRooms.filter((seq) => seq > lastSeq).length;
    return this.upTo >= lastSeq && since < MAX_NEW_ROOMS && this.rooms.size - since === rooms;
  }

  /** Calls `then` when something more was received. The answer ends that. */
  onProgress(then: () => void): () => void {
    this.waiting.add(then);
    return () => this.waiting.delete(then);
  }

  /** The room's entries from `fromRev` on; undefined where they are not all held. */
  entries(room: string, fromRev: number, options: RangeOptions): readonly Entry[] | undefined {
    const tail = this.rooms.get(room);
    if (tail === undefined) return undefined;
    if (fromRev > tail.head.rev) return [];
    const first = tail.entries[tail.gone];
    if (first === undefined || fromRev < first.firstRev) return undefined;
    const collector = new RangeCollector(fromRev, options);
    for (let i = indexOf(tail, fromRev); i < tail.entries.length; i += 1) {
      const entry = tail.entries[i];
      if (entry === undefined || !collector.add(entry)) break;
    }
    return collector.entries;
  }

  /** The room is gone, with all entries up to `seq`. What is newer stays: it has begun again. */
  remove(room: string, seq: number): void {
    const tail = this.rooms.get(room);
    if (tail === undefined || tail.head.seq > seq) return;
    this.drop(tail);
    this.rooms.delete(room);
  }

  /** Holds no entries of the room any more, but its head. */
  release(room: string): void {
    const tail = this.rooms.get(room);
    if (tail !== undefined) this.drop(tail);
  }

  onEntry(entry: Entry): void {
    const head = headOf(entry);
    const known = this.rooms.get(entry.room);
    const tail = known ?? { head, entries: [], gone: 0 };
    if (known === undefined) this.add(entry, tail);
    else if (!follows(tail.head, entry)) this.drop(tail);
    tail.head = head;
    tail.entries.push(entry);
    this.order.set(entry.seq, tail);
    this.bytes += entryMemory(entry);
    this.evict();
  }

  onReached(seq: number): void {
    this.upTo = Math.max(this.upTo, seq);
    for (const then of this.waiting) then();
  }

  onRestart(): void {
    this.rooms.clear();
    this.order.clear();
    this.newRooms = [];
    this.bytes = 0;
    this.upTo = 0;
    this.isDoubted = false;
    this.onForgotten();
  }

  private add({ room, seq }: Entry, tail: RoomTail): void {
    this.rooms.set(room, tail);
    this.newRooms.push(seq);
    if (this.newRooms.length > 2 * MAX_NEW_ROOMS) this.newRooms = this.newRooms.slice(-MAX_NEW_ROOMS);
  }

  /** The room's history does not go on from what is held. */
  private drop(tail: RoomTail): void {
    for (const entry of tail.entries.slice(tail.gone)) this.forget(entry);
    tail.entries = [];
    tail.gone = 0;
  }

  private forget(entry: Entry): void {
    this.order.delete(entry.seq);
    this.bytes -= entryMemory(entry);
  }

  private evict(): void {
    for (const tail of this.order.values()) {
      if (this.bytes <= this.maxBytes) return;
      const oldest = tail.entries[tail.gone];
      if (oldest === undefined) return;
      this.forget(oldest);
      tail.gone += 1;
      // Cutting moves the array: rarely.
      if (tail.gone * 2 < tail.entries.length) continue;
      tail.entries = tail.entries.slice(tail.gone);
      tail.gone = 0;
    }
  }
}

/** Whether the entry is the one right behind the head. */
function follows(head: Head, entry: Entry): boolean {
  return entry.epoch === head.epoch && entry.previousSeq === head.seq && entry.firstRev === head.rev + 1;
}

/** The first held entry that ends at `rev` or behind it. */
function indexOf({ entries, gone }: RoomTail, rev: number): number {
  let low = gone;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle];
    if (entry !== undefined && lastRev(entry) >= rev) high = middle;
    else low = middle + 1;
  }
  return low;
}
