/**
 * Snapshots for those who join: the log's, once it is known that what follows it can be had. Requests for one room that
 * come together are one read.
 *
 * A snapshot just read is answered again for KEEP_MS, which is safe: an older snapshot is as good as a newer one to who
 * then gets all that follows it, and that it can be followed is looked up for every answer. Limit: `maxBytes` of
 * snapshots, the longest unused go first; one that is larger is not kept.
 */
import type { Log, Snapshot } from '../log/log.js';
import type { Clock } from '../shared/clock.js';
import { RevcastError } from '../shared/errors.js';
import type { ClientPosition, RangeAnswer, RangeQuery, SnapshotAnswer } from './contract.js';

const KEEP_MS = 1_000;
/** The room may be given another history between two reads. */
const READ_ATTEMPTS = 2;
/** What a kept snapshot costs beside its data. */
const OVERHEAD_BYTES = 512;

interface Kept {
  readonly snapshot: Snapshot;
  readonly until: number;
}

export interface SnapshotAnswersParts {
  readonly log: Pick<Log, 'snapshot'>;
  readonly range: (query: RangeQuery) => Promise<RangeAnswer>;
  readonly clock: Clock;
  readonly maxBytes: number;
}

export class SnapshotAnswers {
  private readonly underWay = new Map<string, Promise<SnapshotAnswer>>();
  /** In order of last use. */
  private readonly kept = new Map<string, Kept>();
  private bytes = 0;

  constructor(private readonly parts: SnapshotAnswersParts) {}

  /** See `RevisionReader.snapshot`. */
  of(room: string): Promise<SnapshotAnswer> {
    const already = this.underWay.get(room);
    if (already !== undefined) return already;
    const asking = this.find(room).finally(() => {
      this.underWay.delete(room);
    });
    this.underWay.set(room, asking);
    return asking;
  }

  private async find(room: string): Promise<SnapshotAnswer> {
    const kept = this.justRead(room);
    const again = kept === undefined ? undefined : await this.followed(room, kept);
    if (again?.kind === 'snapshot') return again;
    for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt += 1) {
      const snapshot = await this.parts.log.snapshot(room);
      if (snapshot === null) break;
      const answer = await this.followed(room, snapshot);
      if (answer?.kind === 'snapshot') this.keep(room, snapshot);
      if (answer !== undefined) return answer;
    }
    return this.fromBeginning(room);
  }

  /** undefined: the log has another history than the snapshot. */
  private async followed(room: string, snapshot: Snapshot): Promise<SnapshotAnswer | undefined> {
    const { epoch, rev, tag } = snapshot;
    const answer = await this.rangeBehind(room, { epoch, rev, tag });
    if (answer.kind === 'epoch_changed') return undefined;
    if (answer.kind === 'truncated') return answer;
    return answer.head === null ? undefined : { kind: 'snapshot', snapshot, head: answer.head };
  }

  private async fromBeginning(room: string): Promise<SnapshotAnswer> {
    const answer = await this.rangeBehind(room, { epoch: '', rev: 0 });
    switch (answer.kind) {
      case 'entries':
        return { kind: 'none', head: answer.head };
      case 'truncated':
        return answer;
      case 'epoch_changed':
        throw new RevcastError('log_unavailable', 'the room is beginning another history');
    }
  }

  private rangeBehind(room: string, after: ClientPosition): Promise<RangeAnswer> {
    return this.parts.range({ room, after, limit: 1, maxBytes: 1 });
  }

  private justRead(room: string): Snapshot | undefined {
    const found = this.kept.get(room);
    if (found === undefined) return undefined;
    this.drop(room, found);
    if (this.parts.clock.monotonic() >= found.until) return undefined;
    this.add(room, found);
    return found.snapshot;
  }

  private keep(room: string, snapshot: Snapshot): void {
    const before = this.kept.get(room);
    if (before !== undefined) this.drop(room, before);
    if (sizeOf(snapshot) > this.parts.maxBytes) return;
    this.add(room, { snapshot, until: this.parts.clock.monotonic() + KEEP_MS });
    for (const [oldest, kept] of this.kept) {
      if (this.bytes <= this.parts.maxBytes) return;
      this.drop(oldest, kept);
    }
  }

  private add(room: string, kept: Kept): void {
    this.kept.set(room, kept);
    this.bytes += sizeOf(kept.snapshot);
  }

  private drop(room: string, kept: Kept): void {
    this.kept.delete(room);
    this.bytes -= sizeOf(kept.snapshot);
  }
}

function sizeOf({ data }: Snapshot): number {
  return data.length + OVERHEAD_BYTES;
}
