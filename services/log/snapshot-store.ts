/**
 * Where snapshots are kept: one per room, beside its entries. The rules of what may take the place of what are in
 * `snapshots.ts` above it, so that both adapters keep to the same ones; here is only reading, and compare-and-set.
 */
import type { PutOutcome } from './entry-store.js';
import type { Snapshot } from './log.js';

export interface KeptSnapshot {
  readonly snapshot: Snapshot;
  /** What a put names that takes its place. */
  readonly seq: number;
}

export interface SnapshotStore {
  /** The room's newest snapshot, of whatever numbering. Without `confirmed` it may be a little stale. Throws `log_unavailable`. */
  read(room: string, options: { confirmed: boolean }): Promise<KeptSnapshot | null>;

  /**
   * Keeps the snapshot if the kept one has seq `expectedSeq` (0: there is none). Never throws for what the network or
   * the server does: that is an outcome.
   */
  put(room: string, snapshot: Snapshot, expectedSeq: number): Promise<PutOutcome>;
}

/** The memory adapter's: nothing survives the process. Limit: one snapshot a room. */
export class MemorySnapshots implements SnapshotStore {
  private readonly kept = new Map<string, KeptSnapshot>();
  private seq = 0;

  read(room: string): Promise<KeptSnapshot | null> {
    return Promise.resolve(this.kept.get(room) ?? null);
  }

  put(room: string, snapshot: Snapshot, expectedSeq: number): Promise<PutOutcome> {
    if ((this.kept.get(room)?.seq ?? 0) !== expectedSeq) return Promise.resolve({ kind: 'conflict' });
    this.seq += 1;
    this.kept.set(room, { snapshot, seq: this.seq });
    return Promise.resolve({ kind: 'stored', seq: this.seq });
  }
}
