/**
 * What is known to be still kept of rooms that are in memory. Removal takes a room's oldest entries first, so where one
 * is kept, those behind it are. What the leader said once holds while it counts no further entry as removed.
 *
 * Concurrent questions about one room from one entry on are one. Limit: MAX_ROOMS; beyond it all is asked anew.
 */
import type { Entry, LogExtent, WholeLog } from '../log/log.js';

const MAX_ROOMS = 50_000;

export class KeptEntries {
  /** Entries removed, when all that is in `from` was kept. */
  private removed = -1;
  /** By room: from this seq on. */
  private readonly from = new Map<string, number>();
  private readonly asking = new Map<string, Promise<boolean>>();

  constructor(
    private readonly whole: Pick<WholeLog, 'keeps'>,
    private readonly onAsked: () => void,
  ) {}

  /** Whether the entry is kept, and so those behind it, at the extent or later. Throws `log_unavailable`. */
  async has(entry: Pick<Entry, 'room' | 'seq' | 'tag'>, extent: LogExtent): Promise<boolean> {
    const { room, seq, tag } = entry;
    if (extent.removed === this.removed && seq >= (this.from.get(room) ?? Number.POSITIVE_INFINITY)) return true;
    const question = `${extent.removed} ${seq} ${tag}`;
    let asking = this.asking.get(question);
    if (asking === undefined) {
      this.onAsked();
      asking = this.whole.keeps(entry).finally(() => this.asking.delete(question));
      this.asking.set(question, asking);
    }
    const kept = await asking;
    if (kept) this.note(room, seq, extent);
    return kept;
  }

  /** The leader said so after it told the extent. */
  private note(room: string, seq: number, { removed }: LogExtent): void {
    if (removed !== this.removed || this.from.size >= MAX_ROOMS) this.from.clear();
    this.removed = removed;
    this.from.set(room, Math.min(seq, this.from.get(room) ?? seq));
  }

  /** Nothing of what was known holds. */
  clear(): void {
    this.from.clear();
    this.removed = -1;
  }
}
