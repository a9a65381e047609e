/**
 * Group commit's unit: the appends that go out as one entry. Takes appends while they fit, builds the entry once (a
 * repeated publication must be identical), and gives each append its own part of the entry's position.
 */
import { RevcastError } from '../shared/errors.js';
import type { NewEntry } from './entry-store.js';
import { headOf, type Append, type Appended, type Entry, type NewSnapshot, type StoredRevision } from './log.js';
import { newAppendId, newEpoch, newTag, type Numbering } from './numbering.js';

/** Bytes that an entry has beside its revisions: room name, ids, numbers, tags of fields. */
const ENTRY_OVERHEAD_BYTES = 512;
/** Bytes that a revision has beside its texts. */
const REVISION_OVERHEAD_BYTES = 40;
/** More revisions than this go out in several entries, unless they are one append. */
const MAX_BATCH_REVISIONS = 2_000;

/** A snapshot that a room begins with. */
export type Base = Pick<NewSnapshot, 'rev' | 'data' | 'replaces'>;

/** An append; or, without revisions, a base, which is a batch of its own. */
export type Publication = Append & { readonly base?: Base };

/** A publication that waits for its answer. */
export interface PendingAppend {
  readonly append: Publication;
  readonly bytes: number;
  /** On the monotonic clock, in milliseconds. */
  readonly deadline: number;
  /** Whether it was part of a publication whose outcome is open. */
  outcomeOpen: boolean;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: Error) => void;
}

/** Upper bound of what the append adds to an encoded entry. */
export function appendBytes(append: Publication): number {
  let bytes = Buffer.byteLength(append.key ?? '') + (append.base?.data.length ?? 0);
  for (const revision of append.revisions) {
    bytes += revision.data.length + Buffer.byteLength(revision.author ?? '') + REVISION_OVERHEAD_BYTES;
  }
  return bytes;
}

/** Throws `too_large` when the append can never be stored in one entry. */
export function checkFits(bytes: number, maxEntryBytes: number): void {
  if (bytes + ENTRY_OVERHEAD_BYTES > maxEntryBytes) {
    const limit = maxEntryBytes - ENTRY_OVERHEAD_BYTES;
    throw new RevcastError('too_large', `the append has ${bytes} bytes, at most ${limit} fit into one entry`);
  }
}

export class AppendBatch {
  readonly appends: PendingAppend[] = [];
  private readonly keys = new Set<string>();
  private revisions = 0;
  private bytes = ENTRY_OVERHEAD_BYTES;

  constructor(
    private readonly state: Numbering,
    private readonly maxEntryBytes: number,
  ) {}

  /** The head that the room will have when the batch is stored. */
  get rev(): number {
    return this.state.rev + this.revisions;
  }

  hasKey(key: string | undefined): boolean {
    return key !== undefined && this.keys.has(key);
  }

  /** Takes the append if it fits; false leaves the batch as it was. */
  take(pending: PendingAppend): boolean {
    const size = pending.append.revisions.length;
    if (this.appends.length > 0) {
      if (this.bytes + pending.bytes > this.maxEntryBytes) return false;
      if (this.revisions + size > MAX_BATCH_REVISIONS) return false;
    }
    this.appends.push(pending);
    if (pending.append.key !== undefined) this.keys.add(pending.append.key);
    this.revisions += size;
    this.bytes += pending.bytes;
    return true;
  }

  /** The entry to store, with times from `now` that never go back. */
  build(room: string, now: number): NewEntry {
    const time = Math.max(now, this.state.time);
    const base = this.appends[0]?.append.base;
    if (base !== undefined) return this.buildBase(room, time, base);
    const revisions: StoredRevision[] = [];
    for (const { append } of this.appends) {
      append.revisions.forEach((revision, index) => {
        revisions.push({
          time,
          data: revision.data,
          ...(revision.author === undefined ? {} : { author: revision.author }),
          ...(index === 0 && append.key !== undefined ? { key: append.key, appendSize: append.revisions.length } : {}),
        });
      });
    }
    return {
      room,
      epoch: this.state.epoch === '' ? newEpoch() : this.state.epoch,
      tag: newTag(),
      appendId: newAppendId(),
      firstRev: this.state.rev + 1,
      previousTime: this.state.epoch === '' ? 0 : this.state.time,
      previousSeq: this.state.seq,
      ...(this.state.epoch === '' ? {} : { previousTag: this.state.tag }),
      revisions,
    };
  }

  private buildBase(room: string, time: number, { rev, data }: Base): NewEntry {
    return {
      room,
      epoch: newEpoch(),
      tag: newTag(),
      appendId: newAppendId(),
      firstRev: rev + 1,
      previousTime: time,
      previousSeq: this.state.seq,
      revisions: [],
      base: data,
    };
  }

  /** Answers every append with its part of the stored entry. */
  answer(entry: Entry): void {
    if (entry.base !== undefined) {
      for (const { resolve } of this.appends) {
        resolve({ ...headOf(entry), firstRev: entry.firstRev, duplicate: false });
      }
      return;
    }
    let firstRev = entry.firstRev;
    for (const { append, resolve } of this.appends) {
      const rev = firstRev + append.revisions.length - 1;
      const time = entry.revisions[rev - entry.firstRev]?.time ?? 0;
      resolve({ epoch: entry.epoch, firstRev, rev, tag: entry.tag, seq: entry.seq, time, duplicate: false });
      firstRev = rev + 1;
    }
  }
}
