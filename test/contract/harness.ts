/** What the contract suite needs of an adapter, and what its tests share. */
import type { EntryStore, NewEntry } from '../../services/log/entry-store.js';
import { lastRev, type Append, type Entry, type Log, type WholeLog } from '../../services/log/log.js';
import { newAppendId, newTag } from '../../services/log/numbering.js';
import type { SnapshotStore } from '../../services/log/snapshot-store.js';
import type { Clock } from '../../services/shared/clock.js';

export interface OpenOptions {
  readonly clock?: Clock;
  readonly wrapStore?: (store: EntryStore) => EntryStore;
  readonly wrapSnapshots?: (store: SnapshotStore) => SnapshotStore;
  readonly appendDeadlineMs?: number;
  readonly keyWindowRevisions?: number;
  readonly keyWindowMinutes?: number;
}

export interface LogHarness {
  /** One more log on the store that all logs of the harness share, as another producer has it. */
  open(options?: OpenOptions): Promise<Log & WholeLog>;
  /** Removes all of the room's history, as an operator does. */
  removeHistory(room: string): Promise<void>;
  /** A log in which `count` revisions of the room were appended one by one, and about the last `kept` are there. */
  openTrimmed(room: string, count: number, kept: number): Promise<Log>;
  /** Publishes an entry which the store must reject, past all of the adapter's own checks. */
  publishRejected(entry: NewEntry, wrongSeq: number): Promise<void>;
  dispose(): Promise<void>;
}

let rooms = 0;

/** A room that no other test has. */
export function newRoom(): string {
  rooms += 1;
  return `room ${rooms}`;
}

export function data(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** An append of one revision with the value as its data. */
export function one(value: unknown, rest: Omit<Append, 'revisions'> = {}): Append {
  return { revisions: [{ data: data(value) }], ...rest };
}

export function many(values: readonly unknown[], rest: Omit<Append, 'revisions'> = {}): Append {
  return { revisions: values.map((value) => ({ data: data(value) })), ...rest };
}

/** All entries of the room's numbering. */
export async function allEntries(log: Log, room: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  let from: number | 'first' = 'first';
  for (;;) {
    const range = await log.range(room, from, { limit: 500, maxBytes: 1e9 });
    if (range.kind === 'truncated') throw new Error(`truncated at ${from}`);
    if (range.kind === 'empty') return entries;
    const last = range.entries.at(-1);
    if (last === undefined) return entries;
    entries.push(...range.entries);
    from = lastRev(last) + 1;
  }
}

/** The values of the entries' revisions, by rev. */
export function valuesOf(entries: readonly Entry[]): [rev: number, value: unknown][] {
  return entries.flatMap((entry) =>
    entry.revisions.map((revision, index): [number, unknown] => [
      entry.firstRev + index,
      JSON.parse(Buffer.from(revision.data).toString()),
    ]),
  );
}

/** [1, first], [2, second] and so on. */
export function numbered(values: readonly unknown[]): [number, unknown][] {
  return values.map((value, index) => [index + 1, value]);
}

/** A sound entry to publish past the writers. */
export function rawEntry(room: string, fields: Partial<NewEntry> = {}): NewEntry {
  return {
    room,
    epoch: 'raw',
    tag: newTag(),
    appendId: newAppendId(),
    firstRev: 1,
    previousTime: 0,
    previousSeq: 0,
    revisions: [{ time: 1, data: data('raw') }],
    ...fields,
  };
}

/** The rejection of a promise; throws when it was fulfilled. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${JSON.stringify(value)}`);
}
