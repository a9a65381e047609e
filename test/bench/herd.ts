/**
 * A reconnect storm. 10,000 clients of one room stand at 20 different positions when they drop; for 2 s revisions go on
 * at 50/s, and then they all reconnect at once, while revisions still go on. How long from the beginning of that until a
 * client is steady (it gets what was published after it had subscribed), and until it has what was the head at the start;
 * whether every client got every revision once; what it cost the log, the revision service and the edge. Clients offer
 * permessage-deflate, as browsers do, and take several revisions in a message (`batch`); `herd-plain`: the same with
 * clients that do not deflate; `herd-single`: nor take more than one in a message.
 *
 * Then, with the first of these, how much that delays others: 1,000 steady clients of another room on the same edge, while
 * nobody else is sent anything (before and after), and while the 10,000 are catching up on a long history.
 *
 * nats-server, revision service, edge, both kinds of clients: each in a process of its own. Who measures how long others
 * wait (the calm clients, and this process, which publishes when it is due) goes before the others where the system allows
 * that, and so does nats-server: what they wait for a processor, beside as many processes as keep it busy, is not the
 * edge's delay. (An append took 30 to 40 ms now and then while nats-server waited like the others.)
 */
import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { payload } from './load/payload.js';
import { monotonicMs } from './load/monotonic.js';
import { Child } from './load/child.js';
import type { ClientApi, Latency } from './load/client.js';
import type { Position } from './load/herd.js';
import type { HerdApi } from './load/herd-client.js';
import { round } from './load/paired.js';
import type { BenchOptions } from './bench-options.js';
import type { EdgeOnNatsApi } from './servers/edge-on-nats.js';
import type { RevisionApi } from './servers/revision.js';
import { Table } from './table.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const CLIENTS = 10_000;
const QUICK_CLIENTS = 2_000;
const GROUPS = 20;
/** Revisions between the positions of two groups. */
const SPACING = 5;
const AWAY_MS = 2_000;
const PER_SECOND = 50;
const BYTES = 300;
const ROOM = 'herd';
/** Revisions that the room has before, and of which an entry has so many. */
const HISTORY = 6_000;
const HISTORY_ENTRY = 50;
const STEADY_TIMEOUT_MS = 20_000;

const CALM_ROOM = 'calm';
const CALM_CLIENTS = 1_000;
const CALM_PER_SECOND = 20;
const WINDOW_MS = 8_000;
const QUICK_WINDOW_MS = 3_000;
const WARM_UP_MS = 1_000;
/** Of processes that measure, as `nice` has it: before all others. */
const MEASURING = -20;
const MS_PER_S = 1_000;
const US_PER_MS = 1_000;

/** What the clients of each row ask for. */
const CLIENTS_OF = {
  herd: { batch: true, deflate: true },
  'herd-plain': { batch: true, deflate: false },
  'herd-single': { batch: false, deflate: false },
} as const;
type Bench = keyof typeof CLIENTS_OF;

type Row = { readonly bench: Bench } & Storm & Partial<Calm>;

interface Storm {
  readonly clients: number;
  readonly complete: number;
  readonly holes: number;
  readonly repeats: number;
  /** From the beginning of the reconnect until a client was steady. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Until it had what was the head then. */
  readonly headP50Ms: number;
  readonly headP99Ms: number;
  /** Until the last was subscribed. */
  readonly subscribedMs: number;
  readonly logReads: number;
  /** From the first position to what was the head when all were steady. */
  readonly distinctPages: number;
  /** CPU time until all were steady. */
  readonly edgeCpuMs: number;
  readonly revisionCpuMs: number;
  readonly clientCpuMs: number;
}

interface Calm {
  /** Of clients of another room: latency while nobody catches up, before and after, and while all do. */
  readonly calmP99Ms: readonly [number, number];
  readonly calmP99MsBesideCatchUp: number;
  readonly calmP50Ms: number;
  readonly calmP50MsBesideCatchUp: number;
  /** Revisions that those who caught up were given meanwhile, per second. */
  readonly catchUpPerSecond: number;
  /** CPU time of the edge for each of them, the calm clients' share included, in microseconds. */
  readonly catchUpCpuUs: number;
}

/** `n`: clients that reconnect. */
export async function runHerd({ n, json, quick }: BenchOptions): Promise<void> {
  const clients = n ?? (quick ? QUICK_CLIENTS : CLIENTS);
  const table = newTable(json);
  await withBench(clients, 'herd', async (bench) => {
    const storm = await bench.storm();
    table.add({ bench: 'herd', ...storm, ...(await bench.beside(quick ? QUICK_WINDOW_MS : WINDOW_MS)) });
  });
  for (const name of ['herd-plain', 'herd-single'] as const) {
    await withBench(clients, name, async (bench) => {
      table.add({ bench: name, ...(await bench.storm()) });
    });
  }
  table.end(`revisions of ${BYTES} bytes; ${CALM_CLIENTS} calm clients`);
}

async function withBench(clients: number, name: Bench, run: (bench: HerdBench) => Promise<void>): Promise<void> {
  const bench = await HerdBench.start(clients, name);
  try {
    await bench.prepare();
    await run(bench);
  } finally {
    await bench.stop();
  }
}

class HerdBench {
  private readonly revision = Child.start<RevisionApi>(new URL('servers/revision.ts', import.meta.url));
  private readonly edge = Child.start<EdgeOnNatsApi>(new URL('servers/edge-on-nats.ts', import.meta.url));
  private readonly herd = Child.start<HerdApi>(new URL('load/herd-client.ts', import.meta.url));
  private readonly calm = Child.start<ClientApi>(new URL('load/client.ts', import.meta.url));
  private port = 0;
  private head: Position = { epoch: '', rev: 0, tag: '' };
  private readonly history: Position[] = [];

  private constructor(
    private readonly clients: number,
    private readonly name: Bench,
    private readonly nats: NatsServer,
    private readonly opened: TestLog,
  ) {}

  static async start(clients: number, name: Bench): Promise<HerdBench> {
    const nats = await NatsServer.start();
    try {
      return new HerdBench(clients, name, nats, await openJetStreamLog(nats.url));
    } catch (error) {
      await nats.dispose();
      throw error;
    }
  }

  async prepare(): Promise<void> {
    const { nats } = this;
    await this.revision.call('start', { nats: nats.url });
    this.port = (await this.edge.call('start', { nats: nats.url })).port;
    for (let rev = 0; rev < HISTORY; rev += HISTORY_ENTRY) this.history.push(await this.publish(ROOM, HISTORY_ENTRY));
    await this.publish(CALM_ROOM, 2);
  }

  async storm(): Promise<Storm> {
    const { clients, name, edge, revision, herd, port } = this;
    const what = { room: ROOM, port, clients, firstClient: 0, headRev: this.head.rev, bytes: BYTES };
    await herd.call('connect', { ...what, ...CLIENTS_OF[name] });
    const positions: Position[] = [];
    for (let group = 0; group < GROUPS; group += 1) {
      for (let i = 0; i < SPACING; i += 1) await this.publish(ROOM);
      positions.push(this.head);
      await herd.call('drop', { group, groups: GROUPS, rev: this.head.rev });
    }
    await this.publishFor(ROOM, PER_SECOND, AWAY_MS);
    const headRev = this.head.rev;
    const reads = await revision.call('logReads', undefined);
    const before = await this.usages();
    const goingOn = { is: true };
    const published = this.publishWhile(ROOM, PER_SECOND, () => goingOn.is);
    await herd.call('reconnect', { positions, headRev });
    const steady = await herd.call('steady', { timeoutMs: STEADY_TIMEOUT_MS });
    const after = await this.usages();
    const lastRev = this.head.rev;
    goingOn.is = false;
    await published;
    if (!steady) throw new Error(`not all are steady after ${STEADY_TIMEOUT_MS} ms`);
    const returned = await herd.call('result', { rev: this.head.rev });
    const { pageRevisions } = await edge.call('pageSize', undefined);
    const pageOf = (rev: number) => Math.floor((rev - 1) / pageRevisions);
    const first = positions[0]?.rev ?? 0;
    return {
      clients,
      complete: returned.complete,
      holes: returned.holes,
      repeats: returned.repeats,
      p50Ms: round(returned.steadyP50Ms, 0),
      p99Ms: round(returned.steadyP99Ms, 0),
      headP50Ms: round(returned.headP50Ms, 0),
      headP99Ms: round(returned.headP99Ms, 0),
      subscribedMs: round(returned.subscribedMs, 0),
      logReads: (await revision.call('logReads', undefined)) - reads,
      distinctPages: pageOf(lastRev) - pageOf(first) + 1,
      edgeCpuMs: round((after.edge - before.edge) / US_PER_MS, 0),
      revisionCpuMs: round((after.revision - before.revision) / US_PER_MS, 0),
      clientCpuMs: round((after.herd - before.herd) / US_PER_MS, 0),
    };
  }

  /** The calm clients' latency without and with the herd catching up from the beginning of the room. */
  async beside(windowMs: number): Promise<Calm> {
    const { calm, edge, herd, port } = this;
    goFirst(calm.pid);
    goFirst(process.pid);
    goFirst(this.nats.pid);
    await calm.call('connect', {
      group: CALM_ROOM,
      server: 'edge',
      port,
      sockets: CALM_CLIENTS,
      deflate: false,
      firstSocket: 0,
      rooms: [{ room: CALM_ROOM, batch: false }],
      checked: 10,
      timed: true,
    });
    await this.latency(WARM_UP_MS, 'warm-up');
    const before = await this.latency(windowMs, 'before');
    await herd.call('dropAll', undefined);
    await herd.call('reconnect', { positions: this.history.slice(0, GROUPS), headRev: this.head.rev });
    const startMs = monotonicMs();
    const deliveries = await this.deliveries();
    const { edge: cpuUs } = await this.usages();
    const beside = await this.latency(windowMs, 'beside');
    const caughtUp = (await this.deliveries()) - deliveries;
    const catchUpCpuUs = ((await this.usages()).edge - cpuUs) / caughtUp;
    const seconds = (monotonicMs() - startMs) / MS_PER_S;
    const left = await herd.call('behind', { rev: this.head.rev });
    if (left === 0) process.stderr.write('herd: all had caught up before the end of the window\n');
    await herd.call('dropAll', undefined);
    await this.latency(WARM_UP_MS, 'warm-up');
    const after = await this.latency(windowMs, 'after');
    await edge.call('counters', undefined);
    return {
      calmP99Ms: [round(before.p99Ms, 1), round(after.p99Ms, 1)] as const,
      calmP99MsBesideCatchUp: round(beside.p99Ms, 1),
      calmP50Ms: round(before.p50Ms, 1),
      calmP50MsBesideCatchUp: round(beside.p50Ms, 1),
      catchUpPerSecond: round(caughtUp / seconds, 0),
      catchUpCpuUs: round(catchUpCpuUs, 2),
    };
  }

  async stop(): Promise<void> {
    // So that no port is kept busy for a minute.
    await this.herd.call('dropAll', undefined).catch(() => undefined);
    await Promise.all([this.herd.stop(), this.calm.stop(), this.edge.stop(), this.revision.stop()]);
    await this.opened.close();
    await this.nats.dispose();
  }

  private async latency(windowMs: number, name: string): Promise<Latency> {
    await this.publishFor(CALM_ROOM, CALM_PER_SECOND, windowMs);
    return this.calm.call('takeLatency', { group: CALM_ROOM, sum: name });
  }

  private async deliveries(): Promise<number> {
    return (await this.edge.call('counters', undefined))?.deliveries ?? 0;
  }

  private async usages() {
    const [edge, revision, herd] = await Promise.all([
      this.edge.call('usage', undefined),
      this.revision.call('usage', undefined),
      this.herd.call('usage', undefined),
    ]);
    return { edge: edge.cpuUs, revision: revision.cpuUs, herd: herd.cpuUs };
  }

  /** One entry; the position that the room then has. */
  private async publish(room: string, count = 1, dueMs = monotonicMs()): Promise<Position> {
    const revisions = Array.from({ length: count }, () => ({ data: payload(BYTES, dueMs) }));
    const { epoch, rev, tag } = await this.opened.log.append(room, { revisions });
    const position = { epoch, rev, tag };
    if (room === ROOM) this.head = position;
    return position;
  }

  private publishFor(room: string, perSecond: number, forMs: number): Promise<void> {
    return this.publishWhile(room, perSecond, (dueMs) => dueMs < forMs);
  }

  /** At a rate, while the next is wanted by the time at which it is due, in milliseconds from now. */
  private async publishWhile(room: string, perSecond: number, isWanted: (dueMs: number) => boolean): Promise<void> {
    const startMs = monotonicMs();
    for (let dueMs = 0; isWanted(dueMs); dueMs += MS_PER_S / perSecond) {
      await pause(startMs + dueMs - monotonicMs());
      await this.publish(room, 1, startMs + dueMs);
    }
  }
}

/** All its threads, where the system allows it; else it is said, for what is measured then is more than the edge's delay. */
function goFirst(pid: number): void {
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), MEASURING);
  } catch (error) {
    process.stderr.write(`herd: process ${pid} cannot go first: ${String(error)}\n`);
  }
}

function pause(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['', ({ bench }) => bench],
    ['clients', ({ clients }) => String(clients)],
    ['complete', ({ complete }) => String(complete)],
    ['holes', ({ holes }) => String(holes)],
    ['repeats', ({ repeats }) => String(repeats)],
    ['steady p50 ms', ({ p50Ms }) => String(p50Ms)],
    ['p99', ({ p99Ms }) => String(p99Ms)],
    ['head p50 ms', ({ headP50Ms }) => String(headP50Ms)],
    ['p99', ({ headP99Ms }) => String(headP99Ms)],
    ['all subscribed ms', ({ subscribedMs }) => String(subscribedMs)],
    ['log reads', ({ logReads }) => String(logReads)],
    ['pages', ({ distinctPages }) => String(distinctPages)],
    ['edge CPU ms', ({ edgeCpuMs }) => String(edgeCpuMs)],
    ['revision', ({ revisionCpuMs }) => String(revisionCpuMs)],
    ['clients', ({ clientCpuMs }) => String(clientCpuMs)],
    ['calm p99 ms', ({ calmP99Ms }) => calmP99Ms?.join(', ') ?? ''],
    ['beside catch-up', ({ calmP99MsBesideCatchUp }) => String(calmP99MsBesideCatchUp ?? '')],
  ]);
}
