/**
 * Appends a round of lines: per room in their order, the rooms at the same time, lines without a key together, a line
 * with a key by itself (a key belongs to one append). A retryable failure is retried until `stop`; what the log refuses
 * as too large is split, so that only the lines that are at fault are refused.
 */
import type { Appended } from '../../log/log.js';
import { assert, RevcastError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Clock } from '../../shared/clock.js';
import { Backoff, type BackoffLimits } from './backoff.js';
import { lineError, type NdjsonItem } from './ndjson-item.js';
import { isRetryable, type SourceLog } from './source.js';
import { Wakeup } from './wakeup.js';

export interface RoundAppenderParts {
  readonly log: Pick<SourceLog, 'append'>;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly retry: BackoffLimits;
  /** Names this run in the keys of lines that have none. */
  readonly runId: string;
  /** A line that can never be stored; what it throws ends the round. */
  readonly onBadLine: (error: RevcastError) => void;
}

export class RoundAppender {
  /** Revisions stored. */
  appended = 0;
  /** Lines whose key the room had already seen. */
  duplicates = 0;
  /** Lines refused. */
  refused = 0;
  private stopping = false;
  private readonly waits = new Set<Wakeup>();

  constructor(private readonly parts: RoundAppenderParts) {}

  /** Resolves when all are stored or refused, or after `stop`. Throws what ends one room's part, when all have ended. */
  async append(items: readonly NdjsonItem[]): Promise<void> {
    const rooms = new Map<string, NdjsonItem[]>();
    for (const item of items) {
      const ofRoom = rooms.get(item.room);
      if (ofRoom === undefined) rooms.set(item.room, [item]);
      else ofRoom.push(item);
    }
    const outcomes = await Promise.allSettled(Array.from(rooms.values(), (ofRoom) => this.appendRoom(ofRoom)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** No further attempts. */
  stop(): void {
    this.stopping = true;
    for (const wait of this.waits) wait.wake();
  }

  private async appendRoom(items: readonly NdjsonItem[]): Promise<void> {
    for (const run of runsOf(items)) await this.appendRun(run);
  }

  private async appendRun(run: readonly NdjsonItem[]): Promise<void> {
    const [first] = run;
    assert(first !== undefined, 'a run has lines');
    try {
      await this.store(first, run);
    } catch (error) {
      if (!(error instanceof RevcastError) || (error.code !== 'too_large' && error.code !== 'invalid_request')) {
        throw error;
      }
      if (run.length === 1) {
        this.refused += 1;
        this.parts.onBadLine(lineError(error.code, first.line, undefined, error.message));
        return;
      }
      const middle = Math.ceil(run.length / 2);
      await this.appendRun(run.slice(0, middle));
      await this.appendRun(run.slice(middle));
    }
  }

  private async store(first: NdjsonItem, run: readonly NdjsonItem[]): Promise<void> {
    const { log, retry, runId } = this.parts;
    const backoff = new Backoff(retry);
    const revisions = run.map(({ data, author }) => ({ data, ...(author === undefined ? {} : { author }) }));
    const append = { revisions, key: first.key ?? `ndjson:${runId}:${first.line}` };
    const wait = new Wakeup(this.parts.clock);
    let mayBeStored = false;
    try {
      while (!this.stopping) {
        try {
          this.count(first, run.length, await log.append(first.room, append), mayBeStored);
          return;
        } catch (error) {
          if (!isRetryable(error)) throw error;
          mayBeStored ||= error.code === 'outcome_unknown';
          this.waiting(wait, error);
        }
        await wait.wait(backoff.next());
      }
    } finally {
      this.waited(wait);
    }
  }

  private count(first: NdjsonItem, revisions: number, { duplicate }: Appended, mayBeStored: boolean): void {
    // After an open outcome the duplicate is this run's own.
    if (duplicate && first.key !== undefined && !mayBeStored) this.duplicates += 1;
    else this.appended += revisions;
  }

  private waiting(wait: Wakeup, error: RevcastError): void {
    if (this.waits.size === 0) {
      this.parts.logger.warn({ code: error.code, reason: error.message }, 'publishing waits');
    }
    this.waits.add(wait);
    if (this.stopping) wait.wake();
  }

  private waited(wait: Wakeup): void {
    if (!this.waits.delete(wait) || this.waits.size > 0 || this.stopping) return;
    this.parts.logger.info('publishing goes on');
  }
}

/** Consecutive lines that can be one append. */
function runsOf(items: readonly NdjsonItem[]): NdjsonItem[][] {
  const runs: NdjsonItem[][] = [];
  let open: NdjsonItem[] | undefined;
  for (const item of items) {
    if (open !== undefined && item.key === undefined) open.push(item);
    else {
      const run = [item];
      runs.push(run);
      open = item.key === undefined ? run : undefined;
    }
  }
  return runs;
}
