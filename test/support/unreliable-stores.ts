/**
 * Stores behind a network that loses requests, loses answers, and delivers late. A put is answered `unknown` only where a
 * real store may answer so: when the caller cannot know.
 */
import type { EntryStore, NewEntry, PutOutcome } from '../../services/log/entry-store.js';
import type { Entry, Snapshot } from '../../services/log/log.js';
import type { KeptSnapshot, SnapshotStore } from '../../services/log/snapshot-store.js';
import { RevcastError } from '../../services/shared/errors.js';

/** What happens to one put. */
export type Fate =
  /** Nothing special. */
  | 'arrives'
  /** Done, and the answer is lost. */
  | 'answer_lost'
  /** Lost on the way. */
  | 'request_lost'
  /** The caller gives up; the request arrives a little later, perhaps after the caller's next ones. */
  | 'arrives_late'
  /** Refused by whoever would have had to take it: certainly not stored. */
  | 'refused';

/** Later than a writer's pause between two attempts. */
const LATE_MS = 120;

class UnreliableNetwork {
  /** While true, reading fails. */
  unreadable = false;
  /** Puts that were tried. */
  puts = 0;
  private readonly late: Promise<unknown>[] = [];

  /** @param fate decides about each put; the count starts at 1 */
  constructor(private readonly fate: (put: number) => Fate) {}

  /** Resolves when everything late has arrived. */
  async settled(): Promise<void> {
    await Promise.all(this.late);
  }

  /** @param deliver does the put at the other end */
  protected async send(deliver: () => Promise<PutOutcome>): Promise<PutOutcome> {
    const fate = this.fate(this.puts);
    switch (fate) {
      case 'arrives':
        return deliver();
      case 'answer_lost':
        await deliver();
        return { kind: 'unknown', cause: new Error('the answer was lost') };
      case 'request_lost':
        return { kind: 'unknown', cause: new Error('the request was lost') };
      case 'arrives_late':
        this.late.push(
          new Promise((resolve) => {
            setTimeout(resolve, LATE_MS);
          }).then(deliver),
        );
        return { kind: 'unknown', cause: new Error('the request is still under way') };
      case 'refused':
        return { kind: 'refused', error: new RevcastError('log_unavailable', 'nobody answers') };
      default:
        return fate satisfies never;
    }
  }

  protected checkReadable(): void {
    if (this.unreadable) throw new RevcastError('log_unavailable', 'cannot be read');
  }
}

export class UnreliableStore extends UnreliableNetwork implements EntryStore {
  constructor(
    private readonly inner: EntryStore,
    fate: (put: number) => Fate,
  ) {
    super(fate);
  }

  get maxEntryBytes(): number {
    return this.inner.maxEntryBytes;
  }

  async last(room: string, options: { confirmed: boolean }): Promise<Entry | null> {
    this.checkReadable();
    return this.inner.last(room, options);
  }

  async next(room: string, afterSeq: number): Promise<Entry | null> {
    this.checkReadable();
    return this.inner.next(room, afterSeq);
  }

  async recent(room: string, window: { revisions: number; ageMs: number; upToSeq: number }): Promise<readonly Entry[]> {
    this.checkReadable();
    return this.inner.recent(room, window);
  }

  async put(entry: NewEntry, expectedSeq: number): Promise<PutOutcome> {
    this.puts += 1;
    return this.send(() => this.inner.put(entry, expectedSeq));
  }
}

export class UnreliableSnapshots extends UnreliableNetwork implements SnapshotStore {
  /** Called before each put is sent: what happens between a writer's reading and its putting. */
  beforePut: () => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly inner: SnapshotStore,
    fate: (put: number) => Fate,
  ) {
    super(fate);
  }

  async read(room: string, options: { confirmed: boolean }): Promise<KeptSnapshot | null> {
    this.checkReadable();
    return this.inner.read(room, options);
  }

  async put(room: string, snapshot: Snapshot, expectedSeq: number): Promise<PutOutcome> {
    this.puts += 1;
    await this.beforePut();
    return this.send(() => this.inner.put(room, snapshot, expectedSeq));
  }
}
