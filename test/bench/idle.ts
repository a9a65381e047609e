/**
 * Resident memory of the edge's process per idle subscribed socket: 18,000 sockets in 100 rooms, measured after a full
 * collection, against the same process before they came (warm: it had sockets and revisions before). Again after one
 * 64 KB page to each, which must leave nothing behind in the sockets; the rooms' rings and the log, which keep the
 * pages themselves, are in that figure too. Plain and deflated sockets.
 */
import type { BenchOptions } from './bench-options.js';
import { Child } from './load/child.js';
import type { ClientApi } from './load/client.js';
import { round } from './load/paired.js';
import type { EdgeApi, EdgeMemory } from './servers/edge.js';
import { Table } from './table.js';

const SOCKETS = 18_000;
const QUICK_SOCKETS = 12_000;
/** So 18,000 sockets are in 100 rooms. */
const SOCKETS_PER_ROOM = 180;
const WARM_UP_SOCKETS = 2_000;
/** A process may hold 20,000 descriptors, the edge's too. */
const CLIENTS = 2;
const PAGE_BYTES = 64 * 1024;
const READ_EVERY_MS = 25;
const TIMEOUT_MS = 60_000;
const BYTES_PER_KB = 1_024;

interface Row {
  readonly bench: 'idle';
  readonly sockets: number;
  readonly kbPerSocket: number;
  readonly deflate: boolean;
  readonly after: 'subscribing' | 'a 64 KB page to each';
  /** What of it V8 has on its heap, and outside in buffers. */
  readonly heapKbPerSocket: number;
  readonly externalKbPerSocket: number;
}

interface Room {
  readonly name: string;
  readonly client: Child<ClientApi>;
}

/** `n`: sockets. */
export async function runIdle({ n, json, quick }: BenchOptions): Promise<void> {
  const sockets = n ?? (quick ? QUICK_SOCKETS : SOCKETS);
  const table = newTable(json);
  for (const deflate of [false, true]) for (const row of await measure(sockets, deflate)) table.add(row);
  table.end(`rooms of ${SOCKETS_PER_ROOM} sockets; resident memory beyond that of the process before`);
}

async function measure(sockets: number, deflate: boolean): Promise<Row[]> {
  const clients = Array.from({ length: CLIENTS }, () =>
    Child.start<ClientApi>(new URL('load/client.ts', import.meta.url)),
  );
  const edge = Child.start<EdgeApi>(new URL('servers/edge.ts', import.meta.url), { node: ['--expose-gc'] });
  try {
    const { port } = await edge.call('start', { deflate });
    const connect = (client: Child<ClientApi>, room: string, count: number, firstSocket: number) =>
      client.call('connect', {
        group: room,
        server: 'edge',
        port,
        sockets: count,
        deflate,
        firstSocket,
        rooms: [{ room, batch: false }],
        checked: 1,
        timed: false,
      });
    const [first] = clients;
    if (first !== undefined) {
      await connect(first, 'warm-up', WARM_UP_SOCKETS, 0);
      await toAll(edge, [{ name: 'warm-up', client: first }]);
      await first.call('close', { group: 'warm-up' });
    }
    const before = await edge.call('memory', undefined);
    const rooms: Room[] = [];
    for (let from = 0; from < sockets; from += SOCKETS_PER_ROOM) {
      const client = clients[rooms.length % CLIENTS];
      if (client === undefined) throw new Error('there are clients');
      const name = `room-${rooms.length}`;
      await connect(client, name, Math.min(SOCKETS_PER_ROOM, sockets - from), from);
      rooms.push({ name, client });
    }
    const subscribed = await edge.call('memory', undefined);
    await toAll(edge, rooms);
    const paged = await edge.call('memory', undefined);
    return [
      rowOf({ sockets, deflate, after: 'subscribing' }, before, subscribed),
      rowOf({ sockets, deflate, after: 'a 64 KB page to each' }, before, paged),
    ];
  } finally {
    await Promise.all([edge, ...clients].map((child) => child.stop()));
  }
}

/** One page to every room, until every client has it. */
async function toAll(edge: Child<EdgeApi>, rooms: readonly Room[]): Promise<void> {
  for (const { name, client } of rooms) {
    await client.call('arm', { group: name, messages: 1, readEveryMs: READ_EVERY_MS });
  }
  await edge.call('publishToRooms', { rooms: rooms.map(({ name }) => name), bytes: PAGE_BYTES });
  for (const { name, client } of rooms) {
    const { faults } = await client.call('received', { group: name, timeoutMs: TIMEOUT_MS });
    if (faults.length > 0) throw new Error(`idle, ${name}: ${faults.join('; ')}`);
  }
}

function rowOf(what: Pick<Row, 'sockets' | 'deflate' | 'after'>, before: EdgeMemory, now: EdgeMemory): Row {
  const perSocket = (bytes: number) => round(bytes / what.sockets / BYTES_PER_KB, 2);
  return {
    bench: 'idle',
    sockets: what.sockets,
    kbPerSocket: perSocket(now.rss - before.rss),
    deflate: what.deflate,
    after: what.after,
    heapKbPerSocket: perSocket(now.heapUsed - before.heapUsed),
    externalKbPerSocket: perSocket(now.external - before.external),
  };
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['sockets', ({ sockets }) => String(sockets)],
    ['deflate', ({ deflate }) => (deflate ? 'yes' : 'no')],
    ['after', ({ after }) => after],
    ['KB/socket', ({ kbPerSocket }) => kbPerSocket.toFixed(2)],
    ['of it heap', ({ heapKbPerSocket }) => heapKbPerSocket.toFixed(2)],
    ['of it buffers', ({ externalKbPerSocket }) => externalKbPerSocket.toFixed(2)],
  ]);
}
