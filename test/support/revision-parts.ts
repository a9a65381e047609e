/** Rooms in a memory log for the revision service's tests, and ways to disturb what is read from it. */
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import type { Appended, Entry, Log } from '../../services/log/log.js';
import type { RangeAnswer } from '../../services/revision/contract.js';
import { revisionClientSettings } from '../../services/revision/rpc-client.js';
import type { PageSource } from '../../services/revision/service.js';
import { revisionSettings } from '../../services/revision/settings.js';
import { systemClock, type Clock } from '../../services/shared/clock.js';
import { readSettings } from '../../services/shared/settings.js';

/** The defaults, on any free port. */
export const settings = { ...readSettings(revisionSettings, {}, {}), revisionPort: 0 };

/** The client's defaults, but each request is sent once, so that tests can count them. */
export const clientSettings = { ...readSettings(revisionClientSettings, {}, {}), revisionHedgeMs: 0 };

/** A clock whose waits pass at once. */
export const hastyClock: Clock = {
  ...systemClock,
  after(_delayMs, action) {
    const immediate = setImmediate(action);
    return () => {
      clearImmediate(immediate);
    };
  },
};

/** A memory log that keeps at most `keep` revisions a room (up to a quarter more). */
export function memoryLog(keep?: number): { log: MemoryLog; store: MemoryStore } {
  const store = new MemoryStore(keep);
  return { log: new MemoryLog({ clock: systemClock, store }), store };
}

/** One entry with `count` revisions, whose data is `{"n":<rev>}` when the room was empty before `firstRev`. */
export function appendEntry(
  log: Pick<Log, 'append'>,
  room: string,
  firstRev: number,
  count: number,
): Promise<Appended> {
  const revisions = Array.from({ length: count }, (_, index) => ({ data: Buffer.from(`{"n":${firstRev + index}}`) }));
  return log.append(room, { revisions });
}

/** Entries of the given sizes, one after the other; answers what each append was answered. */
export async function appendEntries(
  log: Pick<Log, 'append'>,
  room: string,
  sizes: readonly number[],
): Promise<Appended[]> {
  const appended: Appended[] = [];
  let rev = 1;
  for (const size of sizes) {
    appended.push(await appendEntry(log, room, rev, size));
    rev += size;
  }
  return appended;
}

/** The log with calls that a test answers itself, as often as it says; then the log's own. */
export class DisturbedLog implements PageSource {
  /** How often each was asked. */
  readonly asked = { range: 0, heads: 0 };
  private readonly ranges: PageSource['range'][] = [];
  private readonly headsCalls: PageSource['heads'][] = [];

  constructor(readonly log: PageSource & Pick<Log, 'snapshot'>) {}

  snapshot(room: string): ReturnType<Log['snapshot']> {
    return this.log.snapshot(room);
  }

  nextRange(...answers: PageSource['range'][]): void {
    this.ranges.push(...answers);
  }

  nextHeads(...answers: PageSource['heads'][]): void {
    this.headsCalls.push(...answers);
  }

  range(...call: Parameters<PageSource['range']>): ReturnType<PageSource['range']> {
    this.asked.range += 1;
    return (this.ranges.shift() ?? this.log.range.bind(this.log))(...call);
  }

  heads(rooms: readonly string[]): ReturnType<PageSource['heads']> {
    this.asked.heads += 1;
    return (this.headsCalls.shift() ?? this.log.heads.bind(this.log))(rooms);
  }
}

/** The revisions' numbers in entries. */
export function revsOf(entries: readonly Entry[]): number[] {
  return entries.flatMap((entry) => entry.revisions.map((_, index) => entry.firstRev + index));
}

/** The revisions' numbers of an answer, or what it is instead. */
export function told(answer: RangeAnswer): number[] | string {
  return answer.kind === 'entries' ? revsOf(answer.entries) : answer.kind;
}
