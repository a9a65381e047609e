/**
 * What slow clients cost: 1,000 fast ones and 50 that read 1 KB/s, of the same room, in a network namespace whose TCP
 * buffers are small. The fast clients' latency without the slow ones and with them; the server's memory per slow
 * socket while they are stragglers (all of them, by the edge's counter) and after they have caught up; and whether
 * every slow client got every revision once, in order, when it sped up. Each turn is a server of its own.
 *
 * Memory per slow socket: growth, after a full collection, of the native heap beyond the buffers that V8 counts, and of
 * V8's heap. The first is what uWebSockets.js keeps for sockets; in the second is also what a log in memory grows by.
 * (The bytes of the log, the ring and the pages are those buffers. Resident memory as a whole comes and goes with 20 MB.)
 */
import type { BenchOptions } from './bench-options.js';
import { Child } from './load/child.js';
import type { ClientApi, Latency } from './load/client.js';
import { NetworkNamespace } from './load/network-namespace.js';
import { pairedRatio, round, rounded, spread, spreadText, type Spread } from './load/paired.js';
import type { EdgeApi, EdgeMemory } from './servers/edge.js';
import { SINGLE_ROOM } from './servers/rooms.js';
import { Table } from './table.js';

const FAST_SOCKETS = 1_000;
const SLOW_SOCKETS = 50;
const SLOW_PACE = { bytes: 1_024, everyMs: 1_000 };
const TURNS = 5;
const QUICK_TURNS = 1;
const WINDOW_MS = 6_000;
const QUICK_WINDOW_MS = 2_000;
const WARM_UP_MS = 1_000;
const PER_SECOND = 20;
const BYTES = 1_024;
/** A small ring, so that the slow clients are overtaken within seconds. */
const SETTINGS = { ringKeepRevisions: 32, ringMaxRevisions: 64, pageRevisions: 50 };
/** For so long at a time revisions come until all slow clients are stragglers. */
const LAG_MS = 1_000;
const MAX_LAGS = 60;
const READ_EVERY_MS = 1;
const TIMEOUT_MS = 60_000;
const BYTES_PER_KB = 1_024;

interface Row {
  readonly bench: 'slow';
  readonly slowSockets: number;
  readonly fastP99Ms: number;
  /** While they were stragglers; null without slow sockets. */
  readonly kbPerSlowSocket: number | null;
  /** Whether each got every revision, once and in order. */
  readonly complete: boolean;
  readonly fastSockets: number;
  readonly fastP50Ms: number;
  /** After they caught up. */
  readonly kbPerSlowSocketAfter: number | null;
  /** What the kernel held for each, at most. */
  readonly kernelKbPerSlowSocket: number | null;
  readonly stragglers: number;
  /** Paired ratio of the fast clients' p99, with to without. */
  readonly p99Ratio: Spread | null;
}

/** What slow clients did to the server. */
interface Effect {
  readonly with: Latency;
  readonly stragglers: number;
  /** Per slow socket, while they lagged and after they had caught up. */
  readonly kb: number;
  readonly kbAfter: number;
  /** The largest of what the kernel held for a socket. */
  readonly kernelKb: number;
}

interface Turn extends Effect {
  readonly without: Latency;
}

/** `n`: fast sockets. */
export async function runSlow({ n, json, quick }: BenchOptions): Promise<void> {
  const namespace = await NetworkNamespace.create();
  const fastSockets = n ?? FAST_SOCKETS;
  try {
    const turns: Turn[] = [];
    for (let turn = 0; turn < (quick ? QUICK_TURNS : TURNS); turn += 1) {
      turns.push(await runTurn(namespace, fastSockets, quick ? QUICK_WINDOW_MS : WINDOW_MS));
    }
    const table = newTable(json);
    table.add(row(turns, fastSockets, false));
    table.add(row(turns, fastSockets, true));
    table.end(`${PER_SECOND} revisions of ${BYTES} bytes a second; medians of the turns`);
  } finally {
    await namespace.dispose();
  }
}

async function runTurn(namespace: NetworkNamespace, fastSockets: number, windowMs: number): Promise<Turn> {
  const bench = new Bench(namespace, fastSockets);
  try {
    await bench.start();
    await bench.window(WARM_UP_MS, 'warm-up');
    const without = await bench.window(windowMs, 'without');
    return { without, ...(await bench.slowClients(windowMs)) };
  } finally {
    await bench.stop();
  }
}

class Bench {
  private readonly edge: Child<EdgeApi>;
  private readonly fast: Child<ClientApi>;
  private readonly slow: Child<ClientApi>;
  private port = 0;

  constructor(
    private readonly namespace: NetworkNamespace,
    private readonly fastSockets: number,
  ) {
    const { name: netns } = namespace;
    this.edge = Child.start<EdgeApi>(new URL('servers/edge.ts', import.meta.url), { netns, node: ['--expose-gc'] });
    this.fast = Child.start<ClientApi>(new URL('load/client.ts', import.meta.url), { netns });
    this.slow = Child.start<ClientApi>(new URL('load/client.ts', import.meta.url), { netns });
  }

  async start(): Promise<void> {
    const { port } = await this.edge.call('start', { deflate: false, settings: SETTINGS });
    this.port = port;
    await this.connect(this.fast, this.fastSockets);
  }

  /** Slow clients come, become stragglers, stay so for a window, catch up, and go. */
  async slowClients(windowMs: number): Promise<Effect> {
    const before = await this.edge.call('memory', undefined);
    await this.connect(this.slow, SLOW_SOCKETS);
    let revisions = 0;
    let stragglers = 0;
    for (let lag = 0; lag < MAX_LAGS && stragglers < SLOW_SOCKETS; lag += 1) {
      revisions += await this.offer(LAG_MS);
      stragglers = (await this.edge.call('counters', undefined))?.stragglersEntered ?? 0;
    }
    await this.fast.call('takeLatency', { group: SINGLE_ROOM, sum: 'meanwhile' });
    const latency = await this.window(windowMs, 'with');
    revisions += (windowMs * PER_SECOND) / 1_000;
    const during = await this.edge.call('memory', undefined);
    const queued = await this.namespace.queuedBytes(this.port);
    await this.catchUp(revisions);
    const after = await this.edge.call('memory', undefined);
    return {
      with: latency,
      stragglers,
      kb: kbPerSlowSocket(before, during),
      kbAfter: kbPerSlowSocket(before, after),
      kernelKb: Math.max(0, ...queued) / BYTES_PER_KB,
    };
  }

  async stop(): Promise<void> {
    await Promise.all([this.edge, this.fast, this.slow].map((child) => child.stop()));
  }

  async window(durationMs: number, sum: string): Promise<Latency> {
    await this.offer(durationMs);
    return this.fast.call('takeLatency', { group: SINGLE_ROOM, sum });
  }

  /** Revisions for a while, until every fast client has them; how many there were. */
  private async offer(durationMs: number): Promise<number> {
    const messages = (durationMs * PER_SECOND) / 1_000;
    await this.fast.call('arm', { group: SINGLE_ROOM, messages, readEveryMs: READ_EVERY_MS });
    await this.edge.call('offer', { room: SINGLE_ROOM, bytes: BYTES, perSecond: PER_SECOND, burst: 1, durationMs });
    const { faults } = await this.fast.call('received', { group: SINGLE_ROOM, timeoutMs: TIMEOUT_MS });
    if (faults.length > 0) throw new Error(`slow, fast clients: ${faults.join('; ')}`);
    return messages;
  }

  /** The slow clients read as fast as they can, until each has all. */
  private async catchUp(revisions: number): Promise<void> {
    const group = SINGLE_ROOM;
    await this.slow.call('arm', { group, messages: revisions, readEveryMs: 0, since: 'ready' });
    await this.slow.call('speedUp', { group });
    const { faults, checkedRevisions } = await this.slow.call('received', { group, timeoutMs: TIMEOUT_MS });
    const wanted = revisions * SLOW_SOCKETS;
    if (checkedRevisions !== wanted) faults.push(`${checkedRevisions} revisions came instead of ${wanted}`);
    if (faults.length > 0) throw new Error(`slow, slow clients: ${faults.join('; ')}`);
  }

  private async connect(client: Child<ClientApi>, sockets: number): Promise<void> {
    const isSlow = client === this.slow;
    await client.call('connect', {
      group: SINGLE_ROOM,
      server: 'edge',
      port: this.port,
      sockets,
      deflate: false,
      firstSocket: isSlow ? this.fastSockets : 0,
      rooms: [{ room: SINGLE_ROOM, batch: false }],
      checked: isSlow ? sockets : 4,
      timed: !isSlow,
      ...(isSlow ? { pace: SLOW_PACE } : {}),
    });
  }
}

function kbPerSlowSocket(before: EdgeMemory, now: EdgeMemory): number {
  return (ownBytes(now) - ownBytes(before)) / SLOW_SOCKETS / BYTES_PER_KB;
}

function ownBytes({ nativeHeap, arrayBuffers, heapUsed }: EdgeMemory): number {
  return nativeHeap - arrayBuffers + heapUsed;
}

/** A turn that does not end with every revision at every client throws, so `complete` needs no more than a turn. */
function row(turns: readonly Turn[], fastSockets: number, withSlow: boolean): Row {
  const latencies = turns.map((turn) => (withSlow ? turn.with : turn.without));
  const median = (figure: (turn: Turn) => number) => round(spread(turns.map(figure)).median, 1);
  const p99Ratio = pairedRatio(
    turns.map((turn) => turn.with.p99Ms),
    turns.map((turn) => turn.without.p99Ms),
  );
  return {
    bench: 'slow',
    slowSockets: withSlow ? SLOW_SOCKETS : 0,
    fastP99Ms: round(spread(latencies.map(({ p99Ms }) => p99Ms)).median, 2),
    kbPerSlowSocket: withSlow ? median(({ kb }) => kb) : null,
    complete: turns.length > 0,
    fastSockets,
    fastP50Ms: round(spread(latencies.map(({ p50Ms }) => p50Ms)).median, 2),
    kbPerSlowSocketAfter: withSlow ? median(({ kbAfter }) => kbAfter) : null,
    kernelKbPerSlowSocket: withSlow ? median(({ kernelKb }) => kernelKb) : null,
    stragglers: withSlow ? median(({ stragglers }) => stragglers) : 0,
    p99Ratio: withSlow ? rounded(p99Ratio, 3) : null,
  };
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['fast', ({ fastSockets }) => String(fastSockets)],
    ['slow', ({ slowSockets }) => String(slowSockets)],
    ['fast p50 ms', ({ fastP50Ms }) => fastP50Ms.toFixed(1)],
    ['fast p99 ms', ({ fastP99Ms }) => fastP99Ms.toFixed(1)],
    ['with to without', ({ p99Ratio }) => (p99Ratio === null ? '' : spreadText(p99Ratio, 2))],
    ['stragglers', ({ stragglers }) => String(stragglers)],
    ['KB/slow socket', ({ kbPerSlowSocket }) => kbPerSlowSocket?.toFixed(1) ?? ''],
    ['caught up', ({ kbPerSlowSocketAfter }) => kbPerSlowSocketAfter?.toFixed(1) ?? ''],
    ['kernel KB, most', ({ kernelKbPerSlowSocket }) => kernelKbPerSlowSocket?.toFixed(1) ?? ''],
    ['complete', ({ complete }) => (complete ? 'yes' : 'no')],
  ]);
}
