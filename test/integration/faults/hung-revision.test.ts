/**
 * One of two revision services stands still: NATS goes on giving it requests, about every other one, and it answers none. Rooms
 * that nobody follows yet are opened meanwhile, many at once and then steadily, so that each needs answers of its own. Clients
 * here count what a client would just ask for again: nobody is refused anything, not even for now.
 */
import { afterEach, expect, test } from 'vitest';
import { Checker } from '../../load/checker.js';
import { FleetClient } from '../../load/fleet-client.js';
import { readHead, readLog } from '../../load/log-copy.js';
import { Publisher } from '../../load/publisher.js';
import { Cluster, type ServiceProcess } from '../../support/cluster.js';
import { Random, testSeed } from '../../support/random.js';
import { waitFor } from '../../support/wait-for.js';

const STEADY = 20;
const AT_ONCE = 300;
const ROOMS_OF_A_CLIENT = 3;
/** One after the other, at 30 a second. */
const ONE_BY_ONE = 150;
const GAP_MS = 33;
const AFTERWARDS = 50;
const FILLED_AT_ONCE = 20;
const SERVED_MS = 60_000;

const ROOMS = roomNames(STEADY + AT_ONCE + ONE_BY_ONE + AFTERWARDS);

const seed = testSeed();
const random = new Random(seed);
const checker = new Checker();
const clients: FleetClient[] = [];
const unopened: string[] = [...ROOMS];
let cluster: Cluster;

afterEach(async () => {
  for (const client of clients) client.stop();
  await cluster.dispose();
});

test(`[R10] ${AT_ONCE} rooms opened at once, and more at 30 a second, are all served while one of two revision services hangs (seed ${seed})`, async () => {
  cluster = await Cluster.create();
  const producer = await cluster.add('producer', 'producer');
  const hung = await cluster.add('revision', 'revision-1');
  const other = await cluster.add('revision', 'revision-2');
  const edge = await cluster.add('edge', 'edge');
  await cluster.ready();
  const publisher = await publishing(producer);
  for (let i = 0; i < STEADY; i += 1) open(edge, 1);
  await served('rooms are open before one hangs');

  hung.pause();
  expect(await answers(hung)).toBe(false);
  const begunAt = performance.now();
  for (let i = 0; i < AT_ONCE; i += ROOMS_OF_A_CLIENT) open(edge, ROOMS_OF_A_CLIENT);
  await served(`${AT_ONCE} rooms that were opened at once are served`);
  const servedMs = performance.now() - begunAt;
  for (let i = 0; i < ONE_BY_ONE; i += 1) {
    open(edge, 1);
    await new Promise((resolve) => setTimeout(resolve, GAP_MS));
  }
  await served('rooms that were opened one by one are served');
  expect(await answers(hung)).toBe(false);
  expect(refusals()).toEqual([]);

  hung.resume();
  await hung.ready();
  for (let i = 0; i < AFTERWARDS; i += 1) open(edge, 1);
  await served('rooms that were opened afterwards are served');
  await publisher.stop();
  await verify(publisher, [other, hung]);
  expect(refusals()).toEqual([]);
  for (const client of clients) expect(client.reconnects).toBe(0);
  console.info(
    `hung revision service: ${AT_ONCE} rooms served in ${servedMs.toFixed(0)} ms, ${checker.received} deliveries`,
  );
});

/** All rooms have revisions, and more come. */
async function publishing({ url }: ServiceProcess): Promise<Publisher> {
  const publisher = new Publisher({
    producers: () => [url],
    rooms: ROOMS,
    checker,
    random: new Random(seed + 1),
    lanes: 4,
    restMs: 50,
  });
  const some = () => Array.from({ length: random.whole(1, 5) }, () => publisher.data());
  for (let i = 0; i < ROOMS.length; i += FILLED_AT_ONCE) {
    await Promise.all(ROOMS.slice(i, i + FILLED_AT_ONCE).map((room) => publisher.publish(room, some())));
  }
  publisher.start();
  return publisher;
}

/** A client opens so many rooms that nobody has opened, from the first revision (which takes a page) or from the head. */
function open({ url }: ServiceProcess, rooms: number): void {
  const client = new FleetClient({
    name: `client-${clients.length}`,
    edges: () => [url],
    rooms: unopened.splice(0, rooms),
    checker,
    random,
    batch: clients.length % 2 === 0,
    ...(random.chance(0.7) ? { since: () => 0 } : {}),
  });
  clients.push(client);
  client.start();
}

function served(what: string): Promise<void> {
  return waitFor(() => clients.every((client) => client.joined), { timeoutMs: SERVED_MS, what });
}

/** Everybody has what the log has and was acknowledged, and each revision service says the same. */
async function verify(publisher: Publisher, [one, other]: readonly [ServiceProcess, ServiceProcess]): Promise<void> {
  const heads = new Map<string, number>();
  for (const room of ROOMS) heads.set(room, (await readHead(one.url, room)).rev);
  await waitFor(() => clients.every((client) => client.isAt(heads)), {
    timeoutMs: SERVED_MS,
    what: 'all clients are at the heads',
  });
  for (const room of ROOMS) {
    const log = await readLog(one.url, room);
    checker.verify(room, log);
    expect(await readLog(other.url, room)).toEqual(log);
    const stored = new Map(log.revisions.map(({ rev, data }): [number, string] => [rev, data]));
    expect(stored).toEqual(publisher.placesOf(room, log.epoch));
  }
  expect(checker.problems).toEqual([]);
  expect(publisher.doubled).toEqual([]);
  expect(Object.fromEntries(publisher.refusals)).toEqual({});
}

/** Whatever a client was refused, also what it only asked again for. */
function refusals(): string[] {
  return clients.flatMap(({ retries, refusals: told }) => retries.concat(told.map(({ code }) => code)));
}

function roomNames(count: number): [string, ...string[]] {
  return ['room-0', ...Array.from({ length: count - 1 }, (_, i) => `room-${i + 1}`)];
}

async function answers({ url }: ServiceProcess): Promise<boolean> {
  return fetch(`${url}/healthz`, { signal: AbortSignal.timeout(500) }).then(
    () => true,
    () => false,
  );
}
