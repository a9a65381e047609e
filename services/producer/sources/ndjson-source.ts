/**
 * Publishes NDJSON from a stream, line by line, in order.
 *
 *   input ─▶ lines ─▶ queue ─▶ round under way (ndjson-round.ts) ─▶ the next round: all that is ready by then
 *
 * So batches grow with the log's latency, and a single line is never held back.
 * Invariant: the lines of a room are appended in their order; one that cannot be stored now is tried again, for ever,
 * and none of its room goes before. Every append has a key, the line's own or one of this run, so that a retry is
 * never stored twice. A line that can never be stored ends the run, after the lines before it; or it is skipped.
 * Limits: `ndjsonBatchLines` and MAX_ROUND_BYTES a round; the reader waits while a round's worth is queued.
 */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { asError, RevcastError } from '../../shared/errors.js';
import type { Running } from '../../shared/lifecycle.js';
import type { Logger } from '../../shared/logger.js';
import type { BackoffLimits } from './backoff.js';
import { parseLine, type NdjsonFormat, type NdjsonItem } from './ndjson-item.js';
import { splitLines, type Line } from './ndjson-lines.js';
import { RoundAppender } from './ndjson-round.js';
import type { NdjsonValues } from './ndjson-settings.js';
import type { SourceLog, SourceParts } from './source.js';
import { Wakeup } from './wakeup.js';

/** Half of what fits into an entry with NATS' usual limits. */
const MAX_ROUND_BYTES = 512 * 1024;
/** What a queued line counts beside its data. */
const LINE_OVERHEAD_BYTES = 100;
const RETRY: BackoffLimits = { firstMs: 50, maxMs: 5_000 };
/** So many skipped lines are logged one by one; the report counts all. */
const MAX_SKIPPED_TOLD = 20;

export interface NdjsonSourceParts extends Omit<SourceParts, 'log'> {
  readonly log: Pick<SourceLog, 'append'>;
  /** Read to its end, and destroyed when the source stops before that. */
  readonly input: Readable;
  readonly settings: Omit<NdjsonValues, 'ndjsonFile'>;
  /** Waits between attempts of an append. */
  readonly retry?: BackoffLimits;
}

export interface NdjsonReport {
  /** stopped: by `stop`, before all lines were published. failed: see error. */
  readonly outcome: 'finished' | 'stopped' | 'failed';
  /** Lines read, blank ones included. */
  readonly lines: number;
  /** Revisions that this run stored. */
  readonly appended: number;
  /** Lines whose key the room had already seen. */
  readonly duplicates: number;
  /** Lines that could not be published, and were skipped. */
  readonly skipped: number;
  /** What ended it. Of a line, it is a RevcastError that begins with its place, which its details hold (line, column). */
  readonly error?: Error;
}

export class NdjsonSource implements Running {
  /** How it went. Never rejects. */
  readonly done: Promise<NdjsonReport>;
  private readonly logger: Logger;
  private readonly format: NdjsonFormat;
  private readonly appender: RoundAppender;
  private queue: NdjsonItem[] = [];
  private queuedBytes = 0;
  private readonly ready: Wakeup;
  private readonly space: Wakeup;
  private lines = 0;
  private taken = 0;
  private skipped = 0;
  /** The reader has ended: at the end of the input, or because of `failure` or a stop. */
  private readEnded = false;
  private reachedEnd = false;
  private stopping = false;
  private failure: Error | undefined;

  /** Reads and publishes at once. */
  constructor(private readonly parts: NdjsonSourceParts) {
    const { settings, log, clock, logger, retry = RETRY } = parts;
    this.logger = logger.child({ source: 'ndjson' });
    this.format = { raw: settings.ndjsonRaw, room: settings.ndjsonRoom, maxLineBytes: settings.ndjsonMaxLineBytes };
    this.ready = new Wakeup(clock);
    this.space = new Wakeup(clock);
    const runId = randomBytes(9).toString('base64url');
    const onBadLine = (error: RevcastError) => {
      this.badLine(error);
    };
    this.appender = new RoundAppender({ log, clock, logger: this.logger, retry, runId, onBadLine });
    this.done = this.run();
  }

  /** Stops reading and waits for appends under way, but tries none again. Idempotent. */
  async stop(): Promise<void> {
    this.halt();
    await this.done;
  }

  private async run(): Promise<NdjsonReport> {
    await Promise.all([this.read(), this.write()]);
    const { lines, skipped, failure } = this;
    const { appended, duplicates, refused } = this.appender;
    const counts = { lines, appended, duplicates, skipped };
    if (failure !== undefined) return { outcome: 'failed', ...counts, error: failure };
    const isDone = this.reachedEnd && this.taken === appended + duplicates + refused;
    return { outcome: isDone ? 'finished' : 'stopped', ...counts };
  }

  private async read(): Promise<void> {
    try {
      for await (const lines of splitLines(this.parts.input, this.format.maxLineBytes)) {
        // Not one by one: a round is to get all that a chunk holds.
        for (const line of lines) {
          this.take(line);
          while (this.isFull && !this.stopping) await this.space.wait();
          if (this.stopping) return;
        }
      }
      this.reachedEnd = true;
    } catch (error) {
      // A destroyed input says so, which is no news.
      if (!this.stopping) this.failure = asError(error);
    } finally {
      this.readEnded = true;
      this.ready.wake();
    }
  }

  private async write(): Promise<void> {
    try {
      while (!this.stopping) {
        const round = this.nextRound();
        if (round.length > 0) {
          this.space.wake();
          await this.appender.append(round);
        } else if (this.readEnded) return;
        else await this.ready.wait();
      }
    } catch (error) {
      // Of an earlier line than what the reader may have met meanwhile.
      this.failure = asError(error);
      this.halt();
    }
  }

  private take(line: Line): void {
    this.lines = line.number;
    let item: NdjsonItem | null;
    try {
      item = parseLine(line, this.format);
    } catch (error) {
      if (!(error instanceof RevcastError)) throw error;
      this.badLine(error);
      return;
    }
    if (item === null) return;
    this.taken += 1;
    this.queue.push(item);
    this.queuedBytes += sizeOf(item);
    this.ready.wake();
  }

  private get isFull(): boolean {
    return this.queue.length >= this.parts.settings.ndjsonBatchLines || this.queuedBytes >= MAX_ROUND_BYTES;
  }

  private nextRound(): readonly NdjsonItem[] {
    let bytes = 0;
    let count = 0;
    for (const item of this.queue) {
      bytes += sizeOf(item);
      // At least one, however large.
      if (count > 0 && bytes > MAX_ROUND_BYTES) break;
      count += 1;
      this.queuedBytes -= sizeOf(item);
    }
    return this.queue.splice(0, count);
  }

  /** Counts it, or ends whoever met it. */
  private badLine(error: RevcastError): void {
    if (!this.parts.settings.ndjsonSkipBad) throw error;
    this.skipped += 1;
    if (this.skipped <= MAX_SKIPPED_TOLD) this.logger.warn({ code: error.code }, `skipped ${error.message}`);
    if (this.skipped === MAX_SKIPPED_TOLD) this.logger.warn('further skipped lines are counted only');
  }

  private halt(): void {
    this.stopping = true;
    this.appender.stop();
    this.parts.input.destroy();
    this.ready.wake();
    this.space.wake();
  }
}

function sizeOf({ data, author, key }: NdjsonItem): number {
  return data.length + (author?.length ?? 0) + (key?.length ?? 0) + LINE_OVERHEAD_BYTES;
}
