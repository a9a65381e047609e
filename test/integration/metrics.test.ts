/** /metrics of real processes: each service, and an edge's workers. */
import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KeptProcess } from '../support/built-program.js';
import { Cluster, type ServiceKind, type ServiceProcess } from '../support/cluster.js';
import { freePort } from '../support/free-port.js';
import { PlainClient } from '../support/plain-client.js';
import { waitFor } from '../support/wait-for.js';

const CLIENTS = 12;
const REVISIONS = 5;
const KINDS: readonly ServiceKind[] = ['producer', 'revision', 'edge'];

let cluster: Cluster;
const services = new Map<ServiceKind, ServiceProcess>();
const ports = new Map<ServiceKind, number>();

beforeAll(async () => {
  cluster = await Cluster.create();
  for (const kind of KINDS) {
    const port = await freePort();
    ports.set(kind, port);
    services.set(kind, await cluster.add(kind, kind, { args: ['--metrics-port', String(port)] }));
  }
  await cluster.ready();
});

afterAll(async () => {
  await cluster.dispose();
});

const urlOf = (kind: ServiceKind) => services.get(kind)?.url ?? '';

async function measured(port: number): Promise<Map<string, number>> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=0\.0\.4/u),
  ]);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const of = (kind: ServiceKind) => measured(ports.get(kind) ?? 0);

async function publish(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const response = await fetch(`${urlOf('producer')}/v1/rooms/a/revisions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ data: i }),
    });
    expect(response.ok).toBe(true);
  }
}

async function connectAll(url: string): Promise<PlainClient[]> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => PlainClient.connect(url)));
  for (const client of clients) await client.subscribe('a');
  return clients;
}

test('[O1] [O4] every service tells what it did, at an address of its own, and nothing where clients are', async () => {
  const clients = await connectAll(`${urlOf('edge').replace('http', 'ws')}/v1/ws`);
  await publish(REVISIONS);
  await waitFor(async () => (await of('edge')).get('revcast_edge_deliveries_total') === CLIENTS * REVISIONS, {
    what: 'all deliveries are counted',
  });
  const edge = await of('edge');
  expect(edge.get('revcast_edge_sockets')).toBe(CLIENTS);
  expect(edge.get('revcast_edge_rooms')).toBe(1);
  expect(edge.get('revcast_edge_sockets_opened_total')).toBe(CLIENTS);
  expect(edge.get('revcast_log_ready')).toBe(1);
  const producer = await of('producer');
  expect(producer.get('revcast_producer_revisions_total')).toBe(REVISIONS);
  // From memory, or from the log where that was not read to its end yet.
  const heads = ['revcast_revision_heads_confirmed_total', 'revcast_revision_heads_asked_total'] as const;
  const revision = await of('revision');
  expect(heads.reduce((sum, name) => sum + (revision.get(name) ?? 0), 0)).toBeGreaterThan(0);
  for (const kind of KINDS) {
    const all = await of(kind);
    expect(all.get('revcast_nats_connected')).toBe(1);
    expect(all.get('process_cpu_seconds_total')).toBeGreaterThan(0);
    expect((await fetch(`${urlOf(kind)}/metrics`)).status).toBe(404);
  }
  for (const client of clients) client.close();
  await waitFor(async () => (await of('edge')).get('revcast_edge_sockets') === 0, {
    what: 'sockets that closed are gone',
  });
});

test('[O1] without NATS it is told that there is no connection', async () => {
  const port = await freePort();
  const nowhere = `nats://127.0.0.1:${await freePort()}`;
  const words = ['revision', '--nats', nowhere, '--revision-port', '0', '--metrics-port', String(port)];
  const process = KeptProcess.revcast(words);
  await waitFor(() => process.stderr.includes('/metrics'), { what: 'it listens' });
  const all = await measured(port);
  expect([all.get('revcast_nats_connected'), all.get('revcast_log_ready')]).toEqual([0, 0]);
  await process.stop();
});

test('[O1] a port in use is told with its flag', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  for (const workers of ['1', '2']) {
    const words = ['edge', '--nats', cluster.nats.url, '--edge-port', '0', '--workers', workers];
    const process = KeptProcess.revcast([...words, '--metrics-port', String(port)]);
    expect((await process.ended).code).toBe(1);
    expect(process.stderr).toContain(`the metrics server's port ${port} on 127.0.0.1 is in use`);
    expect(process.stderr).toContain('--metrics-port');
  }
  taken.close();
});

test('[O3] workers are told together at their parent’s address', async () => {
  const port = await freePort();
  const edgePort = await freePort();
  const words = ['edge', '--nats', cluster.nats.url, '--edge-port', String(edgePort), '--workers', '2'];
  const parent = KeptProcess.revcast([...words, '--metrics-port', String(port)]);
  const sockets = async () => {
    const all = await measured(port);
    return [1, 2].map((worker) => all.get(`revcast_edge_sockets{worker="${worker}"}`) ?? Number.NaN);
  };
  await waitFor(async () => parent.stderr.includes('metrics: listening') && (await sockets()).every(Number.isFinite), {
    timeoutMs: 30_000,
    what: `both workers answer: ${parent.stderr}`,
  });
  await waitFor(async () => (await fetch(`http://127.0.0.1:${edgePort}/readyz`)).ok, { what: 'they are ready' });
  const clients = await connectAll(`ws://127.0.0.1:${edgePort}/v1/ws`);
  const [first = 0, second = 0] = await sockets();
  expect(first + second).toBe(CLIENTS);
  for (const client of clients) client.close();
  await parent.stop();
});
