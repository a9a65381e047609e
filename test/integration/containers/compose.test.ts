/** The cluster of deploy/compose.yaml, as `make cluster` starts it: clients come through its load balancer. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { Checker } from '../../load/checker.js';
import { FleetClient } from '../../load/fleet-client.js';
import { Publisher } from '../../load/publisher.js';
import { ComposeProject } from '../../support/containers/compose.js';
import { sweep } from '../../support/containers/engine.js';
import { freePort } from '../../support/free-port.js';
import { Random, testSeed } from '../../support/random.js';
import { waitFor } from '../../support/wait-for.js';

const READY_MS = 90_000;
const CLIENTS = 60;
const ROOM = 'doc';

/** Whom the Prometheus of Compose's cluster asks. */
async function scrapeTargets(): Promise<readonly string[]> {
  const file = parse(await readFile('deploy/compose/prometheus.yml', 'utf8')) as {
    scrape_configs: { static_configs: { targets: string[] }[] }[];
  };
  const targets = file.scrape_configs.flatMap((job) => job.static_configs.flatMap((config) => config.targets));
  expect(targets).toHaveLength(5);
  return targets;
}

const seed = testSeed();
const ports = { clients: 0, producer: 0 };
let project: ComposeProject;
const clients: FleetClient[] = [];

beforeAll(async () => {
  await sweep();
  ports.clients = await freePort();
  ports.producer = await freePort();
  project = new ComposeProject({
    REVCAST_PORT: String(ports.clients),
    REVCAST_PRODUCER_PORT: String(ports.producer),
  });
});

afterAll(async () => {
  for (const client of clients) client.stop();
  await project.dispose();
});

test(`[I5] Compose’s cluster serves clients through its balancer, and they lose nothing while an edge is stopped (seed ${seed})`, async ({
  onTestFailed,
}) => {
  onTestFailed(async () => {
    console.info(await project.run('logs', '--tail', '40'));
  });
  await project.run('up', '-d', '--no-build');
  const balancer = `http://127.0.0.1:${ports.clients}`;
  const answering = new Set<string | null>();
  const bothAnswer = async (): Promise<boolean> => {
    const answer = await fetch(`${balancer}/readyz`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) answering.add(answer.headers.get('x-revcast-edge'));
    return answering.size === 2;
  };
  await waitFor(bothAnswer, { timeoutMs: READY_MS, what: 'both edges answer through the balancer' });
  const notSent = ['exec', '-T', 'edge-1', 'cat', '/proc/sys/net/ipv4/tcp_notsent_lowat'];
  expect((await project.run(...notSent)).trim()).toBe('32768');
  // What is measured is there for Prometheus, and not for clients.
  expect((await fetch(`${balancer}/metrics`)).status).toBe(404);
  for (const target of await scrapeTargets()) {
    const script = `fetch('http://${target}/metrics').then((r) => r.text()).then((t) => console.log(t.includes('revcast_')))`;
    expect([target, (await project.run('exec', '-T', 'producer', 'node', '-e', script)).trim()]).toEqual([
      target,
      'true',
    ]);
  }

  const checker = new Checker();
  const random = new Random(seed);
  const publisher = new Publisher({
    producers: () => [`http://127.0.0.1:${ports.producer}`],
    rooms: [ROOM],
    checker,
    random,
    lanes: 2,
    restMs: 50,
  });
  publisher.start();
  for (let i = 0; i < CLIENTS; i += 1) {
    const client = new FleetClient({ name: `client-${i}`, edges: () => [balancer], rooms: [ROOM], checker, random });
    clients.push(client);
    client.start();
  }
  await waitFor(() => clients.every((client) => client.joined), { timeoutMs: 30_000, what: 'all have joined' });
  await project.run('stop', 'edge-1');
  await project.run('start', 'edge-1');
  const goal = publisher.acknowledged + 50;
  await waitFor(() => publisher.acknowledged >= goal, { timeoutMs: 30_000, what: 'publishing goes on' });
  await publisher.stop();

  const [epoch = ''] = publisher.epochsOf(ROOM);
  const head = publisher.placesOf(ROOM, epoch).size;
  const heads = new Map([[ROOM, head]]);
  await waitFor(() => clients.every((client) => client.isAt(heads)), {
    timeoutMs: 30_000,
    what: 'all are at the head',
  });
  expect(checker.problems).toEqual([]);
  // Those of the edge that stopped, about a half, and no others.
  const moved = clients.filter((client) => client.reconnects > 0).length;
  expect(moved).toBeGreaterThan(0);
  expect(moved).toBeLessThan(CLIENTS);
});
