/**
 * What a broadcast costs a server: CPU time per delivery, and the time to the last byte, of this edge, raw
 * uWebSockets.js publish, ws and Socket.IO, plain and deflated, one message at a time and in bursts. What is compared is
 * up at once, each server in a process of its own with its own clients, and takes turns in every repetition, so ratios
 * are paired; first everything plain, then everything deflated.
 *
 * All send the same text, but the edge's clients have an id each (as many distinct ids as sockets). The edge compresses
 * whatever can be compressed (EDGE_DEFLATE_MIN_SAVING 0); by default it would send 300 bytes as they are. Publishing
 * is part of the cost: an append to a log in memory, in the edge's process.
 */
import type { BenchOptions } from './bench-options.js';
import { Child } from './load/child.js';
import type { ClientApi } from './load/client.js';
import type { ServerKind } from './load/dialogues.js';
import { pairedRatio, round, rounded, spread, spreadText, type Spread } from './load/paired.js';
import { Table } from './table.js';
import { Station, stationName, type Cost } from './load/station.js';

const REPETITIONS = 9;
const SOCKETS = 10_000;
const QUICK_REPETITIONS = 3;
const QUICK_SOCKETS = 1_000;
/** A process may hold 20,000 descriptors. */
const SOCKETS_PER_CLIENT = 10_000;
const BURST = 20;
const SIZES = [300, 4_096];
/** Deflating 200,000 messages one by one takes such servers tens of seconds: in one repetition, in none when quick. */
const SLOW_REPETITIONS = 1;
const TIMEOUT_MS = 100_000;
const EDGE_SETTINGS = { deflateMinSaving: 0 };

interface Cell {
  readonly server: ServerKind;
  readonly deflate: boolean;
  readonly bytes: number;
  readonly burst: number;
  readonly batch: boolean;
}

interface Measured {
  readonly cell: Cell;
  /** Microseconds per delivery, by repetition. */
  readonly cpuUs: number[];
  readonly lastByteMs: number[];
  wireBytes: number;
}

/** `n`: sockets of each server. */
export async function runFanout({ n, json, quick }: BenchOptions): Promise<void> {
  const sockets = n ?? (quick ? QUICK_SOCKETS : SOCKETS);
  const table = newTable(json);
  for (const deflate of [false, true]) {
    const bench = new Bench(sockets, deflate, quick);
    try {
      await bench.start();
      for (const bytes of SIZES) {
        const measured = await bench.measure(bytes, quick ? QUICK_REPETITIONS : REPETITIONS);
        for (const each of measured) table.add(row(each, measured, sockets));
      }
    } finally {
      await bench.stop();
    }
  }
  table.end(`${sockets} sockets per server; CPU of the server's process; medians, in brackets lowest and highest`);
}

class Bench {
  private readonly clients: Child<ClientApi>[] = [];
  private readonly stations = new Map<string, Station>();
  private room = 0;

  constructor(
    private readonly sockets: number,
    private readonly deflate: boolean,
    private readonly quick: boolean,
  ) {}

  async start(): Promise<void> {
    for (const cell of this.cells(0)) {
      const name = stationName(cell);
      if (this.stations.has(name)) continue;
      const { server, deflate, batch } = cell;
      const settings = server === 'edge' ? { settings: EDGE_SETTINGS } : {};
      const options = { server, deflate, batch, sockets: this.sockets, ...settings };
      this.stations.set(name, await Station.start(this.client(), options));
    }
  }

  async measure(bytes: number, repetitions: number): Promise<Measured[]> {
    const all: Measured[] = this.cells(bytes).map((cell) => ({ cell, cpuUs: [], lastByteMs: [], wireBytes: 0 }));
    // The first round warms up, and is not counted.
    for (let repetition = -1; repetition < repetitions; repetition += 1) {
      for (const measured of all) {
        if (isSlow(measured.cell) && (repetition < 0 || repetition >= SLOW_REPETITIONS)) continue;
        const cost = await this.broadcast(measured.cell);
        if (repetition < 0) continue;
        measured.cpuUs.push(cost.cpuUs / (this.sockets * measured.cell.burst));
        measured.lastByteMs.push(cost.lastByteMs);
        measured.wireBytes = cost.wireBytes / (this.sockets * measured.cell.burst);
      }
    }
    return all;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.stations.values(), ...this.clients].map((each) => each.stop()));
  }

  private broadcast(cell: Cell): Promise<Cost> {
    const station = this.stations.get(stationName(cell));
    if (station === undefined) throw new Error('every server has a station');
    return station.broadcast(cell.bytes, cell.burst, TIMEOUT_MS);
  }

  private cells(bytes: number): Cell[] {
    const cells: Cell[] = [];
    for (const burst of [1, BURST]) {
      for (const server of ['uws', 'edge', 'ws', 'socket.io'] as const) {
        const cell = { server, deflate: this.deflate, bytes, burst, batch: false };
        if (this.quick && isSlow(cell)) continue;
        cells.push(cell);
        if (server === 'edge' && burst > 1) cells.push({ ...cell, batch: true });
      }
    }
    return cells;
  }

  /** The process for the next server's clients. */
  private client(): Child<ClientApi> {
    if (this.clients.length === 0 || this.room < this.sockets) {
      this.clients.push(Child.start<ClientApi>(new URL('load/client.ts', import.meta.url)));
      this.room = SOCKETS_PER_CLIENT;
    }
    this.room -= this.sockets;
    const client = this.clients.at(-1);
    if (client === undefined) throw new Error('a client was started');
    return client;
  }
}

function isSlow({ server, deflate, burst }: Cell): boolean {
  return deflate && burst > 1 && (server === 'ws' || server === 'socket.io');
}

/** CPU per delivery as a ratio to that of `publish`, in the same repetition. */
function toPublish({ cell, cpuUs }: Measured, all: readonly Measured[]): Spread {
  const { deflate, bytes, burst } = cell;
  return pairedRatio(cpuUs, figuresOf(all, { server: 'uws', deflate, bytes, burst, batch: false }));
}

/** What a socket's burst costs as a ratio to what one message costs it. */
function toOneMessage({ cell, cpuUs }: Measured, all: readonly Measured[]): Spread {
  const { median, min, max } = pairedRatio(cpuUs, figuresOf(all, { ...cell, burst: 1, batch: false }));
  return { median: median * cell.burst, min: min * cell.burst, max: max * cell.burst };
}

function figuresOf(all: readonly Measured[], wanted: Cell): readonly number[] {
  const names = ['server', 'deflate', 'bytes', 'burst', 'batch'] as const;
  return all.find(({ cell }) => names.every((name) => cell[name] === wanted[name]))?.cpuUs ?? [];
}

interface Row {
  readonly bench: 'fanout';
  readonly server: ServerKind;
  readonly deflate: boolean;
  readonly bytes: number;
  readonly burst: number;
  readonly sockets: number;
  /** CPU time of the server's process per delivery, and the time to the last byte: medians. */
  readonly cpuUs: number;
  readonly lastByteMs: number;
  /** Whether the clients take a burst in one message. */
  readonly batch: boolean;
  readonly repetitions: number;
  readonly cpuUsMin: number;
  readonly cpuUsMax: number;
  /** On the wire, per delivery. */
  readonly wireBytes: number;
  /** Paired ratios of CPU: per delivery to publish's, and a socket's burst to one message. */
  readonly toPublish: Spread;
  readonly toOneMessage: Spread;
}

function row(measured: Measured, all: readonly Measured[], sockets: number): Row {
  const { cell, cpuUs, lastByteMs, wireBytes } = measured;
  const { server, deflate, bytes, burst, batch } = cell;
  const cpu = rounded(spread(cpuUs), 3);
  return {
    bench: 'fanout',
    server,
    deflate,
    bytes,
    burst,
    sockets,
    cpuUs: cpu.median,
    lastByteMs: round(spread(lastByteMs).median, 1),
    batch,
    repetitions: cpuUs.length,
    cpuUsMin: cpu.min,
    cpuUsMax: cpu.max,
    wireBytes: Math.round(wireBytes),
    toPublish: rounded(toPublish(measured, all), 3),
    toOneMessage: rounded(toOneMessage(measured, all), 3),
  };
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['server', ({ server }) => server],
    ['deflate', ({ deflate }) => (deflate ? 'yes' : 'no')],
    ['bytes', ({ bytes }) => String(bytes)],
    ['burst', ({ burst, batch }) => `${burst}${batch ? ' batched' : ''}`],
    ['µs/delivery', (row) => spreadText({ median: row.cpuUs, min: row.cpuUsMin, max: row.cpuUsMax }, 2)],
    ['to publish', ({ toPublish }) => spreadText(toPublish, 2)],
    ['burst to one message', ({ burst, toOneMessage }) => (burst > 1 ? spreadText(toOneMessage, 2) : '')],
    ['last byte ms', ({ lastByteMs }) => lastByteMs.toFixed(0)],
    ['wire bytes', ({ wireBytes }) => String(wireBytes)],
  ]);
}
