/** A real edge on a port of its own, over a memory log and the real revision service, all in this process. */
import { startEdge, type Edge, type EdgeOptions } from '../../services/edge/main.js';
import type { EdgeSettings } from '../../services/edge/settings.js';
import type { Appended, LiveLog } from '../../services/log/log.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { Appender } from '../../services/producer/appender.js';
import type { Publisher } from '../../services/producer/contract.js';
import { Publications } from '../../services/producer/publications.js';
import type { RevisionReader } from '../../services/revision/contract.js';
import { RevisionService } from '../../services/revision/service.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { defaultEdgeSettings } from './edge-parts.js';
import { settings as revisionSettings } from './revision-parts.js';

export interface TestEdgeOptions extends Partial<Pick<EdgeOptions, 'compressOnce' | 'logger' | 'openFiles'>> {
  readonly settings?: Partial<EdgeSettings>;
  /** About how many revisions of a room are kept. */
  readonly keep?: number;
  /** In place of the log's own; or made of it. */
  readonly live?: LiveLog | ((log: LiveLog) => LiveLog);
  readonly store?: MemoryStore;
  readonly reader?: RevisionReader;
  /** In place of a producer in the same process, on the same log. */
  readonly publisher?: Publisher;
}

export class TestEdge {
  private constructor(
    readonly edge: Edge,
    readonly log: MemoryLog,
    readonly store: MemoryStore,
    readonly reader: RevisionReader,
    readonly live: LiveLog,
  ) {}

  static async start(options: TestEdgeOptions = {}): Promise<TestEdge> {
    const { settings = {}, keep, store = new MemoryStore(keep), reader, logger, ...rest } = options;
    const log = new MemoryLog({ clock: systemClock, store });
    const used = reader ?? new RevisionService({ log, clock: systemClock, settings: revisionSettings });
    const live = typeof options.live === 'function' ? options.live(log) : (options.live ?? log);
    const publisher = options.publisher ?? new Publications(appenderOn(log));
    const edge = await startEdge({
      ...rest,
      settings: { ...defaultEdgeSettings, drainMs: 100, closeTimeoutMs: 500, ...settings },
      live,
      reader: used,
      publisher,
      logger: logger ?? silentLogger,
      clock: systemClock,
    });
    return new TestEdge(edge, log, store, used, live);
  }

  get url(): string {
    return this.edge.url;
  }

  get wsUrl(): string {
    return `${this.edge.url.replace('http', 'ws')}/v1/ws`;
  }

  get port(): number {
    return Number(new URL(this.edge.url).port);
  }

  /** Appends revisions with these JSON texts, all in one entry. */
  append(room: string, ...texts: readonly string[]): Promise<Appended> {
    return this.log.append(room, { revisions: texts.map((text) => ({ data: Buffer.from(text) })) });
  }

  /** `count` revisions one by one, whose data is `{"n":<rev>}` in an empty room. */
  async appendMany(room: string, count: number): Promise<Appended> {
    for (let i = 1; i < count; i += 1) await this.append(room, `{"n":${i}}`);
    return this.append(room, `{"n":${count}}`);
  }

  async stop(): Promise<void> {
    await this.edge.stop();
    await this.log.close();
  }
}

function appenderOn(log: MemoryLog): Appender {
  const limits = {
    maxRevisions: 1_000,
    maxDataBytes: 524_288,
    maxSnapshotBytes: 786_432,
    maxInFlight: 1_024,
    maxInFlightBytes: 67_108_864,
  };
  return new Appender({ log, logger: silentLogger, clock: systemClock, limits });
}
