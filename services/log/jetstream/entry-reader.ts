/**
 * Single reads of the stream. `confirmed` reads ask the stream's leader; the others ask any replica, which may be a
 * little behind (after an ack in about 2 % of reads, by up to 26 ms; an isolated replica for ever).
 * An entry that cannot be decoded is an error of its room: numbering must not go on behind what it cannot read.
 */
import type { Msg } from 'nats';
import { asError, RevcastError } from '../../shared/errors.js';
import { decodeEntry } from '../entry-codec.js';
import type { Entry } from '../log.js';
import { STORED_SUBJECTS, STREAM, storedSubject } from '../subjects.js';
import { isNoMessage, parseAnswer, type JetStreamApi } from './api.js';
import { directData } from './direct-get.js';
import type { HistoryGuard } from './history-guard.js';
import type { ReplicaReads } from './replica-reads.js';

interface StoredMessage {
  readonly message: { readonly subject: string; readonly seq: number; readonly data?: string };
}

const MESSAGE_GET = `$JS.API.STREAM.MSG.GET.${STREAM}`;
const DIRECT_GET = `$JS.API.DIRECT.GET.${STREAM}`;

export class EntryReader {
  constructor(
    private readonly api: JetStreamApi,
    private readonly replicas: ReplicaReads,
    private readonly guard: HistoryGuard,
  ) {}

  /**
   * The room's newest entry, from the leader. Where a room's newest was deleted alone, the server says once that there is none
   * (seen on 2.10.27): it is asked again before a room counts as empty.
   */
  async confirmedLast(room: string): Promise<Entry | null> {
    const request = { last_by_subj: storedSubject(room) };
    const last = await this.confirmed(room, request);
    if (last !== null || (await this.confirmedNext(room, 0)) === null) return last;
    return this.confirmed(room, request);
  }

  /** The room's first entry with a seq above `afterSeq`, from the leader. */
  confirmedNext(room: string, afterSeq: number): Promise<Entry | null> {
    return this.confirmed(room, { seq: afterSeq + 1, next_by_subj: storedSubject(room) });
  }

  /** The room's newest entry, from any replica; from the leader where none answers soon, and before a room counts as empty. */
  async last(room: string): Promise<Entry | null> {
    const answer = await this.replicas.ask(`${DIRECT_GET}.${storedSubject(room)}`, new Uint8Array(0));
    const last = answer === undefined ? null : this.direct(room, answer);
    return last ?? this.confirmedLast(room);
  }

  /** The room's first entry with a seq above `afterSeq`, from any replica; from the leader where none answers soon. */
  async next(room: string, afterSeq: number): Promise<Entry | null> {
    const request = { seq: afterSeq + 1, next_by_subj: storedSubject(room) };
    const answer = await this.replicas.ask(DIRECT_GET, Buffer.from(JSON.stringify(request)));
    return answer === undefined ? this.confirmedNext(room, afterSeq) : this.direct(room, answer);
  }

  /** The tag of the entry, of whatever room, at exactly this seq, from the leader; null where none is kept. */
  async tagAt(seq: number): Promise<string | null> {
    const stored = await this.get({ seq });
    if (stored === null) return null;
    try {
      return decodeStored(undefined, seq, dataOf(stored)).tag;
    } catch (error) {
      return asError(error).message;
    }
  }

  /** seq of the first entry behind `afterSeq`, of whatever room, from the leader; null where there is none. */
  async seqAfter(afterSeq: number): Promise<number | null> {
    return (await this.get({ seq: afterSeq + 1, next_by_subj: STORED_SUBJECTS }))?.message.seq ?? null;
  }

  private async confirmed(room: string, request: object): Promise<Entry | null> {
    const stored = await this.get(request);
    return stored === null ? null : this.seen(decodeStored(room, stored.message.seq, dataOf(stored)));
  }

  private async get(request: object): Promise<StoredMessage | null> {
    const answer = await this.api.send(MESSAGE_GET, Buffer.from(JSON.stringify(request)));
    try {
      return parseAnswer(answer) as StoredMessage;
    } catch (error) {
      if (isNoMessage(error)) return null;
      throw error;
    }
  }

  private direct(room: string, answer: Msg): Entry | null {
    const found = directData(answer);
    return found === null ? null : this.seen(decodeStored(room, found.seq, found.data));
  }

  private seen(entry: Entry): Entry {
    this.guard.saw(entry);
    return entry;
  }
}

/** The entry in a stored message of `room`. Throws `internal`: the stream holds what revcast did not write. */
export function decodeStored(room: string | undefined, seq: number, data: Uint8Array): Entry {
  const where = `the entry at seq ${seq}${room === undefined ? '' : ` of room ${JSON.stringify(room)}`}`;
  let entry: Entry;
  try {
    entry = { ...decodeEntry(data), seq };
  } catch (error) {
    throw new RevcastError('internal', `${where} cannot be read: ${asError(error).message}`, { cause: error });
  }
  if (room !== undefined && entry.room !== room) {
    throw new RevcastError('internal', `${where} is of another room, ${JSON.stringify(entry.room)}`);
  }
  return entry;
}

function dataOf(stored: StoredMessage): Uint8Array {
  return Buffer.from(stored.message.data ?? '', 'base64');
}
