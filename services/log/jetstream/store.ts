/**
 * The EntryStore of a JetStream stream: compare-and-set through Nats-Expected-Last-Subject-Sequence, outcomes told
 * apart by whether the server can have stored the entry. The header is written here, for 0 too (the room is empty):
 * the client's own publish leaves it out then, and two first entries would both be stored.
 */
import { asError, RevcastError } from '../../shared/errors.js';
import { encodeEntry } from '../entry-codec.js';
import type { EntryStore, NewEntry, PutOutcome } from '../entry-store.js';
import { lastRev, type Entry } from '../log.js';
import { storedSubject } from '../subjects.js';
import { API_ERROR, ApiError, parseAnswer, type JetStreamApi } from './api.js';
import type { EntryReader } from './entry-reader.js';
import type { HistoryGuard } from './history-guard.js';
import type { HistoryReader } from './history-reader.js';
import { RequestError } from './request-error.js';

const EXPECTED_SEQ = 'Nats-Expected-Last-Subject-Sequence';
/** Kept free below max_payload for what the server adds when it republishes: the subject and its own headers. */
const PAYLOAD_RESERVE_BYTES = 1_024;
/** The version line, the expectation and its number. */
const HEADER_BYTES = 128;
/** The server's default, until a connection says its own. */
const DEFAULT_MAX_PAYLOAD_BYTES = 1_048_576;

const CONFLICT: ReadonlySet<number> = new Set([API_ERROR.wrongLastSequence, API_ERROR.wrongLastSequenceConstant]);
/** Limits of the account or of the server's storage. */
const FULL: ReadonlySet<number> = new Set([10_002, 10_023, 10_028, 10_047]);
/** max_bytes reached (checked before anything is stored), or a failure of the leader's disk. */
const STORE_FAILED = 10_077;
const LIMIT_REACHED = /maximum (bytes|messages)/u;
const TOO_LARGE = 10_054;

export interface JetStreamStoreParts {
  readonly api: JetStreamApi;
  readonly reader: EntryReader;
  readonly history: HistoryReader;
  readonly guard: HistoryGuard;
  /** Whether the stream has several replicas: then a leader whose disk fails may not speak for the others. */
  readonly replicated: boolean;
  readonly now: () => number;
  /** Throws `log_unavailable` while the stream is not known to be in order. */
  readonly assertReady: () => void;
  /** Called when nobody answers for the stream: it may be gone. */
  readonly suspectStream: () => void;
}

export class JetStreamStore implements EntryStore {
  private maxPayloadBytes = DEFAULT_MAX_PAYLOAD_BYTES;

  constructor(private readonly parts: JetStreamStoreParts) {}

  /** What the server says; while it is away, what it said last. */
  get maxEntryBytes(): number {
    this.maxPayloadBytes = this.parts.api.link.connection?.info?.max_payload ?? this.maxPayloadBytes;
    return this.maxPayloadBytes - PAYLOAD_RESERVE_BYTES - HEADER_BYTES;
  }

  async last(room: string, options: { confirmed: boolean }): Promise<Entry | null> {
    this.parts.assertReady();
    return options.confirmed ? this.parts.reader.confirmedLast(room) : this.parts.reader.last(room);
  }

  async next(room: string, afterSeq: number): Promise<Entry | null> {
    this.parts.assertReady();
    return this.parts.reader.confirmedNext(room, afterSeq);
  }

  async recent(room: string, window: { revisions: number; ageMs: number; upToSeq: number }): Promise<readonly Entry[]> {
    this.parts.assertReady();
    const end = await this.parts.reader.confirmedNext(room, window.upToSeq - 1);
    // Removed meanwhile: there is nothing to remember, and a put behind it is going to be a conflict.
    if (end === null || end.seq !== window.upToSeq) return [];
    const fromRev = lastRev(end) - window.revisions + 1;
    return this.parts.history.until(end, { fromRev, sinceTime: this.parts.now() - window.ageMs });
  }

  async put(entry: NewEntry, expectedSeq: number): Promise<PutOutcome> {
    const bytes = encodeEntry(entry);
    if (bytes.length > this.maxEntryBytes)
      return { kind: 'refused', error: tooLarge(bytes.length, this.maxEntryBytes) };
    try {
      this.parts.assertReady();
      const headers = { [EXPECTED_SEQ]: String(expectedSeq) };
      const answer = await this.parts.api.send(storedSubject(entry.room), bytes, { headers });
      const { seq } = parseAnswer(answer) as { seq: number };
      this.parts.guard.saw({ seq, tag: entry.tag });
      return { kind: 'stored', seq };
    } catch (error) {
      if (error instanceof RequestError && error.failure === 'no_responders') this.parts.suspectStream();
      return this.outcomeOf(error, bytes.length);
    }
  }

  private outcomeOf(error: unknown, bytes: number): PutOutcome {
    if (error instanceof ApiError) return this.outcomeOfAnswer(error, bytes);
    if (error instanceof RequestError && !error.certainlyNotProcessed) return { kind: 'unknown', cause: error };
    if (error instanceof RevcastError) return { kind: 'refused', error };
    return { kind: 'unknown', cause: asError(error) };
  }

  private outcomeOfAnswer(error: ApiError, bytes: number): PutOutcome {
    if (CONFLICT.has(error.number)) return { kind: 'conflict' };
    if (error.number === TOO_LARGE) return { kind: 'refused', error: tooLarge(bytes, undefined) };
    if (FULL.has(error.number) || (error.number === STORE_FAILED && this.certainlyFull(error))) {
      return { kind: 'refused', error: new RevcastError('log_full', `the log is full: ${error.description}`) };
    }
    // Whatever else the server says: reading tells whether the entry is there.
    return { kind: 'unknown', cause: error };
  }

  private certainlyFull(error: ApiError): boolean {
    return !this.parts.replicated || LIMIT_REACHED.test(error.description);
  }
}

function tooLarge(bytes: number, limit: number | undefined): RevcastError {
  const allowed = limit === undefined ? 'more than the stream allows' : `at most ${limit} fit into one message`;
  return new RevcastError('too_large', `the entry has ${bytes} bytes, ${allowed}`);
}
