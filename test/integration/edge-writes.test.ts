import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startProducer, type RunningProducer } from '../../services/producer/main.js';
import { producerSettings } from '../../services/producer/settings.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { readSettings } from '../../services/shared/settings.js';
import { TestEdge, type TestEdgeOptions } from '../support/edge.js';
import { revsFrom } from '../support/feed-parts.js';
import { PlainClient } from '../support/plain-client.js';
import { segmentsOut } from '../support/raw-client.js';
import { hasTool, SS } from '../support/system-tool.js';

const SOCKETS = 40;
const countsWrites = hasTool(SS, 'the counting of write calls');

let edge: TestEdge;
let clients: PlainClient[] = [];

async function start(options: TestEdgeOptions = {}): Promise<void> {
  edge = await TestEdge.start(options);
}

/** Clients in the room, half of them compressing. */
async function subscribers(room: string, params: object = {}): Promise<void> {
  clients = await Promise.all(
    Array.from({ length: SOCKETS }, (_, index) =>
      PlainClient.connect(edge.wsUrl, { perMessageDeflate: index % 2 === 0 }),
    ),
  );
  await Promise.all(clients.map((client) => client.subscribe(room, params)));
}

/** How many writes each client's socket got while `action` ran and all had what came of it. */
async function writesOf(action: () => Promise<unknown>, room: string, rev: number): Promise<number[]> {
  const before = await segmentsOut(edge.port);
  await action();
  for (const client of clients) await client.upTo(room, rev);
  const after = await segmentsOut(edge.port);
  expect(after.size).toBe(SOCKETS);
  return [...after].map(([port, segments]) => segments - (before.get(port) ?? 0));
}

/** `count` times the same number. */
function each(count: number, value: number): number[] {
  return Array.from({ length: count }, () => value);
}

/** Each a put of its own: together they would share an entry. */
async function fiveEntries(): Promise<void> {
  for (let n = 1; n <= 5; n += 1) await edge.append('a', `{"n":${n}}`);
}

/** The socket under a client's WebSocket, which `ws` does not declare. */
function socketOf(client: PlainClient): Socket {
  return (client.ws as unknown as { _socket: Socket })._socket;
}

/** A whole HTTP request that publishes so many revisions. */
function post(room: string, count: number): string {
  const body = JSON.stringify({ revisions: revsFrom(1, count).map((n) => ({ data: n })) });
  return (
    `POST /v1/rooms/${room}/revisions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`
  );
}

beforeEach(() => {
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.close();
  await edge.stop();
});

describe.runIf(countsWrites)('system calls', () => {
  it('[F9] many revisions in one turn leave in one write per socket', async () => {
    await start();
    await subscribers('a');
    const burst = () => Promise.all(revsFrom(1, 20).map((n) => edge.append('a', `{"n":${n}}`)));
    expect(await writesOf(burst, 'a', 20)).toEqual(each(SOCKETS, 1));
    expect(edge.edge.counters()).toMatchObject({ socketsFlushed: SOCKETS, deliveries: 20 * SOCKETS });
  });

  it('[F9] a socket in many rooms gets all of them in one write', async () => {
    await start();
    await subscribers('room 1');
    const rooms = revsFrom(2, 10).map((n) => `room ${n}`);
    await Promise.all(clients.flatMap((client) => rooms.map((room) => client.subscribe(room))));
    const burst = () => Promise.all(['room 1', ...rooms].map((room) => edge.append(room, '1', '2')));
    expect(await writesOf(burst, 'room 10', 2)).toEqual(each(SOCKETS, 1));
    for (const client of clients) for (const room of rooms) expect(client.revs(room)).toEqual([1, 2]);
  });

  it('[F9] EDGE_FLUSH=sync, for comparison: a write for every entry', async () => {
    await start({ settings: { flush: 'sync' } });
    await subscribers('a');
    const writes = await writesOf(fiveEntries, 'a', 5);
    // The kernel may join two of them now and then.
    expect(writes.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(4 * SOCKETS);
  });

  it('[F9] in batches, compressed or not: one write', async () => {
    await start();
    await subscribers('a', { batch: true });
    const text = JSON.stringify('x'.repeat(1_000));
    const burst = () => Promise.all(revsFrom(1, 10).map(() => edge.append('a', text)));
    expect(await writesOf(burst, 'a', 10)).toEqual(each(SOCKETS, 1));
    expect(edge.edge.counters()).toMatchObject({ bodiesSerialized: 1, bodiesDeflated: 1 });
  });
});

describe.runIf(countsWrites)('a publish that arrives over a WebSocket of the same edge', () => {
  it('[U11] a write per socket for its revision, and one for the answer to its client', async () => {
    await start({ settings: { publishRooms: 'a' } });
    await subscribers('a');
    const [publisher] = clients;
    if (publisher === undefined) throw new Error('no clients');
    const writes = await writesOf(() => publisher.request('publish', { room: 'a', data: 'x' }, 'p'), 'a', 1);
    expect(writes.sort((one, other) => one - other)).toEqual([...each(SOCKETS - 1, 1), 2]);
    expect(edge.edge.counters()).toMatchObject({ socketsFlushed: SOCKETS, deliveries: SOCKETS, publishes: 1 });
  });

  it('[U11] what arrives in one packet leaves in one write per socket, and its answers in one', async () => {
    await start({ settings: { publishRooms: 'a' } });
    await subscribers('a');
    const [publisher] = clients;
    if (publisher === undefined) throw new Error('no clients');
    const writes = await writesOf(
      async () => {
        // Frames that `ws` writes while its socket is corked leave together.
        const socket = socketOf(publisher);
        socket.cork();
        for (const id of revsFrom(1, 10)) publisher.send({ id, method: 'publish', params: { room: 'a', data: id } });
        socket.uncork();
        await publisher.answer(10);
      },
      'a',
      10,
    );
    expect(writes.sort((one, other) => one - other)).toEqual([...each(SOCKETS - 1, 1), 2]);
    for (const client of clients) expect(client.revisions('a').map(({ data }) => data)).toEqual(revsFrom(1, 10));
  });
});

describe.runIf(countsWrites)('a publish that arrives over a socket of the same process', () => {
  let producer: RunningProducer;
  let http: Socket;

  beforeEach(async () => {
    await start();
    producer = await startProducer({
      settings: { ...readSettings(producerSettings, {}, {}), producerPort: 0 },
      log: edge.log,
      logger: silentLogger,
      clock: systemClock,
    });
    http = connect(Number(new URL(producer.url).port), '127.0.0.1');
    await once(http, 'connect');
  });

  afterEach(async () => {
    http.destroy();
    await producer.stop();
  });

  it('[F9] one request with many revisions: one write per socket', async () => {
    await subscribers('a');
    expect(await writesOf(() => Promise.resolve(http.write(post('a', 20))), 'a', 20)).toEqual(each(SOCKETS, 1));
  });

  it('[F9] many requests at once: never more writes per socket than flushes', async () => {
    await subscribers('a');
    const before = edge.edge.counters().flushes;
    const writes = await writesOf(() => Promise.resolve(http.write(post('a', 1).repeat(20))), 'a', 20);
    const flushes = edge.edge.counters().flushes - before;
    expect(Math.max(...writes)).toBeLessThanOrEqual(flushes);
    expect(flushes).toBeLessThanOrEqual(20);
  });

  it('[F9] subscribes and pings that arrive together with it: a write for the answers and one for the revisions', async () => {
    await subscribers('a');
    const rev = 20;
    const writes = await writesOf(
      () => {
        for (const client of clients) client.send({ id: 'p', method: 'ping' });
        http.write(post('a', rev));
        return Promise.resolve();
      },
      'a',
      rev,
    );
    for (const client of clients) await client.answer('p');
    expect(Math.max(...writes)).toBeLessThanOrEqual(2);
  });

  it('[F9] joining where the ring has a backlog: the answer and the backlog in one write', async () => {
    await subscribers('a');
    await writesOf(() => edge.append('a', ...revsFrom(1, 50).map(String)), 'a', 50);
    await Promise.all(clients.map((client) => client.request('unsubscribe', { room: 'a' })));
    const before = await segmentsOut(edge.port);
    for (const client of clients) client.send({ id: 'again', method: 'subscribe', params: { room: 'a', since: 0 } });
    await Promise.all(clients.map((client) => client.answer('again')));
    for (const client of clients) await client.upTo('a', 50);
    await edge.append('a', '51');
    for (const client of clients) expect((await client.upTo('a', 51)).slice(50)).toEqual(revsFrom(1, 51));
    const after = await segmentsOut(edge.port);
    expect([...after].map(([port, segments]) => segments - (before.get(port) ?? 0))).toEqual(each(SOCKETS, 2));
  });
});
