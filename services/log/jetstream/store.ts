/**
 * The EntryStore of a JetStream stream: compare-and-set through Nats-Expected-Last-Subject-Sequence, outcomes told
 * apart by whether the server can have stored the entry.
 */
import { encodeEntry } from '../entry-codec.js';
import type { EntryStore, NewEntry, PutOutcome } from '../entry-store.js';
import { lastRev, type Entry } from '../log.js';
import { storedSubject } from '../subjects.js';
import { parseAnswer, type JetStreamApi } from './api.js';
import type { EntryReader } from './entry-reader.js';
import type { HistoryGuard } from './history-guard.js';
import type { HistoryReader } from './history-reader.js';
import { expecting, putOutcome, tooLarge } from './put-outcome.js';
import { RequestError } from './request-error.js';
import { assertInTouch } from './stream.js';

/** Kept free below max_payload for what the server adds when it republishes: the subject and its own headers. */
const PAYLOAD_RESERVE_BYTES = 1_024;
/** The version line, the expectation and its number. */
const HEADER_BYTES = 128;
/** The server's default, until a connection says its own. */
const DEFAULT_MAX_PAYLOAD_BYTES = 1_048_576;

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

  async last(room: string, options: { confirmed: boolean; conclusive?: boolean }): Promise<Entry | null> {
    const { assertReady, reader, replicated, api } = this.parts;
    assertReady();
    if (!options.confirmed) return reader.last(room);
    const last = await reader.confirmedLast(room);
    if (options.conclusive === true && replicated) await assertInTouch(api);
    return last;
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
      const headers = expecting(expectedSeq);
      const answer = await this.parts.api.send(storedSubject(entry.room), bytes, { headers });
      const { seq } = parseAnswer(answer) as { seq: number };
      this.parts.guard.saw({ seq, tag: entry.tag });
      return { kind: 'stored', seq };
    } catch (error) {
      if (error instanceof RequestError && error.failure === 'no_responders') this.parts.suspectStream();
      return putOutcome(error, bytes.length, { replicated: this.parts.replicated });
    }
  }
}
