/**
 * The edge as it is started in production, on a log in memory in the same process: what appending costs is counted
 * too. One room for clients that take one revision a message, one for those that take several.
 */
import { readFile } from 'node:fs/promises';
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { answerParent } from '../load/child.js';
import { monotonicMs } from '../load/monotonic.js';
import { payload } from '../load/payload.js';
import { startEdge, type Edge } from '../../../services/edge/main.js';
import { edgeSettings, type EdgeSettings } from '../../../services/edge/settings.js';
import { MemoryLog } from '../../../services/log/memory-log.js';
import { RevisionService } from '../../../services/revision/service.js';
import { revisionSettings } from '../../../services/revision/settings.js';
import { systemClock } from '../../../services/shared/clock.js';
import { silentLogger } from '../../../services/shared/logger.js';
import { readSettings } from '../../../services/shared/settings.js';
import { BATCH_ROOM, SINGLE_ROOM } from './rooms.js';
import { usage, type Broadcast, type ServerOptions } from './server.js';

const MS_PER_S = 1_000;
const NS_PER_MS = 1_000_000;
/** Timers fire at most so often. */
const TICK_MS = 1;
const COLLECTIONS = 4;
const BYTES_PER_KB = 1_024;

const clock = systemClock;
const log = new MemoryLog({ clock });
const reader = new RevisionService({ log, clock, settings: readSettings(revisionSettings, {}, {}) });
let edge: Edge | undefined;
let delays: IntervalHistogram | undefined;

export interface Offer {
  readonly room: string;
  readonly bytes: number;
  readonly perSecond: number;
  /** Revisions that are due at once, in one turn. */
  readonly burst: number;
  readonly durationMs: number;
}

const api = {
  async start({ deflate, settings = {} }: ServerOptions & { settings?: Partial<EdgeSettings> }) {
    edge = await startEdge({
      settings: {
        ...readSettings(edgeSettings, {}, {}),
        port: 0,
        deflate: deflate ? 'once' : 'off',
        // The load clients only read: nobody pings them, nobody answers.
        pingAfterMs: 600_000,
        deadAfterMs: 900_000,
        ...settings,
      },
      live: log,
      reader,
      logger: silentLogger,
      clock,
    });
    return { port: Number(new URL(edge.url).port) };
  },

  async publish({ bytes, count, batch }: Broadcast) {
    const room = batch ? BATCH_ROOM : SINGLE_ROOM;
    const data = Array.from({ length: count }, () => payload(bytes));
    const before = usage();
    for (const each of data) await append(room, each);
    return before;
  },

  /** One revision to each of many rooms. */
  async publishToRooms({ rooms, bytes }: { rooms: readonly string[]; bytes: number }) {
    for (const room of rooms) await append(room, payload(bytes));
  },

  /**
   * Appends at a rate, and answers how many there were. Each revision bears the time at which it was due: when the
   * process is late with appending, that is part of the latency.
   */
  async offer({ room, bytes, perSecond, burst, durationMs }: Offer): Promise<number> {
    const startMs = monotonicMs();
    const bursts = Math.max(1, Math.round((perSecond * durationMs) / MS_PER_S / burst));
    for (let done = 0; done < bursts;) {
      const dueMs = startMs + (done * burst * MS_PER_S) / perSecond;
      if (dueMs > monotonicMs()) {
        await pause(TICK_MS);
        continue;
      }
      done += 1;
      for (let i = 0; i < burst; i += 1) await append(room, payload(bytes, dueMs));
      // Those that are due too come in the same turn; a flush may begin in between.
    }
    return bursts * burst;
  },

  usage,

  /** In bytes, after everything that can be collected was. */
  async memory() {
    for (let i = 0; i < COLLECTIONS; i += 1) {
      globalThis.gc?.();
      await pause(TICK_MS);
    }
    return { ...process.memoryUsage(), nativeHeap: await nativeHeapBytes() };
  },

  counters: () => edge?.counters(),

  /** Without a collection, which would hold everything up. */
  rssBytes: () => process.memoryUsage.rss(),

  watchLoop(): void {
    delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
  },

  /** Milliseconds between two looks at a 1 ms timer since `watchLoop`. */
  loopDelay(): { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number } {
    delays?.disable();
    const at = (percentile: number) => (delays?.percentile(percentile) ?? Number.NaN) / NS_PER_MS;
    return { p50Ms: at(50), p99Ms: at(99), maxMs: (delays?.max ?? Number.NaN) / NS_PER_MS };
  },
};

/** What the C library's allocator has resident for the main thread: buffers, and what uWebSockets.js keeps. */
async function nativeHeapBytes(): Promise<number> {
  const maps = await readFile('/proc/self/smaps', 'utf8');
  const rssKb = /\[heap\]\n(?:.*\n)*?Rss: +(\d+) kB/u.exec(maps)?.[1];
  return Number(rssKb ?? 0) * BYTES_PER_KB;
}

/** Each is an entry of its own, all of one turn where the caller does not wait, as entries come from the network. */
async function append(room: string, data: Buffer): Promise<void> {
  await log.append(room, { revisions: [{ data }] });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

export type EdgeApi = typeof api;
export type EdgeMemory = Awaited<ReturnType<EdgeApi['memory']>>;

answerParent<EdgeApi>(api);
