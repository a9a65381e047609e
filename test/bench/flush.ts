/**
 * When sockets are written to: once per turn (microtask), once per loop iteration (immediate), or for each revision at
 * once (sync). Write calls per socket and burst, counted by strace; and latency from append to receipt at clients, in
 * a process of their own, at rising load up to and past what one write per revision can carry. All samples of a
 * cell's repetitions are merged. The appender is in the edge's process; a revision counts from when it was due, so a
 * late appender is no excuse. Clients read every millisecond.
 *
 * Last, the event loop's delay while many sockets in one room get 20 revisions a second.
 */
import type { BenchOptions } from './bench-options.js';
import { Child } from './load/child.js';
import type { ClientApi, Latency } from './load/client.js';
import { round, spread, type Spread } from './load/paired.js';
import { countSends } from './load/write-calls.js';
import type { EdgeApi } from './servers/edge.js';
import { SINGLE_ROOM } from './servers/rooms.js';
import { Table } from './table.js';

const MODES = ['microtask', 'immediate', 'sync'] as const;
const BURSTS = [1, 20] as const;
const BYTES = 300;
/** Deliveries per second that one core can write one by one, about: the unit of load. */
const SINGLE_WRITES_PER_S = 100_000;
const LOADS = [0.2, 0.5, 1, 2, 4, 16];
const QUICK_LOADS = [0.2, 1, 4];
const SOCKETS = 1_000;
const QUICK_SOCKETS = 400;
const REPETITIONS = 5;
const QUICK_REPETITIONS = 3;
const WINDOW_MS = 800;
const QUICK_WINDOW_MS = 300;
const COUNTED_BURSTS = 5;
const READ_EVERY_MS = 1;
const TIMEOUT_MS = 60_000;

const CROWD = { sockets: 10_000, perSecond: 20, durationMs: 10_000 };
const QUICK_CROWD = { sockets: 2_000, perSecond: 20, durationMs: 2_000 };

type Mode = (typeof MODES)[number];

interface Cell {
  readonly flush: Mode;
  readonly offeredPerSecond: number;
  readonly burst: number;
}

interface Row extends Cell {
  readonly bench: 'flush';
  /** Send calls for a burst; null without strace. */
  readonly writesPerSocket: number | null;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly sockets: number;
  readonly samples: number;
  /** Lowest and highest p99 of the repetitions. */
  readonly p99MinMs: number;
  readonly p99MaxMs: number;
  /** Where it was measured: p99 of the time between two looks at a 1 ms timer. */
  readonly loopDelayP99Ms: number | null;
}

/** `n`: sockets in the room. */
export async function runFlush({ n, json, quick }: BenchOptions): Promise<void> {
  const sockets = n ?? (quick ? QUICK_SOCKETS : SOCKETS);
  const table = newTable(json);
  const bench = new Bench(sockets);
  try {
    await bench.start();
    for (const row of await bench.measure(quick)) table.add(row);
  } finally {
    await bench.stop();
  }
  table.add(await crowd(quick ? QUICK_CROWD : CROWD));
  table.end('latency from when a revision was due to its receipt, all samples of all repetitions together');
}

class Bench {
  private readonly client = Child.start<ClientApi>(new URL('load/client.ts', import.meta.url));
  private readonly edges = new Map<Mode, Child<EdgeApi>>();

  constructor(private readonly sockets: number) {}

  async start(): Promise<void> {
    for (const flush of MODES) this.edges.set(flush, await startEdge(this.client, flush, this.sockets));
  }

  async measure(quick: boolean): Promise<Row[]> {
    const writes = new Map<string, number | undefined>();
    for (const flush of MODES) {
      for (const burst of BURSTS) writes.set(`${flush} ${burst}`, await this.countWrites(flush, burst));
    }
    const cells = this.cells(quick);
    const p99s = new Map<string, number[]>(cells.map((cell) => [nameOf(cell), []]));
    const windowMs = quick ? QUICK_WINDOW_MS : WINDOW_MS;
    // The first round warms up.
    const repetitions = quick ? QUICK_REPETITIONS : REPETITIONS;
    for (let repetition = -1; repetition < repetitions; repetition += 1) {
      for (const cell of cells) {
        const latency = await this.offer(cell, windowMs, repetition < 0 ? 'warm-up' : nameOf(cell));
        if (repetition >= 0) p99s.get(nameOf(cell))?.push(latency.p99Ms);
      }
    }
    const rows: Row[] = [];
    for (const cell of cells) {
      const latency = await this.client.call('summedLatency', { sum: nameOf(cell) });
      const p99 = spread(p99s.get(nameOf(cell)) ?? []);
      rows.push(row(cell, { sockets: this.sockets, latency, p99, writes: writes.get(`${cell.flush} ${cell.burst}`) }));
    }
    return rows;
  }

  async stop(): Promise<void> {
    await Promise.all([this.client, ...this.edges.values()].map((child) => child.stop()));
  }

  private cells(quick: boolean): Cell[] {
    const cells: Cell[] = [];
    for (const load of quick ? QUICK_LOADS : LOADS) {
      const offeredPerSecond = Math.round((load * SINGLE_WRITES_PER_S) / this.sockets);
      for (const burst of BURSTS) for (const flush of MODES) cells.push({ flush, offeredPerSecond, burst });
    }
    return cells;
  }

  private edge(flush: Mode): Child<EdgeApi> {
    const edge = this.edges.get(flush);
    if (edge === undefined) throw new Error('every mode has an edge');
    return edge;
  }

  private async countWrites(flush: Mode, burst: number): Promise<number | undefined> {
    const edge = this.edge(flush);
    const sends = await countSends(edge.pid, async () => {
      for (let i = 0; i < COUNTED_BURSTS; i += 1) {
        await expecting(this.client, flush, burst, () =>
          edge.call('publish', { bytes: BYTES, count: burst, batch: false }),
        );
      }
    });
    await this.client.call('takeLatency', { group: flush, sum: 'not measured' });
    return sends === undefined ? undefined : sends / this.sockets / COUNTED_BURSTS;
  }

  private async offer({ flush, offeredPerSecond, burst }: Cell, durationMs: number, sum: string): Promise<Latency> {
    const bursts = Math.max(1, Math.round((offeredPerSecond * durationMs) / 1_000 / burst));
    await expecting(this.client, flush, bursts * burst, () =>
      this.edge(flush).call(
        'offer',
        { room: SINGLE_ROOM, bytes: BYTES, perSecond: offeredPerSecond, burst, durationMs },
        TIMEOUT_MS,
      ),
    );
    return this.client.call('takeLatency', { group: flush, sum });
  }
}

async function startEdge(client: Child<ClientApi>, flush: Mode, sockets: number): Promise<Child<EdgeApi>> {
  const edge = Child.start<EdgeApi>(new URL('servers/edge.ts', import.meta.url));
  const { port } = await edge.call('start', { deflate: false, settings: { flush } });
  await client.call('connect', {
    group: flush,
    server: 'edge',
    port,
    sockets,
    deflate: false,
    firstSocket: 0,
    rooms: [{ room: SINGLE_ROOM, batch: false }],
    checked: 4,
    timed: true,
  });
  return edge;
}

/** Does `work` while every socket of the group expects so many messages, and waits for them. */
async function expecting(
  client: Child<ClientApi>,
  group: string,
  messages: number,
  work: () => Promise<unknown>,
): Promise<void> {
  await client.call('arm', { group, messages, readEveryMs: READ_EVERY_MS });
  await work();
  const { completeAtMs, faults } = await client.call('received', { group, timeoutMs: TIMEOUT_MS });
  if (completeAtMs === null || faults.length > 0) throw new Error(`flush ${group}: ${faults.join('; ')}`);
}

/** Many sockets in one room. */
async function crowd({ sockets, perSecond, durationMs }: typeof CROWD): Promise<Row> {
  const client = Child.start<ClientApi>(new URL('load/client.ts', import.meta.url));
  let edge: Child<EdgeApi> | undefined;
  try {
    const started = await startEdge(client, 'microtask', sockets);
    edge = started;
    const offer = { room: SINGLE_ROOM, bytes: BYTES, perSecond, burst: 1, durationMs };
    const messages = (perSecond * durationMs) / 1_000;
    await started.call('watchLoop', undefined);
    await expecting(client, 'microtask', messages, () => started.call('offer', offer, TIMEOUT_MS));
    const { p99Ms: loopDelayP99Ms } = await started.call('loopDelay', undefined);
    const latency = await client.call('takeLatency', { group: 'microtask', sum: 'crowd' });
    const p99 = { median: latency.p99Ms, min: latency.p99Ms, max: latency.p99Ms };
    const cell = { flush: 'microtask', offeredPerSecond: perSecond, burst: 1 } as const;
    return row(cell, { sockets, latency, p99, writes: undefined, loopDelayP99Ms });
  } finally {
    await Promise.all([client.stop(), edge?.stop()]);
  }
}

function nameOf({ flush, offeredPerSecond, burst }: Cell): string {
  return `${flush} ${offeredPerSecond} ${burst}`;
}

interface Figures {
  readonly sockets: number;
  readonly latency: Latency;
  readonly p99: Spread;
  readonly writes: number | undefined;
  readonly loopDelayP99Ms?: number;
}

function row(
  { flush, offeredPerSecond, burst }: Cell,
  { sockets, latency, p99, writes, loopDelayP99Ms }: Figures,
): Row {
  return {
    bench: 'flush',
    flush,
    offeredPerSecond,
    burst,
    writesPerSocket: writes === undefined ? null : round(writes, 3),
    p50Ms: round(latency.p50Ms, 2),
    p95Ms: round(latency.p95Ms, 2),
    p99Ms: round(latency.p99Ms, 2),
    maxMs: round(latency.maxMs, 2),
    sockets,
    samples: latency.samples,
    p99MinMs: round(p99.min, 2),
    p99MaxMs: round(p99.max, 2),
    loopDelayP99Ms: loopDelayP99Ms === undefined ? null : round(loopDelayP99Ms, 2),
  };
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['flush', ({ flush }) => flush],
    ['sockets', ({ sockets }) => String(sockets)],
    ['revisions/s', ({ offeredPerSecond }) => String(offeredPerSecond)],
    ['burst', ({ burst }) => String(burst)],
    ['writes/socket', ({ writesPerSocket }) => writesPerSocket?.toFixed(2) ?? ''],
    ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(1)],
    ['p95 ms', ({ p95Ms }) => p95Ms.toFixed(1)],
    [
      'p99 ms',
      ({ p99Ms, p99MinMs, p99MaxMs }) => `${p99Ms.toFixed(1)} (${p99MinMs.toFixed(1)} to ${p99MaxMs.toFixed(1)})`,
    ],
    ['max ms', ({ maxMs }) => maxMs.toFixed(1)],
    ['loop delay p99 ms', ({ loopDelayP99Ms }) => loopDelayP99Ms?.toFixed(1) ?? ''],
  ]);
}
