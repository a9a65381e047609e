/**
 * What a broadcast costs a server: CPU time per delivery, and the time to the last byte, of this edge, raw
 * uWebSockets.js publish, ws and Socket.IO, plain and deflated, one message at a time and in bursts. All servers are up
 * at once, each in a process of its own with its own clients, and take turns in every repetition, so ratios are paired.
 *
 * All send the same text, but the edge's clients have an id each (as many distinct ids as sockets). The edge compresses
 * whatever can be compressed (EDGE_DEFLATE_MIN_SAVING 0); by default it would send 300 bytes as they are. Publishing
 * is part of the cost: an append to a log in memory, in the edge's process.
 */
import { Child } from './load/child.js';
import type { ClientApi } from './load/client.js';
import type { ServerKind } from './load/dialogues.js';
import { pairedRatio, round, rounded, spread, spreadText, type Spread } from './load/paired.js';
import { Station } from './load/station.js';

const REPETITIONS = 9;
const SOCKETS = 10_000;
const QUICK_REPETITIONS = 3;
const QUICK_SOCKETS = 1_000;
/** A process may hold 20,000 descriptors. */
const SOCKETS_PER_CLIENT = 10_000;
const BURST = 20;
/** Deflating 200,000 messages one by one takes such servers tens of seconds: fewer repetitions, none when quick. */
const SLOW_REPETITIONS = 3;
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

export interface FanoutOptions {
  /** Sockets of each server. */
  readonly n?: number;
  readonly json: boolean;
  readonly quick: boolean;
}

export async function runFanout({ n, json, quick }: FanoutOptions): Promise<void> {
  const sockets = n ?? (quick ? QUICK_SOCKETS : SOCKETS);
  const bench = new Bench(sockets, quick);
  try {
    await bench.start();
    const measured = await bench.measure(quick ? QUICK_REPETITIONS : REPETITIONS);
    if (json) for (const each of measured) process.stdout.write(`${JSON.stringify(line(each, measured, sockets))}\n`);
    else process.stdout.write(table(measured, sockets));
  } finally {
    await bench.stop();
  }
}

class Bench {
  private readonly clients: Child<ClientApi>[] = [];
  private readonly stations = new Map<string, Station>();
  private room = 0;

  constructor(
    private readonly sockets: number,
    private readonly quick: boolean,
  ) {}

  async start(): Promise<void> {
    for (const server of ['edge', 'uws', 'ws', 'socket.io'] as const) {
      for (const deflate of [false, true]) {
        const options = { server, deflate, sockets: this.sockets };
        const settings = server === 'edge' ? { settings: EDGE_SETTINGS } : {};
        this.stations.set(`${server} ${deflate}`, await Station.start(this.client(), { ...options, ...settings }));
      }
    }
  }

  async measure(repetitions: number): Promise<Measured[]> {
    const all: Measured[] = this.cells().map((cell) => ({ cell, cpuUs: [], lastByteMs: [], wireBytes: 0 }));
    // The first round warms up, and is not counted.
    for (let repetition = -1; repetition < repetitions; repetition += 1) {
      for (const measured of all) {
        if (repetition >= SLOW_REPETITIONS && isSlow(measured.cell)) continue;
        const cost = await this.broadcast(measured.cell);
        if (repetition < 0) continue;
        measured.cpuUs.push(cost.cpuUs / (this.sockets * measured.cell.burst));
        measured.lastByteMs.push(cost.lastByteMs);
        measured.wireBytes = cost.bytes / (this.sockets * measured.cell.burst);
      }
    }
    return all;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.stations.values(), ...this.clients].map((each) => each.stop()));
  }

  private broadcast({ server, deflate, bytes, burst, batch }: Cell) {
    const station = this.stations.get(`${server} ${deflate}`);
    if (station === undefined) throw new Error('every server has a station');
    return station.broadcast({ bytes, count: burst, batch }, TIMEOUT_MS);
  }

  /** Those that are compared stand next to each other. */
  private cells(): Cell[] {
    const cells: Cell[] = [];
    for (const bytes of [300, 4_096]) {
      for (const deflate of [false, true]) {
        for (const burst of [1, BURST]) {
          for (const server of ['uws', 'edge', 'ws', 'socket.io'] as const) {
            const cell = { server, deflate, bytes, burst, batch: false };
            if (this.quick && isSlow(cell)) continue;
            cells.push(cell);
            if (server === 'edge' && burst > 1) cells.push({ ...cell, batch: true });
          }
        }
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

function line(measured: Measured, all: readonly Measured[], sockets: number): object {
  const { cell, cpuUs, lastByteMs, wireBytes } = measured;
  const { server, deflate, bytes, burst, batch } = cell;
  const cpu = spread(cpuUs);
  return {
    bench: 'fanout',
    server,
    deflate,
    bytes,
    burst,
    sockets,
    cpuUs: round(cpu.median, 3),
    lastByteMs: round(spread(lastByteMs).median, 1),
    batch,
    repetitions: cpuUs.length,
    cpuUsMin: round(cpu.min, 3),
    cpuUsMax: round(cpu.max, 3),
    wireBytes: Math.round(wireBytes),
    toPublish: rounded(toPublish(measured, all), 3),
    ...(burst > 1 ? { toOneMessage: rounded(toOneMessage(measured, all), 3) } : {}),
  };
}

function table(all: readonly Measured[], sockets: number): string {
  const rows = [
    [
      'server',
      'deflate',
      'bytes',
      'burst',
      'µs per delivery',
      'to publish',
      'burst to one',
      'last byte ms',
      'wire bytes',
    ],
  ];
  for (const measured of all) {
    const { cell, cpuUs, lastByteMs, wireBytes } = measured;
    rows.push([
      cell.server,
      cell.deflate ? 'yes' : 'no',
      String(cell.bytes),
      cell.batch ? `${cell.burst} batched` : String(cell.burst),
      spreadText(spread(cpuUs), 2),
      spreadText(toPublish(measured, all), 2),
      cell.burst > 1 ? spreadText(toOneMessage(measured, all), 2) : '',
      spread(lastByteMs).median.toFixed(0),
      wireBytes.toFixed(0),
    ]);
  }
  return `${sockets} sockets per server; median (lowest to highest)\n${aligned(rows)}`;
}

function aligned(rows: readonly string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
