/**
 * From a pad to its viewers, everything of it real but the pad server, a stand-in: producer, revision services and edges
 * of the built program on a real nats-server; viewers are etherpad-cli-client, which breaks at a gap, and socket.io-client
 * as Etherpad's page uses it. Edges, producer, revision service and NATS are killed and started again while the pad is written.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Cluster, type ServiceProcess } from '../support/cluster.js';
import { EtherpadStandIn } from '../support/etherpad/stand-in.js';
import { PadPage, PadViewer } from '../support/etherpad/viewers.js';
import { Random, testSeed } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

const SEED = testSeed();
const WAIT = { timeout: 60_000, interval: 100 };
const EDIT_EVERY_MS = 30;
const VIEWERS = 200;
const PAGES = 60;
const LATE = 40;

let pads: EtherpadStandIn;
let cluster: Cluster;
let producer: ServiceProcess;
let revisions: ServiceProcess;
let edges: ServiceProcess[];
let writing: NodeJS.Timeout | undefined;
let viewers: PadViewer[] = [];
let pages: PadPage[] = [];

beforeEach(async () => {
  pads = await EtherpadStandIn.start();
  cluster = await Cluster.create();
  const source = ['--etherpad-url', pads.url, '--etherpad-pads', 'notes', '--etherpad-snapshot-revisions', '50'];
  producer = await cluster.add('producer', 'producer', source);
  revisions = await cluster.add('revision', 'revision');
  const rooms = ['--edge-etherpad-rooms', 'pad:{pad}'];
  edges = [await cluster.add('edge', 'first', rooms), await cluster.add('edge', 'second', rooms)];
  await cluster.ready();
});

afterEach(async () => {
  clearInterval(writing);
  for (const each of [...viewers, ...pages]) each.close();
  viewers = [];
  pages = [];
  await cluster.dispose();
  await pads.stop();
});

function edgeUrl(n: number): string {
  return edges[n % edges.length]?.url ?? '';
}

function head(): number {
  return pads.pad('notes').head;
}

/** Everyone has come to a revision. */
async function untilAllAt(rev: number): Promise<void> {
  await waitFor(() => [...viewers, ...pages].every((each) => each.rev >= rev), {
    timeoutMs: WAIT.timeout,
    what: `all are at ${rev}`,
  });
}

it(`[K1] [K3] a pad that is written, its viewers over two edges that are killed by turns, all with the pad at the end (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const edit = () => pads.edit('notes', (pad) => pad.editAtRandom(random));
  for (let n = 0; n < 30; n += 1) edit();
  // A pad is there when its source has begun the room.
  await vi.waitFor(async () => expect((await fetch(`${edgeUrl(0)}/p/notes`)).status).toBe(200), WAIT);
  viewers = Array.from({ length: VIEWERS }, (_, n) => new PadViewer(edgeUrl(n)));
  pages = Array.from({ length: PAGES }, (_, n) => new PadPage(edgeUrl(n)));
  await untilAllAt(30);
  writing = setInterval(edit, EDIT_EVERY_MS);
  for (const service of [edges[0], producer, edges[1], revisions]) {
    await untilAllAt(head());
    if (service === undefined) throw new Error('there are two edges');
    await service.kill();
    const away = head();
    await waitFor(() => head() >= away + 20, { what: 'edits meanwhile' });
    service.start();
    await service.ready();
  }
  await cluster.nats.kill();
  await cluster.nats.start();
  await untilAllAt(head());
  viewers.push(...Array.from({ length: LATE }, (_, n) => new PadViewer(edgeUrl(n))));
  await untilAllAt(head());
  clearInterval(writing);
  await untilAllAt(head());
  const expected = pads.pad('notes').content;
  for (const each of [...viewers, ...pages]) expect(each.content).toEqual(expected);
  expect(pages.flatMap(({ faults }) => faults)).toEqual([]);
  // Those who keep their text came back without loading it again.
  const told = pages.map((page) => page.told);
  expect(told.every(({ whole, reloads }) => whole === 1 && reloads === 0)).toBe(true);
  const missed = told.reduce((sum, each) => sum + each.missed, 0);
  expect(missed).toBeGreaterThan(PAGES * 10);
  console.log(
    `${viewers.length} viewers and ${PAGES} pages, ${head()} revisions; pages were told ${missed} of them as missed, ` +
      `${told.reduce((sum, each) => sum + each.nothingMissed, 0)} times that they missed none`,
  );
});
