/**
 * An entry store behind a network that loses requests, loses answers, and delivers late. It answers `unknown` only
 * where a real one may: when the caller cannot know.
 */
import type { EntryStore, NewEntry, PutOutcome } from '../../services/log/entry-store.js';
import type { Entry } from '../../services/log/log.js';
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

export class UnreliableStore implements EntryStore {
  /** While true, reading fails. */
  unreadable = false;
  /** Puts that were tried. */
  puts = 0;
  private late: Promise<unknown>[] = [];

  constructor(
    private readonly inner: EntryStore,
    /** Decides about each put; the count starts at 1. */
    private readonly fate: (put: number) => Fate,
  ) {}

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
    const fate = this.fate(this.puts);
    switch (fate) {
      case 'arrives':
        return this.inner.put(entry, expectedSeq);
      case 'answer_lost':
        await this.inner.put(entry, expectedSeq);
        return { kind: 'unknown', cause: new Error('the answer was lost') };
      case 'request_lost':
        return { kind: 'unknown', cause: new Error('the request was lost') };
      case 'arrives_late':
        this.late.push(
          new Promise((resolve) => {
            setTimeout(resolve, LATE_MS);
          }).then(() => this.inner.put(entry, expectedSeq)),
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

  private checkReadable(): void {
    if (this.unreadable) throw new RevcastError('log_unavailable', 'cannot be read');
  }
}
