/** `revcast edge --workers 2`: real processes that share a port, one of which dies, and what is told when they cannot. */
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Checker } from '../load/checker.js';
import { FleetClient } from '../load/fleet-client.js';
import { readHead, readLog } from '../load/log-copy.js';
import { Publisher } from '../load/publisher.js';
import { descendantsOf, isAlive, KeptProcess } from '../support/built-program.js';
import { Cluster, type ServiceProcess } from '../support/cluster.js';
import { freePort } from '../support/free-port.js';
import { PlainClient } from '../support/plain-client.js';
import { Random, testSeed } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

const CLIENTS = 60;

const seed = testSeed();

let cluster: Cluster;
let producer: ServiceProcess;
let revision: ServiceProcess;
let parent: KeptProcess | undefined;
let port: number;
let clients: PlainClient[] = [];

beforeAll(async () => {
  cluster = await Cluster.create();
  producer = await cluster.add('producer', 'producer');
  revision = await cluster.add('revision', 'revision');
  await cluster.ready();
});

afterEach(async () => {
  for (const client of clients) client.close();
  clients = [];
  await parent?.stop();
});

afterAll(async () => {
  await cluster.dispose();
});

const address = () => [`http://127.0.0.1:${port}`] as const;

async function startWorkers(...flags: string[]): Promise<KeptProcess> {
  port = await freePort();
  const words = ['edge', '--nats', cluster.nats.url, '--edge-port', String(port), '--workers', '2', ...flags];
  parent = KeptProcess.revcast(words);
  await waitFor(() => listeners() === 2, { timeoutMs: 30_000, what: `both workers listen: ${parent.stderr}` });
  await waitFor(isReady, { timeoutMs: 30_000, what: 'they are ready' });
  return parent;
}

/** Workers that have said that they listen. */
function listeners(): number {
  return (parent?.stderr.match(/"worker":\d+,[^\n]*edge: listening/gu) ?? []).length;
}

async function isReady(): Promise<boolean> {
  const answers = await Promise.allSettled(Array.from({ length: 6 }, () => fetch(`http://127.0.0.1:${port}/readyz`)));
  return answers.every((answer) => answer.status === 'fulfilled' && answer.value.status === 200);
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const pidsOf = ({ pid }: KeptProcess) => descendantsOf(pid).map((worker) => worker.pid);

function socketsOf(pid: number): number {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // Closed meanwhile.
      return '';
    }
  });
  return links.filter((link) => link.startsWith('socket:')).length;
}

async function connectAll(): Promise<void> {
  clients = await Promise.all(
    Array.from({ length: CLIENTS }, () => PlainClient.connect(`ws://127.0.0.1:${port}/v1/ws`)),
  );
  for (const client of clients) expect(await client.subscribe('a')).toMatchObject({ subscribed: true });
}

async function publish(data: unknown): Promise<number> {
  const response = await fetch(`${producer.url}/v1/rooms/a/revisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data }),
  });
  return ((await response.json()) as { rev: number }).rev;
}

test('[Q7] connections come to all workers; one that is killed is started again, and the others go on', async () => {
  const running = await startWorkers();
  const pids = pidsOf(running);
  expect(pids).toHaveLength(2);
  const before = pids.map(socketsOf);
  await connectAll();
  const shares = pids.map((pid, index) => socketsOf(pid) - (before[index] ?? 0));
  expect(shares.reduce((sum, share) => sum + share, 0)).toBeGreaterThanOrEqual(CLIENTS);
  // By the kernel's hash of addresses: half each, give or take.
  for (const share of shares) expect(share).toBeGreaterThan(CLIENTS / 6);
  const [victim = 0] = pids;
  process.kill(victim, 'SIGKILL');
  const isLost = () => clients.filter(({ closed }) => closed !== undefined).length;
  await waitFor(() => isLost() >= (shares[0] ?? 0) - 5, { what: 'its clients are cut' });
  const rev = await publish(1);
  const staying = clients.filter(({ closed }) => closed === undefined);
  expect(staying.length).toBeGreaterThan(CLIENTS / 6);
  for (const client of staying) await client.upTo('a', rev);
  await waitFor(() => listeners() === 3, { timeoutMs: 30_000, what: 'another one listens' });
  expect(running.stderr).toMatch(
    /"worker":\d,"restMs":\d+,"msg":"worker: ended \(signal SIGKILL\); starting it again"/u,
  );
  for (const client of clients) client.close();
  await connectAll();
  running.kill('SIGTERM');
  for (const client of clients) expect((await client.untilClosed()).code).toBe(1012);
  expect(await running.ended).toEqual({ code: 0, signal: null });
  expect([...pids, ...pidsOf(running)].filter(isAlive)).toEqual([]);
});

test(`[Q7] [Q9] a worker that is killed, and a stop of all, lose and repeat nothing (seed ${seed})`, async () => {
  const random = new Random(seed);
  const checker = new Checker();
  let running = await startWorkers('--edge-drain-ms', '2000');
  const rooms = ['doc-1', 'doc-2'] as const;
  const fleet = Array.from({ length: CLIENTS }, (_, index) => {
    return new FleetClient({
      name: `client-${index}`,
      edges: address,
      rooms: [rooms[index % 2] ?? 'doc-1'],
      checker,
      random,
    });
  });
  for (const client of fleet) client.start();
  await waitFor(() => fleet.every(({ joined }) => joined), { timeoutMs: 30_000, what: 'all have joined' });
  const publisher = new Publisher({
    producers: () => [producer.url],
    rooms,
    checker,
    random,
    lanes: 2,
    restMs: 10,
  });
  publisher.start();
  killIfThere(pidsOf(running)[0] ?? 0);
  await waitFor(() => listeners() === 3, { timeoutMs: 30_000, what: 'another one listens' });
  await waitFor(() => fleet.every(({ connected }) => connected), { timeoutMs: 30_000, what: 'all are back' });
  running.kill('SIGTERM');
  expect(await running.ended).toEqual({ code: 0, signal: null });
  running = await startWorkers();
  await publisher.stop();
  const heads = new Map<string, number>();
  for (const room of rooms) heads.set(room, (await readHead(revision.url, room)).rev);
  await waitFor(() => fleet.every((client) => client.isAt(heads)), { timeoutMs: 30_000, what: 'all are at the heads' });
  for (const client of fleet) client.stop();
  for (const room of rooms) checker.verify(room, await readLog(revision.url, room));
  expect([checker.problems, publisher.doubled]).toEqual([[], []]);
  expect(Math.min(...fleet.map(({ reconnects }) => reconnects))).toBeGreaterThanOrEqual(1);
});

test('[Q8] workers that die again and again at their start end the program, with a clear message', async () => {
  const running = await startWorkers();
  const [first = 0] = pidsOf(running);
  const others = new Set(pidsOf(running).filter((pid) => pid !== first));
  const killing = setInterval(() => {
    for (const pid of pidsOf(running)) if (!others.has(pid)) killIfThere(pid);
  }, 50);
  try {
    expect(await running.ended).toEqual({ code: 1, signal: null });
  } finally {
    clearInterval(killing);
  }
  const why =
    /^revcast: worker \d ended 4 times right after its start \(signal SIGKILL\); see what it said\. All workers were stopped$/mu;
  expect(running.stderr).toMatch(why);
  expect([...others].filter(isAlive)).toEqual([]);
});

test('[Q8] a port that somebody has, though it may be shared, is told with its flag', async () => {
  await startWorkers();
  const second = KeptProcess.revcast([
    'edge',
    '--nats',
    cluster.nats.url,
    '--edge-port',
    String(port),
    '--workers',
    '2',
  ]);
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.stderr).toBe(
    `revcast: the edge's port ${port} on 127.0.0.1 is in use: stop what uses it, or choose another with --edge-port\n`,
  );
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const taken = String((server.address() as { port: number }).port);
  const third = KeptProcess.revcast(['edge', '--nats', cluster.nats.url, '--workers', '3'], { EDGE_PORT: taken });
  expect((await third.ended).code).toBe(1);
  expect(third.stderr).toContain(`the edge's port ${taken} on 127.0.0.1 is in use`);
  server.close();
});

test('[Q9] workers whose parent is killed close their clients properly, and end', async () => {
  const running = await startWorkers('--edge-drain-ms', '500');
  const pids = pidsOf(running);
  await connectAll();
  running.kill('SIGKILL');
  for (const client of clients) expect((await client.untilClosed()).code).toBe(1012);
  await waitFor(() => pids.every((pid) => !isAlive(pid)), { timeoutMs: 30_000, what: 'they have ended' });
});

test('[Q9] a second signal ends all at once', async () => {
  const running = await startWorkers('--edge-drain-wait-ms', '10000', '--edge-drain-ms', '5000');
  const pids = pidsOf(running);
  const begun = performance.now();
  running.kill('SIGTERM');
  await running.says(/stopping all workers/u, 'stderr');
  await new Promise((resolve) => setTimeout(resolve, 400));
  running.kill('SIGTERM');
  expect((await running.ended).code).toBe(143);
  await waitFor(() => pids.every((pid) => !isAlive(pid)), { what: 'they have ended' });
  expect(performance.now() - begun).toBeLessThan(8_000);
});

test(
  '[Q11] a worker that stands still is killed and started again; the other goes on',
  { timeout: 90_000 },
  async () => {
    const running = await startWorkers();
    const pids = pidsOf(running);
    const [victim = 0] = pids;
    process.kill(victim, 'SIGSTOP');
    await waitFor(() => running.stderr.includes('a worker hangs, and is killed'), {
      timeoutMs: 60_000,
      what: 'it is noticed',
    });
    await waitFor(() => listeners() === 3, { timeoutMs: 30_000, what: 'another one listens' });
    expect(isAlive(victim)).toBe(false);
    expect(pidsOf(running).filter((pid) => pids.includes(pid))).toHaveLength(1);
    await waitFor(isReady, { timeoutMs: 30_000, what: 'both answer' });
  },
);
