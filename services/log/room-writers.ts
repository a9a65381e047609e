/** The writers of all rooms that this process appends to: made on demand, the longest idle dropped beyond MAX_ROOMS. */
import { RevcastError } from '../shared/errors.js';
import type { Base } from './append-batch.js';
import type { Append, Appended } from './log.js';
import { RoomWriter, type WriterParts } from './room-writer.js';

/** Beyond it idle writers are dropped, which costs their rooms' next append one read of the room's end. */
const MAX_ROOMS = 50_000;
/** How many writers are looked at for an idle one when there are too many. */
const EVICTION_LOOKS = 8;

export class RoomWriters {
  /** In order of last use. */
  private readonly writers = new Map<string, RoomWriter>();
  private closed = false;

  constructor(private readonly parts: WriterParts) {}

  /** See `Log.append`. */
  async append(room: string, append: Append): Promise<Appended> {
    return this.writer(room).append(append);
  }

  /** See `RoomWriter.begin`. */
  async begin(room: string, base: Base): Promise<Appended> {
    return this.writer(room).begin(base);
  }

  /** The log may have lost entries: every writer looks again before its next entry. */
  distrust(): void {
    for (const writer of this.writers.values()) writer.distrust();
  }

  close(): void {
    this.closed = true;
    for (const writer of this.writers.values()) writer.close();
    this.writers.clear();
  }

  private writer(room: string): RoomWriter {
    if (this.closed) throw new RevcastError('log_unavailable', 'the log is closed');
    const writer = this.writers.get(room) ?? new RoomWriter(room, this.parts);
    this.writers.delete(room);
    this.writers.set(room, writer);
    this.evict();
    return writer;
  }

  private evict(): void {
    if (this.writers.size <= MAX_ROOMS) return;
    let looks = EVICTION_LOOKS;
    for (const [room, writer] of this.writers) {
      if (writer.idle) this.writers.delete(room);
      looks -= 1;
      if (looks === 0 || this.writers.size <= MAX_ROOMS) return;
    }
  }
}
