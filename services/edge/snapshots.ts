/**
 * Snapshots for those who join: read once for all who ask together, and not again for KEEP_MS. What is prepared of a
 * snapshot, the answer's body and its deflated form, is made once per protocol and stays while the snapshot does, also
 * when it is read again and is the same.
 *
 * An old snapshot is as good as a new one to who gets all that follows it, and that is checked for each who joins.
 * Limit: `maxBytes`, with what is prepared; the longest unused go first, and one that is larger is not kept.
 */
import type { Head, Snapshot } from '../log/log.js';
import type { RevisionReader } from '../revision/contract.js';
import type { Clock } from '../shared/clock.js';
import type { PreparedFrame } from './prepared-frame.js';

const KEEP_MS = 1_000;
const OVERHEAD_BYTES = 2_000;

export class RoomSnapshot {
  /** By protocol index. */
  readonly frames: (PreparedFrame | undefined)[] = [];
  /** The data, the answer, and what is deflated of it. */
  readonly bytes: number;

  constructor(
    readonly room: string,
    readonly snapshot: Snapshot,
  ) {
    this.bytes = OVERHEAD_BYTES + 3 * snapshot.data.length;
  }

  /** Where a client stands that has it. */
  get position(): { readonly epoch: string; readonly rev: number; readonly tag: string } {
    const { epoch, rev, tag } = this.snapshot;
    return { epoch, rev, tag };
  }
}

export type RoomSnapshotAnswer =
  | { readonly kind: 'snapshot'; readonly snapshot: RoomSnapshot }
  | { readonly kind: 'none' }
  | { readonly kind: 'truncated'; readonly firstRev: number; readonly head: Head };

interface Kept {
  readonly snapshot: RoomSnapshot;
  /** Until when it is answered without asking. */
  until: number;
}

export class Snapshots {
  private readonly underWay = new Map<string, Promise<RoomSnapshotAnswer>>();
  /** In order of last use. */
  private readonly kept = new Map<string, Kept>();
  private keptBytes = 0;

  constructor(
    private readonly reader: RevisionReader,
    private readonly clock: Clock,
    private readonly maxBytes: number,
  ) {}

  /** Of what is kept. */
  get bytes(): number {
    return this.keptBytes;
  }

  /** The room's snapshot, perhaps not its newest. Throws what `RevisionReader.snapshot` throws. */
  of(room: string): Promise<RoomSnapshotAnswer> {
    const kept = this.kept.get(room);
    if (kept !== undefined && this.clock.monotonic() < kept.until) {
      this.kept.delete(room);
      this.kept.set(room, kept);
      return Promise.resolve({ kind: 'snapshot', snapshot: kept.snapshot });
    }
    const already = this.underWay.get(room);
    if (already !== undefined) return already;
    const asking = this.ask(room).finally(() => {
      this.underWay.delete(room);
    });
    this.underWay.set(room, asking);
    return asking;
  }

  /** Asks again the next time: what was kept turned out not to be followed by what the log has. */
  forget(room: string): void {
    const kept = this.kept.get(room);
    if (kept === undefined) return;
    this.kept.delete(room);
    this.keptBytes -= kept.snapshot.bytes;
  }

  private async ask(room: string): Promise<RoomSnapshotAnswer> {
    const answer = await this.reader.snapshot(room);
    if (answer.kind !== 'snapshot') {
      this.forget(room);
      return answer.kind === 'none' ? { kind: 'none' } : answer;
    }
    const before = this.kept.get(room)?.snapshot;
    const same = before !== undefined && isSame(before.snapshot, answer.snapshot);
    const snapshot = same ? before : new RoomSnapshot(room, answer.snapshot);
    this.forget(room);
    this.keep(room, snapshot);
    return { kind: 'snapshot', snapshot };
  }

  private keep(room: string, snapshot: RoomSnapshot): void {
    if (snapshot.bytes > this.maxBytes) return;
    this.kept.set(room, { snapshot, until: this.clock.monotonic() + KEEP_MS });
    this.keptBytes += snapshot.bytes;
    for (const oldest of this.kept.keys()) {
      if (this.keptBytes <= this.maxBytes) return;
      this.forget(oldest);
    }
  }
}

/** Of one room at one position there is one snapshot. */
function isSame(one: Snapshot, other: Snapshot): boolean {
  return one.epoch === other.epoch && one.rev === other.rev && one.tag === other.tag;
}
