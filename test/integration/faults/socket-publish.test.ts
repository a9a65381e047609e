/** Clients publish through two edges to two producers, which are killed, hung and stopped meanwhile, and NATS is too. */
import { afterEach, expect, test } from 'vitest';
import { readLog } from '../../load/log-copy.js';
import { Cluster, type ServiceProcess } from '../../support/cluster.js';
import { revsFrom } from '../../support/feed-parts.js';
import { PlainClient } from '../../support/plain-client.js';
import { Random, testSeed } from '../../support/random.js';
import { SocketAuthors } from '../../support/socket-authors.js';
import { waitFor } from '../../support/wait-for.js';

const ROOMS = ['doc-1', 'doc-2', 'doc-3', 'doc-4'] as const;
const AUTHORS_PER_EDGE = 100;
const EDGE_FLAGS = ['--edge-publish-rooms', 'doc-*'];

const seed = testSeed();
const random = new Random(seed);
let cluster: Cluster | undefined;
const readers: PlainClient[] = [];

afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close();
  await cluster?.dispose();
  cluster = undefined;
});

/** What an author wrote, and where it stands. */
interface Written {
  readonly author: string;
  readonly n: number;
  readonly rev: number;
}

interface Services {
  readonly producers: readonly [ServiceProcess, ServiceProcess];
  readonly revision: ServiceProcess;
  readonly edges: readonly [ServiceProcess, ServiceProcess];
}

async function startCluster(): Promise<{ running: Cluster; services: Services }> {
  const running = await Cluster.create();
  cluster = running;
  const services: Services = {
    producers: [await running.add('producer', 'producer-1'), await running.add('producer', 'producer-2')],
    revision: await running.add('revision', 'revision-1'),
    edges: [await running.add('edge', 'edge-1', EDGE_FLAGS), await running.add('edge', 'edge-2', EDGE_FLAGS)],
  };
  await running.ready();
  return { running, services };
}

function wsUrl({ url }: ServiceProcess): string {
  return `${url.replace('http', 'ws')}/v1/ws`;
}

function pause(minMs: number, maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, random.whole(minMs, maxMs));
  });
}

/** In the time of which publications of every author are under way. */
async function disturb({ running, services: { producers } }: { running: Cluster; services: Services }): Promise<void> {
  const victims = random.chance(0.5) ? producers : ([producers[1], producers[0]] as const);
  for (const producer of victims) {
    await pause(300, 800);
    await producer.kill();
    await pause(200, 1_000);
    producer.start();
    await producer.ready();
  }
  await pause(200, 500);
  await running.nats.kill();
  await pause(200, 1_000);
  await running.nats.start();
  await running.ready();
  victims[0].pause();
  await pause(1_000, 2_500);
  victims[0].resume();
  await pause(200, 500);
  await victims[1].stop();
  await pause(200, 500);
  // One producer is hung and the other one killed: nobody answers for a while.
  victims[0].pause();
  victims[1].start();
  await victims[1].ready();
  await victims[1].kill();
  await pause(300, 800);
  victims[0].resume();
  victims[1].start();
  await running.ready();
}

test(`[U6] 200 clients publish while producers and NATS are killed: each is answered, and what is acknowledged is in the log once (seed ${seed})`, async () => {
  const started = await startCluster();
  const { edges, revision } = started.services;
  const authors = new SocketAuthors(random, ROOMS);
  for (const edge of edges) {
    const reader = await PlainClient.connect(wsUrl(edge));
    readers.push(reader);
    for (const room of ROOMS) await reader.subscribe(room, { since: 0 });
  }
  for (const edge of edges) await authors.start(wsUrl(edge), AUTHORS_PER_EDGE);
  await disturb(started);
  await pause(500, 500);
  await authors.stop();

  const { acknowledged } = authors;
  expect(acknowledged.length).toBeGreaterThan(4 * 2 * AUTHORS_PER_EDGE);
  for (const room of ROOMS) {
    const { revisions } = await readLog(revision.url, room);
    const stored = revisions.map(({ rev, data }) => withRev(JSON.parse(data), rev));
    // Once: also what was told to be open, or not stored, and was then asked for again.
    expect(new Set(stored.map(({ author, n }) => `${author} ${n}`)).size).toBe(stored.length);
    const mine = acknowledged.filter(({ author }) => authors.roomOf(author) === room);
    expect(byRev(stored)).toEqual(byRev(mine));
    for (const author of new Set(mine.map((each) => each.author))) {
      const numbers = stored.filter((each) => each.author === author).map(({ n }) => n);
      expect(numbers).toEqual(revsFrom(1, numbers.length));
    }
    for (const reader of readers) {
      await waitFor(() => reader.revisions(room).length >= stored.length, {
        timeoutMs: 30_000,
        what: `all of ${room}`,
      });
      expect(reader.revisions(room).map(({ rev = 0, data }) => withRev(data, rev))).toEqual(stored);
    }
  }
}, 120_000);

function withRev(data: unknown, rev: number): Written {
  const { author, n } = data as Written;
  return { author, n, rev };
}

function byRev<T extends { readonly rev: number }>(items: readonly T[]): T[] {
  return items.toSorted((one, other) => one.rev - other.rev);
}
