/**
 * The one way into the log for all that publishes: HTTP requests and sources. Checks the append, bounds how many (and
 * how many bytes) are under way at once, and refuses the rest with `overloaded` instead of queueing it.
 * An append is stored whole or not at all; that, numbering and keys are the log's own.
 */
import type { Clock } from '../shared/clock.js';
import { asError, RevcastError } from '../shared/errors.js';
import { withTimeout } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import type { Append, Appended, Log, NewSnapshot, Snapshot } from '../log/log.js';
import { checkAppend, placeInList, tooLarge, type AppendLimits, type PlaceOf } from './append-limits.js';
import { ProducerCounters } from './counters.js';
import { checkSnapshot } from './snapshot-request.js';

export interface AppenderLimits extends AppendLimits {
  /** Appends under way at once. */
  readonly maxInFlight: number;
  /** Bytes of data under way at once; one append alone is always taken. */
  readonly maxInFlightBytes: number;
}

export interface AppenderParts {
  readonly log: Pick<Log, 'append' | 'putSnapshot'>;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly limits: AppenderLimits;
}

export class Appender {
  readonly counters = new ProducerCounters();
  private appends = 0;
  private bytes = 0;
  private stopping: Promise<void> | undefined;
  private onIdle: (() => void) | undefined;

  constructor(private readonly parts: AppenderParts) {}

  /** Appends under way. */
  get inFlight(): number {
    return this.appends;
  }

  /** What is under way. */
  readonly usage = () => ({ appends: this.appends, bytes: this.bytes });

  /**
   * Appends to a room, whose name is in normal form (parseRoomName). `placeOf` is how messages name what is wrong.
   * Throws `invalid_request`, `too_large`, `overloaded`, `shutting_down`, and what `Log.append` throws.
   */
  async append(room: string, append: Append, placeOf: PlaceOf = placeInList): Promise<Appended> {
    const { log, logger, limits } = this.parts;
    const bytes = append.revisions.reduce((sum, { data }) => sum + data.byteLength, 0);
    const appended = await this.counted(() => {
      checkAppend(append, limits, placeOf);
      return this.timed(room, bytes, () => log.append(room, append));
    });
    this.counters.stored(appended, append.revisions.length, bytes);
    logger.debug({ room, ...appended }, 'appended');
    return appended;
  }

  /** Keeps a snapshot of a room; counts as an append. Throws as `append` does, and what `Log.putSnapshot` throws. */
  async putSnapshot(room: string, snapshot: NewSnapshot): Promise<Snapshot> {
    const { log, logger, limits } = this.parts;
    const bytes = snapshot.data.byteLength;
    const kept = await this.counted(() => {
      checkSnapshot(snapshot);
      if (bytes > limits.maxSnapshotBytes)
        throw tooLarge('data', `has ${bytes} bytes`, `${limits.maxSnapshotBytes} bytes`);
      return this.timed(room, bytes, () => log.putSnapshot(room, snapshot));
    });
    this.counters.snapshots += 1;
    const { epoch, rev, tag } = kept;
    logger.debug({ room, epoch, rev, tag, bytes }, 'snapshot kept');
    return kept;
  }

  /** Takes no more, and waits at most `waitMs` for what is under way. Idempotent. */
  stop(waitMs: number): Promise<void> {
    this.stopping ??= this.drain(waitMs);
    return this.stopping;
  }

  /** Does what is asked for, unless the producer is stopping; what fails is counted. */
  private async counted<T>(task: () => Promise<T>): Promise<T> {
    try {
      if (this.stopping !== undefined) throw new RevcastError('shutting_down', 'the producer is stopping');
      return await task();
    } catch (error) {
      this.counters.failed(error);
      throw error;
    }
  }

  /** Does what is admitted as one append of so many bytes. */
  private async timed<T>(room: string, bytes: number, task: () => Promise<T>): Promise<T> {
    const { logger, clock } = this.parts;
    this.admit(bytes);
    const startedMs = clock.monotonic();
    try {
      return await task();
    } catch (error) {
      logger.debug({ room, err: asError(error) }, 'append failed');
      throw error;
    } finally {
      logger.debug({ room, bytes, durationMs: clock.monotonic() - startedMs }, 'the log was written to');
      this.appends -= 1;
      this.bytes -= bytes;
      if (this.appends === 0) this.onIdle?.();
    }
  }

  private admit(bytes: number): void {
    const { maxInFlight, maxInFlightBytes } = this.parts.limits;
    if (this.appends >= maxInFlight) {
      throw new RevcastError('overloaded', `${this.appends} appends are under way`);
    }
    if (this.appends > 0 && this.bytes + bytes > maxInFlightBytes) {
      throw new RevcastError('overloaded', `appends of ${this.bytes} bytes are under way`);
    }
    this.appends += 1;
    this.bytes += bytes;
  }

  private async drain(waitMs: number): Promise<void> {
    if (this.appends === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.onIdle = resolve;
    });
    try {
      await withTimeout(idle, waitMs, `${this.appends} appends were still under way`);
    } catch (error) {
      this.parts.logger.warn({ err: asError(error) }, 'stopping without the answers of the log');
    }
  }
}
