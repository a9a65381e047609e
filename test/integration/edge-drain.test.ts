/**
 * Edges that are stopped one after the other while 320 clients follow rooms in which revisions go on: real processes on a
 * real nats-server, as a rolling deploy does it. Everything that clients are given is held against the log.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Checker } from '../load/checker.js';
import { FleetClient } from '../load/fleet-client.js';
import { readHead, readLog } from '../load/log-copy.js';
import { Publisher } from '../load/publisher.js';
import { Cluster, type ServiceProcess } from '../support/cluster.js';
import { Random, testSeed } from '../support/random.js';
import { handshake, RawClient } from '../support/raw-client.js';
import { SseClient } from '../support/sse-client.js';
import { waitFor } from '../support/wait-for.js';

const CLIENTS = 320;
const SLEEPERS = 6;
const ROOMS = ['doc-1', 'doc-2', 'räume/три', 'doc-4'] as const;
const WAIT_MS = 1_500;
const DRAIN_MS = 5_000;
const CLOSE_MS = 2_000;
/** For what is no drain, on a busy machine. */
const SLACK_MS = 6_000;
const PARTS = 5;

const seed = testSeed();
const random = new Random(seed);
const checker = new Checker();
const clients: FleetClient[] = [];
let cluster: Cluster;
let producer: ServiceProcess;
let revision: ServiceProcess;
let edges: [ServiceProcess, ServiceProcess];
/** When clients were told to connect again. */
let restarts: { client: number; atMs: number }[] = [];

beforeAll(async () => {
  cluster = await Cluster.create();
  producer = await cluster.add('producer', 'producer');
  revision = await cluster.add('revision', 'revision');
  const times = ['--edge-drain-wait-ms', `${WAIT_MS}`, '--edge-drain-ms', `${DRAIN_MS}`];
  const flags = [...times, '--edge-close-timeout-ms', `${CLOSE_MS}`];
  edges = [await cluster.add('edge', 'edge-1', flags), await cluster.add('edge', 'edge-2', flags)];
  await cluster.ready();
});

afterAll(async () => {
  for (const client of clients) client.stop();
  await cluster.dispose();
});

function addClient(index: number): void {
  const first = ROOMS[index % ROOMS.length] ?? ROOMS[0];
  const rooms = index % 5 === 0 ? [...new Set([first, 'doc-1'])] : [first];
  const client = new FleetClient({
    name: `client-${index}`,
    edges: () => [edges[0].url, edges[1].url],
    rooms,
    checker,
    random,
    onClosed: (code) => {
      if (code === 1012) restarts.push({ client: index, atMs: performance.now() });
    },
  });
  clients.push(client);
  client.start();
}

const statusOf = async (url: string) => (await fetch(url)).status;

/** What load balancers and their clients see before the port is closed. */
async function isRefusing(edge: ServiceProcess): Promise<void> {
  await waitFor(async () => (await statusOf(`${edge.url}/readyz`)) === 503, { what: 'it is not ready any more' });
  expect(await statusOf(`${edge.url}/healthz`)).toBe(200);
  const refused = await RawClient.open(edge.port, handshake());
  const { status, head, body } = await refused.answer();
  expect([status, JSON.parse(body)]).toEqual([
    503,
    { error: { code: 'shutting_down', message: expect.anything() as string } },
  ]);
  expect(head).toMatch(/^Retry-After: 1$/imu);
  expect(head).toMatch(/^Connection: close$/imu);
  await waitFor(() => refused.ended, { what: 'the connection of who was refused ends' });
  const stream = await SseClient.open(`${edge.url}/v1/sse?room=doc-1`);
  expect([await stream.untilEnded(), stream.status, stream.retries.length]).toEqual(['whole', 200, 1]);
}

/** Stops the edge; the clients that it closed, and when, from the begin of the stop on. */
async function drained(edge: ServiceProcess): Promise<readonly number[]> {
  restarts = [];
  const begun = performance.now();
  const stopping = edge.stop();
  await isRefusing(edge);
  expect(restarts.length).toBe(0);
  expect(await stopping).toBe(0);
  const tookMs = performance.now() - begun;
  expect(tookMs).toBeGreaterThan(WAIT_MS);
  expect(tookMs).toBeLessThan(WAIT_MS + DRAIN_MS + CLOSE_MS + SLACK_MS);
  await expect(fetch(`${edge.url}/healthz`)).rejects.toThrow('fetch failed');
  return restarts.map(({ atMs }) => atMs - begun);
}

test(`[Q2] a rolling restart loses and repeats nothing, and closes are spread over the drain's time (seed ${seed})`, async () => {
  for (let i = 0; i < CLIENTS; i += 1) addClient(i);
  await waitFor(() => clients.every((client) => client.joined), { timeoutMs: 30_000, what: 'all clients joined' });
  const publisher = new Publisher({
    producers: () => [producer.url],
    rooms: ROOMS,
    checker,
    random,
    lanes: 2,
    restMs: 20,
  });
  publisher.start();
  for (const edge of edges) {
    // Some do not read when they are closed: they hold up nobody.
    const sleepers = clients.slice(0, SLEEPERS);
    for (const client of sleepers) client.sleep();
    const closes = await drained(edge);
    for (const client of sleepers) client.wake();
    const inPart = (part: number) =>
      closes.filter((atMs) => Math.floor(((atMs - WAIT_MS) / DRAIN_MS) * PARTS) === part).length;
    const parts = Array.from({ length: PARTS }, (_, part) => inPart(part));
    console.log(`${closes.length} closed with 1012; in fifths of the drain's time: ${parts.join(', ')}`);
    expect(closes.length).toBeGreaterThan(CLIENTS / 4);
    // A fifth each where the machine is quiet.
    for (const part of parts) expect(part / closes.length).toBeLessThan(0.4);
    expect(parts.filter((part) => part > 0).length).toBeGreaterThanOrEqual(PARTS - 1);
    edge.start();
    await edge.ready();
    await waitFor(() => clients.every((client) => client.connected), { timeoutMs: 30_000, what: 'all are back' });
  }
  await publisher.stop();
  const heads = new Map<string, number>();
  for (const room of ROOMS) heads.set(room, (await readHead(revision.url, room)).rev);
  await waitFor(() => clients.every((client) => client.isAt(heads)), {
    timeoutMs: 60_000,
    what: 'all are at the heads',
  });
  for (const room of ROOMS) checker.verify(room, await readLog(revision.url, room));
  expect([checker.problems, publisher.doubled]).toEqual([[], []]);
  expect(clients.flatMap((client) => client.refusals)).toEqual([]);
  expect(checker.received).toBeGreaterThan(CLIENTS * 50);
});
