/** A snapshot store behind a network that loses requests and answers, and delivers late; see unreliable-store.ts. */
import type { PutOutcome } from '../../services/log/entry-store.js';
import type { Snapshot } from '../../services/log/log.js';
import type { KeptSnapshot, SnapshotStore } from '../../services/log/snapshot-store.js';
import { RevcastError } from '../../services/shared/errors.js';
import type { Fate } from './unreliable-store.js';

const LATE_MS = 120;

export class UnreliableSnapshots implements SnapshotStore {
  /** While true, reading fails. */
  unreadable = false;
  /** Called before each put is sent: what happens between a writer's reading and its putting. */
  beforePut: () => Promise<void> = () => Promise.resolve();
  private puts = 0;
  private readonly late: Promise<unknown>[] = [];

  constructor(
    private readonly inner: SnapshotStore,
    /** Decides about each put; the count starts at 1. */
    private readonly fate: (put: number) => Fate,
  ) {}

  read(room: string, options: { confirmed: boolean }): Promise<KeptSnapshot | null> {
    if (this.unreadable) return Promise.reject(new RevcastError('log_unavailable', 'cannot be read'));
    return this.inner.read(room, options);
  }

  async put(room: string, snapshot: Snapshot, expectedSeq: number): Promise<PutOutcome> {
    this.puts += 1;
    await this.beforePut();
    const fate = this.fate(this.puts);
    switch (fate) {
      case 'arrives':
        return this.inner.put(room, snapshot, expectedSeq);
      case 'answer_lost':
        await this.inner.put(room, snapshot, expectedSeq);
        return { kind: 'unknown', cause: new Error('the answer was lost') };
      case 'request_lost':
        return { kind: 'unknown', cause: new Error('the request was lost') };
      case 'arrives_late':
        this.late.push(
          new Promise((resolve) => {
            setTimeout(resolve, LATE_MS);
          }).then(() => this.inner.put(room, snapshot, expectedSeq)),
        );
        return { kind: 'unknown', cause: new Error('the request is still under way') };
      case 'refused':
        return { kind: 'refused', error: new RevcastError('log_unavailable', 'nobody answers') };
      default:
        return fate satisfies never;
    }
  }

  /** Resolves when everything late has arrived. */
  async settled(): Promise<void> {
    await Promise.all(this.late);
  }
}
