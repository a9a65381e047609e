/**
 * What more edges cost and give, with 1, 2 and 3 of them on one nats-server.
 *
 * messages: what one revision costs in NATS messages, by nats-server's own counters, with 10 and 1,000 sockets on each
 * edge, all in one room: revisions are published one after the other, each acknowledged. What the server counts in an equal
 * time without any (heartbeats, comparisons of heads) is taken off, and told.
 *
 * deliveries: revisions per second that come to all clients, spread evenly over the edges: short bursts, the next one when
 * the last client has the last revision. Edges and clients share the machine's cores, so beside that stands what a delivery
 * costs an edge in CPU time, and what as many edges with a core each could deliver by that: that is calculated, not measured.
 *
 * nats-server, revision service, each edge and each edge's clients are processes of their own.
 */
import type { BenchOptions } from './bench-options.js';
import { Child } from './load/child.js';
import type { ClientApi } from './load/client.js';
import { monotonicMs } from './load/monotonic.js';
import { countsEach, natsCounts, type NatsCounts } from './load/nats-monitor.js';
import { round, rounded, spread, spreadText, type Spread } from './load/paired.js';
import { payload } from './load/payload.js';
import type { EdgeOnNatsApi } from './servers/edge-on-nats.js';
import type { RevisionApi } from './servers/revision.js';
import { Table } from './table.js';
import { freePort } from '../support/free-port.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const EDGES = [1, 2, 3];
const SOCKETS_PER_EDGE = [10, 1_000];
const QUICK_SOCKETS_PER_EDGE = [10, 200];
const REVISIONS = 200;
const QUICK_REVISIONS = 50;
const SOCKETS = 9_000;
const QUICK_SOCKETS = 1_200;
const ROUNDS = 30;
const QUICK_ROUNDS = 8;
const BURST = 10;
const BYTES = 300;
const CHECKED_SOCKETS = 4;
const TIMEOUT_MS = 60_000;
/** A room's second look at its head, after it opened, is over by then. */
const SETTLE_MS = 2_500;
const EDGE_NAME = 'edge';
const US_PER_S = 1_000_000;
const MS_PER_S = 1_000;

interface MessagesRow {
  readonly bench: 'scale';
  readonly kind: 'messages';
  readonly edges: number;
  readonly socketsPerEdge: number;
  readonly revisions: number;
  /** Per revision: from nats-server to all its clients, … */
  readonly outPerRevision: number;
  /** … of these to the edges together, … */
  readonly toEdgesPerRevision: number;
  /** … and from all its clients to it. */
  readonly inPerRevision: number;
  /** What the server counted in an equal time without revisions, to its clients. */
  readonly idleOut: number;
}

interface DeliveriesRow {
  readonly bench: 'scale';
  readonly kind: 'deliveries';
  readonly edges: number;
  /** Of all edges together. */
  readonly sockets: number;
  /** Revisions of a burst. */
  readonly burst: number;
  /** Deliveries per second, by round: measured, on the machine's cores. */
  readonly perSecond: Spread;
  /** CPU time of the edges per delivery, in microseconds, by round. */
  readonly edgeCpuUs: Spread;
  /** What so many edges with a core each could deliver by that: calculated. */
  readonly perSecondWithCores: number;
}

/** `n`: sockets of the deliveries, on all edges together. */
export async function runScale({ n, json, quick }: BenchOptions): Promise<void> {
  const messages = messagesTable(json);
  const deliveries = deliveriesTable(json);
  for (const edges of EDGES) {
    const bench = await ScaleBench.start(edges);
    try {
      for (const sockets of quick ? QUICK_SOCKETS_PER_EDGE : SOCKETS_PER_EDGE) {
        messages.add(await bench.messages(sockets, quick ? QUICK_REVISIONS : REVISIONS));
      }
      const sockets = n ?? (quick ? QUICK_SOCKETS : SOCKETS);
      deliveries.add(await bench.deliveries(sockets, quick ? QUICK_ROUNDS : ROUNDS));
    } finally {
      await bench.stop();
    }
  }
  messages.end('NATS messages per revision, one revision an entry, less those of an equal time without revisions', '');
  deliveries.end(
    `revisions of ${BYTES} bytes, bursts of ${BURST}; median, in brackets lowest and highest round`,
    'with a core each: calculated from the CPU time per delivery',
  );
}

class ScaleBench {
  private readonly revision = Child.start<RevisionApi>(new URL('servers/revision.ts', import.meta.url));
  private readonly edges: Child<EdgeOnNatsApi>[];
  private readonly clients: Child<ClientApi>[];
  private ports: number[] = [];
  private groups = 0;

  private constructor(
    count: number,
    private readonly nats: NatsServer,
    private readonly monitorUrl: string,
    private readonly opened: TestLog,
  ) {
    const each = Array.from({ length: count });
    this.edges = each.map(() => Child.start<EdgeOnNatsApi>(new URL('servers/edge-on-nats.ts', import.meta.url)));
    this.clients = each.map(() => Child.start<ClientApi>(new URL('load/client.ts', import.meta.url)));
  }

  static async start(edges: number): Promise<ScaleBench> {
    const monitorPort = await freePort();
    const nats = await NatsServer.start({ config: `http: "127.0.0.1:${monitorPort}"` });
    let opened: TestLog;
    try {
      opened = await openJetStreamLog(nats.url);
    } catch (error) {
      await nats.dispose();
      throw error;
    }
    const bench = new ScaleBench(edges, nats, `http://127.0.0.1:${monitorPort}`, opened);
    try {
      await bench.revision.call('start', { nats: nats.url });
      const started = bench.edges.map((edge) => edge.call('start', { nats: nats.url, name: EDGE_NAME }));
      bench.ports = (await Promise.all(started)).map(({ port }) => port);
      return bench;
    } catch (error) {
      await bench.stop();
      throw error;
    }
  }

  async messages(socketsPerEdge: number, revisions: number): Promise<MessagesRow> {
    const { room, group } = await this.connect(this.edges.map(() => socketsPerEdge));
    await pause(SETTLE_MS);
    const before = await this.counts();
    const startMs = monotonicMs();
    await this.expect(group, revisions);
    for (let rev = 0; rev < revisions; rev += 1) await this.append(room);
    await this.received(group);
    const tookMs = monotonicMs() - startMs;
    const after = await this.counts();
    await pause(tookMs);
    const later = await this.counts();
    const nothing = { inMessages: 0, outMessages: 0, outToNamed: 0 };
    const idle = countsEach(after, later, nothing, 1);
    const each = countsEach(before, after, idle, revisions);
    await this.close(group);
    return {
      bench: 'scale',
      kind: 'messages',
      edges: this.edges.length,
      socketsPerEdge,
      revisions,
      outPerRevision: round(each.outMessages, 2),
      toEdgesPerRevision: round(each.outToNamed, 2),
      inPerRevision: round(each.inMessages, 2),
      idleOut: idle.outMessages,
    };
  }

  async deliveries(sockets: number, rounds: number): Promise<DeliveriesRow> {
    const { length: edges } = this.edges;
    const shares = this.edges.map((_, edge) => Math.floor(sockets / edges) + (edge < sockets % edges ? 1 : 0));
    const { room, group } = await this.connect(shares);
    await pause(SETTLE_MS);
    const perSecond: number[] = [];
    const cpuUs: number[] = [];
    // The first round warms up, and is not counted.
    for (let at = -1; at < rounds; at += 1) {
      await this.expect(group, BURST);
      const before = await this.edgeCpuUs();
      const startMs = monotonicMs();
      for (let i = 0; i < BURST; i += 1) await this.append(room);
      const lastMs = await this.received(group);
      const cost = (await this.edgeCpuUs()) - before;
      if (at < 0) continue;
      const count = sockets * BURST;
      perSecond.push((count * MS_PER_S) / (lastMs - startMs));
      cpuUs.push(cost / count);
    }
    await this.close(group);
    const edgeCpuUs = spread(cpuUs);
    return {
      bench: 'scale',
      kind: 'deliveries',
      edges,
      sockets,
      burst: BURST,
      perSecond: rounded(spread(perSecond), 0),
      edgeCpuUs: rounded(edgeCpuUs, 2),
      perSecondWithCores: round((edges * US_PER_S) / edgeCpuUs.median, 0),
    };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.clients, ...this.edges, this.revision].map((child) => child.stop()));
    await this.opened.close();
    await this.nats.dispose();
  }

  private counts(): Promise<NatsCounts> {
    return natsCounts(this.monitorUrl, EDGE_NAME);
  }

  /** Clients of a room that is theirs only, so many at each edge. */
  private async connect(sockets: readonly number[]): Promise<{ room: string; group: string }> {
    this.groups += 1;
    const room = `scale-${this.groups}`;
    // Nobody sees the first revision alone with its epoch.
    await this.append(room);
    await this.each((client, edge) =>
      client.call('connect', {
        group: room,
        server: 'edge',
        port: this.ports[edge] ?? 0,
        sockets: sockets[edge] ?? 0,
        deflate: false,
        firstSocket: 0,
        rooms: [{ room, batch: false }],
        checked: CHECKED_SOCKETS,
        timed: false,
      }),
    );
    return { room, group: room };
  }

  private async expect(group: string, messages: number): Promise<void> {
    await this.each((client) => client.call('arm', { group, messages, readEveryMs: 0 }));
  }

  /** When the last client had the last message. Throws if anything but what was expected came. */
  private async received(group: string): Promise<number> {
    const all = await this.each((client) => client.call('received', { group, timeoutMs: TIMEOUT_MS }, TIMEOUT_MS * 2));
    const faults = all.flatMap((received) => received.faults);
    const times = all.map(({ completeAtMs }) => completeAtMs ?? Number.NaN);
    const lastMs = Math.max(...times);
    if (faults.length > 0 || Number.isNaN(lastMs)) throw new Error(`${group}: ${faults.join('; ')}`);
    return lastMs;
  }

  private async close(group: string): Promise<void> {
    await this.each((client) => client.call('close', { group }));
  }

  private each<T>(action: (client: Child<ClientApi>, edge: number) => Promise<T>): Promise<T[]> {
    return Promise.all(this.clients.map(action));
  }

  private async edgeCpuUs(): Promise<number> {
    const usages = await Promise.all(this.edges.map((edge) => edge.call('usage', undefined)));
    return usages.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
  }

  private async append(room: string): Promise<void> {
    await this.opened.log.append(room, { revisions: [{ data: payload(BYTES, monotonicMs()) }] });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function messagesTable(json: boolean): Table<MessagesRow> {
  return new Table(json, [
    ['edges', ({ edges }) => String(edges)],
    ['sockets each', ({ socketsPerEdge }) => String(socketsPerEdge)],
    ['from NATS', ({ outPerRevision }) => String(outPerRevision)],
    ['of these to edges', ({ toEdgesPerRevision }) => String(toEdgesPerRevision)],
    ['to NATS', ({ inPerRevision }) => String(inPerRevision)],
    ['idle', ({ idleOut }) => String(idleOut)],
  ]);
}

function deliveriesTable(json: boolean): Table<DeliveriesRow> {
  return new Table(json, [
    ['edges', ({ edges }) => String(edges)],
    ['sockets', ({ sockets }) => String(sockets)],
    ['deliveries/s', ({ perSecond }) => spreadText(perSecond, 0)],
    ['edge CPU µs each', ({ edgeCpuUs }) => spreadText(edgeCpuUs, 2)],
    ['with a core each', ({ perSecondWithCores }) => String(perSecondWithCores)],
  ]);
}
