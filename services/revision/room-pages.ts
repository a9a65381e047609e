/**
 * Reading a room page by page for HTTP: each page begins at the position where the last one ended, with its epoch and
 * tag, so that pages never mix two histories. Who gives no epoch means the numbering that the room has now.
 */
import { lastRev, type Entry, type Head, type Snapshot } from '../log/log.js';
import { RevcastError } from '../shared/errors.js';
import type { ClientPosition, RangeAnswer, RevisionReader } from './contract.js';
import type { RevisionsQuery } from './http-query.js';

export interface Page {
  readonly head: Head;
  /** Consecutive; empty where there is nothing from the asked revision on. */
  readonly entries: readonly Entry[];
  /** Where the page ends, and the seq of the entry there, when there is more behind it. */
  readonly next: (Required<ClientPosition> & { readonly seq: number }) | null;
}

export class RoomPages {
  constructor(
    private readonly reader: RevisionReader,
    readonly room: string,
    private readonly maxBytes: number,
  ) {}

  /** Throws `not_found` when the room has no revisions, `history_truncated`, `epoch_changed`. */
  async first({ from, after, limit }: RevisionsQuery): Promise<Page> {
    if (from === undefined) return this.read(null, limit);
    if (after !== undefined) return this.read(after, limit);
    const head = await this.head();
    if (from > head.rev) return { head, entries: [], next: null };
    return this.read({ epoch: head.epoch, rev: from - 1 }, limit);
  }

  /** The page behind a position that an earlier page ended at. */
  async read(after: (ClientPosition & { readonly seq?: number }) | null, limit: number): Promise<Page> {
    const query = {
      room: this.room,
      after,
      limit: Math.min(limit, Number.MAX_SAFE_INTEGER),
      maxBytes: this.maxBytes,
      ...(after?.seq === undefined ? {} : { hint: after.seq }),
    };
    const { entries, head } = this.followed(await this.reader.range(query));
    const last = entries.at(-1);
    const more = last !== undefined && lastRev(last) < head.rev;
    return {
      entries,
      head,
      next: more ? { epoch: last.epoch, rev: lastRev(last), tag: last.tag, seq: last.seq } : null,
    };
  }

  /** The room's head, confirmed by the log. Throws `not_found`. */
  async head(): Promise<Head> {
    const head = (await this.reader.heads([{ room: this.room, position: null }]))[0]?.head;
    if (!head) throw notFound(this.room);
    return head;
  }

  private followed(answer: RangeAnswer): { entries: readonly Entry[]; head: Head } {
    switch (answer.kind) {
      case 'entries':
        if (answer.head === null) throw notFound(this.room);
        return { entries: answer.entries, head: answer.head };
      case 'truncated':
        throw truncated(answer);
      case 'epoch_changed':
        throw new RevcastError('epoch_changed', 'the room has another history than the position', {
          details: { head: answer.head },
        });
    }
  }
}

/** The room's snapshot. Throws `not_found` when it has none, `history_truncated` when what follows it is no longer kept. */
export async function snapshotOf(reader: RevisionReader, room: string): Promise<Snapshot> {
  const answer = await reader.snapshot(room);
  switch (answer.kind) {
    case 'snapshot':
      return answer.snapshot;
    case 'none':
      if (answer.head === null) throw notFound(room);
      throw new RevcastError('not_found', `the room ${JSON.stringify(room)} has no snapshot`);
    case 'truncated':
      throw truncated(answer);
  }
}

function truncated({ firstRev, head }: { firstRev: number; head: Head }): RevcastError {
  return new RevcastError('history_truncated', `the oldest kept revision is ${firstRev}`, {
    details: { firstRev, head },
  });
}

function notFound(room: string): RevcastError {
  return new RevcastError('not_found', `the room ${JSON.stringify(room)} has no revisions`);
}
