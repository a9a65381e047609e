/** A feed over doubles, and a listener that checks on every call that what it is given follows. */
import { Feed, NOWHERE, type Broken, type FeedListener } from '../../services/edge/feed.js';
import { HeadLookup } from '../../services/edge/head-lookup.js';
import { headOf, type Entry, type Position } from '../../services/log/log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { silentLogger } from '../../services/shared/logger.js';
import { History, LiveDouble, ReaderDouble } from './edge-doubles.js';
import { ManualClock } from './manual-clock.js';

class Listener implements FeedListener {
  readonly openedAt: Position[] = [];
  readonly broken: { reason: Broken; position: Position }[] = [];
  /** `epoch/rev/tag` of every revision given. */
  readonly given: string[] = [];
  /** Whether `tagAt` knows what was given; otherwise it knows nothing, as an empty ring. */
  remembers = true;
  private at: Position = NOWHERE;
  private readonly tags = new Map<number, string>();

  onOpened(position: Position): void {
    if (this.openedAt.length > 0) throw new Error('opened twice');
    this.openedAt.push(position);
    this.at = position;
  }

  onEntry(entry: Entry): void {
    if (this.openedAt.length === 0) throw new Error('an entry before it was opened');
    if (entry.firstRev !== this.at.rev + 1) throw new Error(`revision ${entry.firstRev} after ${this.at.rev}`);
    if (this.at.rev > 0 && entry.epoch !== this.at.epoch) throw new Error('another epoch without a word');
    this.at = headOf(entry);
    for (let rev = entry.firstRev; rev <= this.at.rev; rev += 1) {
      this.given.push(`${entry.epoch}/${rev}/${entry.tag}`);
      this.tags.set(rev, entry.tag);
    }
  }

  onBroken(reason: Broken, position: Position): void {
    this.broken.push({ reason, position });
    this.at = position;
    this.tags.clear();
  }

  tagAt(rev: number): string | undefined {
    return this.remembers ? this.tags.get(rev) : undefined;
  }

  get revs(): number[] {
    return this.given.map((given) => Number(given.split('/')[1]));
  }
}

export function feedParts(options: { keep?: number; pageRevisions?: number } = {}) {
  const clock = new ManualClock();
  const store = new MemoryStore(options.keep);
  const live = new LiveDouble();
  const reader = new ReaderDouble(store);
  const listener = new Listener();
  const room = 'doc-1';
  const history = new History(store, room);
  const feed = new Feed(
    room,
    {
      live,
      reader,
      clock,
      logger: silentLogger,
      lookup: new HeadLookup(reader, clock, silentLogger),
      pageRevisions: options.pageRevisions ?? 100,
      pageBytes: 1_000_000,
    },
    listener,
  );
  /** Opens it, with what time that takes. */
  const open = async (): Promise<void> => {
    const opening = feed.open(5_000);
    // The outcome is told below; it is only not to count as unhandled while the clock moves.
    opening.catch(() => undefined);
    await clock.advance(10);
    await opening;
  };
  /** Asks for the head, with what time that takes. */
  const look = async (): Promise<void> => {
    const looking = feed.look();
    looking.catch(() => undefined);
    await clock.advance(10);
    await looking;
  };
  return { clock, store, live, reader, listener, history, feed, open, look };
}

/** `from` to `to`, both included. */
export function revsFrom(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
