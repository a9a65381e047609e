/**
 * An edge that is given more than it can deliver: how much that is (revisions per second to every socket of one room,
 * while far more are offered), then twice as much for 30 s. How far the sockets fall behind (on average), whether
 * memory stays flat, and whether every socket has got everything in the end, without a hole or a repeat: all are
 * counted, and some decode what they get. The appender and the log in memory are in the edge's process: its growth by
 * the log's revisions is told beside its memory.
 */
import type { BenchOptions } from './bench-options.js';
import { Child } from './load/child.js';
import type { ClientApi } from './load/client.js';
import { round } from './load/paired.js';
import type { EdgeApi } from './servers/edge.js';
import { SINGLE_ROOM } from './servers/rooms.js';
import { Table } from './table.js';

const SOCKETS = 10_000;
const QUICK_SOCKETS = 2_000;
const CHECKED_SOCKETS = 50;
const BYTES = 300;
const OVERLOAD = 2;
const SECONDS = 30;
const QUICK_SECONDS = 6;
/** Deliveries per second that are offered to find out how many are possible: more than ever are. */
const FLOOD_DELIVERIES = 3_000_000;
const FLOOD_SECONDS = 3;
const READ_EVERY_MS = 25;
const SAMPLE_MS = 1_000;
/** Catching up on what was missed takes as long as the overload lasted, about. */
const CATCH_UP_MS = 120_000;
const BYTES_PER_MB = 1_048_576;
/** What an entry of one revision costs the log in memory beside its data, as measured. */
const ENTRY_BYTES = 970;
const SETTINGS = { pageCacheBytes: 8 * BYTES_PER_MB };

interface Sample {
  readonly atMs: number;
  readonly rssBytes: number;
  readonly deliveries: number;
}

interface Offered {
  readonly samples: readonly Sample[];
  readonly live: { readonly atThird: number; readonly atEnd: number };
  readonly revisions: number;
  readonly caughtUpMs: number;
}

interface Row {
  readonly bench: 'overload';
  readonly sockets: number;
  readonly seconds: number;
  /** Revisions per second to every socket: possible, and offered. */
  readonly capacityPerSecond: number;
  readonly offeredPerSecond: number;
  /** Revisions by which a socket was behind at the end of the overload, on average. */
  readonly behindRevisions: number;
  /** Until then from the end of the overload. */
  readonly caughtUpMs: number;
  readonly complete: boolean;
  /** Memory in use after a full collection: before, after a third of the time, and at the end. */
  readonly liveMbBefore: number;
  readonly liveMbAtThird: number;
  readonly liveMbAtEnd: number;
  /** Resident memory at its highest: with what V8 had not collected yet. */
  readonly rssMbMax: number;
  /** By how much the log in memory grew in the last two thirds. */
  readonly logMb: number;
  /** Members that the ring had overtaken, and came from pages. */
  readonly stragglers: number;
  readonly loopDelayP99Ms: number;
}

/** `n`: sockets. */
export async function runOverload({ n, json, quick }: BenchOptions): Promise<void> {
  const bench = new Bench(n ?? (quick ? QUICK_SOCKETS : SOCKETS));
  try {
    await bench.start();
    const capacity = await bench.capacity();
    const table = newTable(json);
    table.add(await bench.overload(capacity, quick ? QUICK_SECONDS : SECONDS));
    table.end(`revisions of ${BYTES} bytes, one a message`);
  } finally {
    await bench.stop();
  }
}

class Bench {
  private readonly edge = Child.start<EdgeApi>(new URL('servers/edge.ts', import.meta.url), { node: ['--expose-gc'] });
  private readonly client = Child.start<ClientApi>(new URL('load/client.ts', import.meta.url));

  constructor(private readonly sockets: number) {}

  async start(): Promise<void> {
    const { port } = await this.edge.call('start', { deflate: false, settings: SETTINGS });
    await this.client.call('connect', {
      group: SINGLE_ROOM,
      server: 'edge',
      port,
      sockets: this.sockets,
      deflate: false,
      firstSocket: 0,
      rooms: [{ room: SINGLE_ROOM, batch: false }],
      checked: CHECKED_SOCKETS,
      timed: false,
    });
  }

  /** Revisions per second that every socket gets while far more are offered. */
  async capacity(): Promise<number> {
    await this.offer(FLOOD_DELIVERIES / this.sockets / 10, 1);
    const { samples } = await this.offer(FLOOD_DELIVERIES / this.sockets, FLOOD_SECONDS);
    const [first, last] = [samples[0], samples.at(-1)];
    if (first === undefined || last === undefined) throw new Error('samples were taken');
    return ((last.deliveries - first.deliveries) / this.sockets / (last.atMs - first.atMs)) * 1_000;
  }

  async overload(capacity: number, seconds: number): Promise<Row> {
    const liveBefore = await this.liveBytes();
    const before = await this.sample();
    const entered = (await this.edge.call('counters', undefined))?.stragglersEntered ?? 0;
    const perSecond = Math.round(capacity * OVERLOAD);
    await this.edge.call('watchLoop', undefined);
    const { samples, live, revisions, caughtUpMs } = await this.offer(perSecond, seconds);
    const { p99Ms } = await this.edge.call('loopDelay', undefined);
    const end = samples.at(-1);
    if (end === undefined) throw new Error('samples were taken');
    const counters = await this.edge.call('counters', undefined);
    return {
      bench: 'overload',
      sockets: this.sockets,
      seconds,
      capacityPerSecond: round(capacity, 0),
      offeredPerSecond: perSecond,
      behindRevisions: round(revisions - (end.deliveries - before.deliveries) / this.sockets, 0),
      caughtUpMs: round(caughtUpMs, 0),
      complete: true,
      liveMbBefore: round(liveBefore / BYTES_PER_MB, 1),
      liveMbAtThird: round(live.atThird / BYTES_PER_MB, 1),
      liveMbAtEnd: round(live.atEnd / BYTES_PER_MB, 1),
      rssMbMax: round(Math.max(...samples.map(({ rssBytes }) => rssBytes)) / BYTES_PER_MB, 1),
      logMb: round((((revisions * 2) / 3) * (BYTES + ENTRY_BYTES)) / BYTES_PER_MB, 1),
      stragglers: (counters?.stragglersEntered ?? 0) - entered,
      loopDelayP99Ms: round(p99Ms, 1),
    };
  }

  async stop(): Promise<void> {
    await Promise.all([this.edge.stop(), this.client.stop()]);
  }

  /** Offers at a rate, and takes samples meanwhile; then waits until every socket has everything. Throws if not. */
  private async offer(perSecond: number, seconds: number): Promise<Offered> {
    const group = SINGLE_ROOM;
    const durationMs = seconds * 1_000;
    const revisions = Math.round(perSecond * seconds);
    await this.client.call('arm', { group, messages: revisions, readEveryMs: READ_EVERY_MS });
    const samples = [await this.sample()];
    const live = { atThird: 0, atEnd: 0 };
    const offered = this.edge.call('offer', { room: SINGLE_ROOM, bytes: BYTES, perSecond, burst: 1, durationMs });
    let count: number | undefined;
    while (count === undefined) {
      count = await Promise.race([offered, pause(SAMPLE_MS)]);
      samples.push(await this.sample());
      const passedMs = (samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0);
      if (live.atThird === 0 && passedMs > durationMs / 3) live.atThird = await this.liveBytes();
    }
    live.atEnd = await this.liveBytes();
    if (count !== revisions) throw new Error(`overload: ${count} revisions were offered instead of ${revisions}`);
    const received = await this.client.call('received', { group, timeoutMs: CATCH_UP_MS }, CATCH_UP_MS * 2);
    if (received.completeAtMs === null || received.faults.length > 0) {
      throw new Error(`overload: ${received.faults.join('; ')}`);
    }
    return { samples, live, revisions, caughtUpMs: received.completeAtMs - (samples.at(-1)?.atMs ?? 0) };
  }

  /** V8's heap, the buffers outside it and what uWebSockets.js holds, after everything that can be collected was. */
  private async liveBytes(): Promise<number> {
    const { heapUsed, arrayBuffers, nativeHeap } = await this.edge.call('memory', undefined);
    return heapUsed + Math.max(arrayBuffers, nativeHeap);
  }

  private async sample(): Promise<Sample> {
    const { atMs } = await this.edge.call('usage', undefined);
    const rssBytes = await this.edge.call('rssBytes', undefined);
    const counters = await this.edge.call('counters', undefined);
    return { atMs, rssBytes, deliveries: counters?.deliveries ?? 0 };
  }
}

function pause(ms: number): Promise<undefined> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms, undefined);
  });
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['sockets', ({ sockets }) => String(sockets)],
    ['capacity/s', ({ capacityPerSecond }) => String(capacityPerSecond)],
    ['offered/s', ({ offeredPerSecond }) => String(offeredPerSecond)],
    ['for s', ({ seconds }) => String(seconds)],
    ['behind', ({ behindRevisions }) => String(behindRevisions)],
    ['caught up after ms', ({ caughtUpMs }) => String(caughtUpMs)],
    ['stragglers', ({ stragglers }) => String(stragglers)],
    ['live MB before', ({ liveMbBefore }) => String(liveMbBefore)],
    ['at a third', ({ liveMbAtThird }) => String(liveMbAtThird)],
    ['at the end', ({ liveMbAtEnd }) => String(liveMbAtEnd)],
    ['since a third, of the log', ({ logMb }) => String(logMb)],
    ['resident MB at most', ({ rssMbMax }) => String(rssMbMax)],
    ['loop delay p99 ms', ({ loopDelayP99Ms }) => loopDelayP99Ms.toFixed(1)],
    ['complete', ({ complete }) => (complete ? 'yes' : 'no')],
  ]);
}
