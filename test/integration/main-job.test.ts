/**
 * The main job on real processes: nats-server with JetStream on disk, two producers, a revision service, two edges, a
 * real Ethereum node, 200 clients over several rooms on both edges, and everything killed once on the way.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Checker } from '../load/checker.js';
import { FleetClient } from '../load/fleet-client.js';
import { readHead, readLog } from '../load/log-copy.js';
import { Anvil } from '../support/anvil.js';
import { Cluster, type ServiceProcess } from '../support/cluster.js';
import { Random, testSeed } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

const CLIENTS = 200;
const REVISIONS = 10_000;
const ROOMS = ['doc-1', 'doc-2', 'räume/три', 'doc-4'] as const;
const BLOCKS = 'eth';
/** Appends under way at a time, over both producers. */
const CONCURRENT = 24;

const seed = testSeed();
const random = new Random(seed);
let cluster: Cluster;
let anvil: Anvil;
let producers: [ServiceProcess, ServiceProcess];
let revision: ServiceProcess;
let edges: [ServiceProcess, ServiceProcess];
const clients: FleetClient[] = [];

beforeAll(async () => {
  anvil = await Anvil.start({ blockTimeSeconds: 1 });
  cluster = await Cluster.create();
  producers = [
    await cluster.add('producer', 'producer-1', ['--ethereum-url', anvil.url]),
    await cluster.add('producer', 'producer-2'),
  ];
  revision = await cluster.add('revision', 'revision');
  edges = [await cluster.add('edge', 'edge-1'), await cluster.add('edge', 'edge-2')];
  await cluster.ready();
});

afterAll(async () => {
  for (const client of clients) client.stop();
  await anvil.stop();
  await cluster.dispose();
});

test(`[D1] every client sees every revision once, in order, byte for byte, whatever is killed (seed ${seed})`, async () => {
  const checker = new Checker();
  for (let i = 0; i < CLIENTS; i += 1) {
    const rooms = [
      ROOMS[i % ROOMS.length] ?? ROOMS[0],
      ...(i % 3 === 0 ? [BLOCKS] : []),
      ...(i % 5 === 0 ? ['doc-1'] : []),
    ];
    const client = new FleetClient({
      name: `client-${i}`,
      edges: () => [edges[0].url, edges[1].url],
      rooms: [...new Set(rooms)],
      checker,
      random,
    });
    clients.push(client);
    client.start();
  }
  await waitFor(() => clients.every((client) => client.joined), { timeoutMs: 30_000, what: 'all clients joined' });

  let acknowledged = 0;
  const publishing = publishAll(() => {
    acknowledged += 1;
  });
  const faults: [number, ServiceProcess | Cluster['nats']][] = [
    [0.2, edges[0]],
    [0.4, revision],
    [0.6, cluster.nats],
    [0.8, edges[1]],
  ];
  for (const [part, victim] of faults) {
    await waitFor(() => acknowledged >= part * REVISIONS, {
      timeoutMs: 60_000,
      what: `${part} of the revisions published`,
    });
    await victim.kill();
    await victim.start();
  }
  await publishing;

  await waitFor(async () => (await readHead(revision.url, BLOCKS)).rev >= 10, {
    timeoutMs: 30_000,
    what: 'blocks were published',
  });
  await anvil.stop();
  const heads = new Map<string, number>();
  for (const room of [...ROOMS, BLOCKS]) heads.set(room, (await readHead(revision.url, room)).rev);
  expect([...ROOMS].reduce((sum, room) => sum + (heads.get(room) ?? 0), 0)).toBe(REVISIONS);

  await waitFor(() => clients.every((client) => client.isAt(heads)), {
    timeoutMs: 60_000,
    what: 'all clients are at the heads',
  });
  for (const [index, room] of ROOMS.entries()) {
    const log = await readLog(revision.url, room);
    checker.verify(room, log);
    // What the log has is what was published, each once, byte for byte.
    const published = Array.from({ length: REVISIONS }, (_, n) => n).filter((n) => n % ROOMS.length === index);
    expect(log.revisions.map(({ data }) => data).sort()).toEqual(published.map(dataOf).sort());
  }
  checker.verify(BLOCKS, await readLog(revision.url, BLOCKS));
  expect(checker.problems).toEqual([]);
  expect(clients.flatMap((client) => client.refusals)).toEqual([]);
  expect(clients.reduce((sum, client) => sum + client.reconnects, 0)).toBeGreaterThan(0);
  expect(checker.received).toBeGreaterThan(REVISIONS);
});

/** Publishes REVISIONS revisions over both producers, each with a key, each until it is acknowledged. */
async function publishAll(onAcknowledged: () => void): Promise<void> {
  let next = 0;
  const publisher = async () => {
    while (next < REVISIONS) {
      const n = next;
      next += 1;
      await publish(n);
      onAcknowledged();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, publisher));
}

/** The data of the n-th revision, as text: what no parser would give back as it is written. */
function dataOf(n: number): string {
  return `{"n":${n},"text":"é✓😀 ${'x'.repeat(n % 300)}","big":12345678901234567890.${n}}`;
}

async function publish(n: number): Promise<void> {
  const room = ROOMS[n % ROOMS.length] ?? ROOMS[0];
  const body = `{ "data": ${dataOf(n)}, "author": "a${n % 7}" }`;
  for (let attempt = 0; ; attempt += 1) {
    const producer = producers[(n + attempt) % 2] ?? producers[0];
    const status = await post(`${producer.url}/v1/rooms/${encodeURIComponent(room)}/revisions`, body, `key-${n}`);
    if (status === 201) return;
    if (status !== 503 && status !== undefined) throw new Error(`publish was answered ${status}`);
  }
}

/** The status; undefined when nothing answered. */
async function post(url: string, body: string, key: string): Promise<number | undefined> {
  try {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const response = await fetch(url, { method: 'POST', headers, body });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return undefined;
  }
}
