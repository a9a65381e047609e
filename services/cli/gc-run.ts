/**
 * One run of `revcast gc` over the log: looks at ROOMS_AT_ONCE rooms at a time, counts what was removed, and goes on
 * when a room fails: what is left is removed by the next run. Memory is bounded by a page of room names.
 */
import { asError, RevcastError } from '../shared/errors.js';
import { sleep, type Clock } from '../shared/clock.js';
import type { RetentionRule, Retention, RoomPage, StoredRoom } from '../log/jetstream/retention.js';

const ROOMS_AT_ONCE = 16;
const ATTEMPTS = 5;
/** Between two attempts at a room: doubles. A NATS that restarts is back within them. */
const RETRY_MS = 250;

export interface GcTask {
  readonly rule: RetentionRule;
  /** Empty: all. */
  readonly rooms: readonly string[];
  readonly dryRun: boolean;
}

export interface GcReport {
  rooms: number;
  /** Rooms of which something was removed. */
  shortened: number;
  entries: number;
  bytes: number;
  failed: number;
}

export interface GcParts {
  readonly retention: Retention;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  /** Told after each room. */
  readonly onProgress: (report: Readonly<GcReport>) => void;
  /** Told what went wrong, in one line. */
  readonly onProblem: (line: string) => void;
}

export class GcRun {
  readonly report: GcReport = { rooms: 0, shortened: 0, entries: 0, bytes: 0, failed: 0 };

  constructor(
    private readonly task: GcTask,
    private readonly parts: GcParts,
  ) {}

  /** Until all is done, or a signal. Throws `log_unavailable` when the rooms cannot be listed. */
  async run(): Promise<Readonly<GcReport>> {
    const { retention, stopping } = this.parts;
    const pages = this.task.rooms.length === 0 ? retention.rooms() : this.named();
    for await (const { rooms, foreign } of pages) {
      for (const subject of foreign) this.fail(`subject ${subject} is no room's; it is left as it is`);
      await this.page(rooms.values());
      if (stopping.aborted) break;
    }
    return this.report;
  }

  private async *named(): AsyncGenerator<RoomPage> {
    for (const room of new Set(this.task.rooms)) {
      const entries = await this.parts.retention.countOf(room);
      if (entries === 0) this.fail(`room ${JSON.stringify(room)} has no revisions`);
      else yield { rooms: [{ room, entries }], foreign: [] };
    }
  }

  private async page(rooms: Iterator<StoredRoom> & Iterable<StoredRoom>): Promise<void> {
    const work = async () => {
      for (let next = rooms.next(); next.done !== true; next = rooms.next()) {
        if (this.parts.stopping.aborted) return;
        await this.room(next.value);
      }
    };
    await Promise.all(Array.from({ length: ROOMS_AT_ONCE }, work));
  }

  private async room(stored: StoredRoom): Promise<void> {
    const { report } = this;
    try {
      const { entries, bytes = 0 } = await this.enforce(stored);
      report.entries += entries;
      report.bytes += bytes;
      if (entries > 0) report.shortened += 1;
    } catch (error) {
      if (!(error instanceof RevcastError)) throw error;
      this.fail(`room ${JSON.stringify(stored.room)}: ${error.message}`);
    }
    report.rooms += 1;
    this.parts.onProgress(report);
  }

  private async enforce(stored: StoredRoom): ReturnType<Retention['enforce']> {
    const { retention, clock, stopping } = this.parts;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await retention.enforce(stored, this.task.rule, this.task.dryRun);
      } catch (error) {
        const passes = error instanceof RevcastError && error.retryable;
        if (!passes || attempt === ATTEMPTS || stopping.aborted) throw asError(error);
        await sleep(clock, RETRY_MS * 2 ** (attempt - 1));
      }
    }
  }

  private fail(line: string): void {
    this.report.failed += 1;
    this.parts.onProblem(line);
  }
}
