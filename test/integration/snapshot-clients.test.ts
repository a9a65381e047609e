/**
 * Snapshots from end to end, on a real nats-server with two producers, a revision service and two edges: clients who
 * join with the snapshot while others append, rooms that begin with one, and the server killed under both.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startEdge, type Edge } from '../../services/edge/main.js';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { openLiveLog } from '../../services/log/open-log.js';
import { startProducer, type RunningProducer } from '../../services/producer/main.js';
import { startRevision, type RunningRevision } from '../../services/revision/main.js';
import { RevisionClient, revisionClientSettings } from '../../services/revision/rpc-client.js';
import { systemClock as clock } from '../../services/shared/clock.js';
import { silentLogger as logger } from '../../services/shared/logger.js';
import { readSettings } from '../../services/shared/settings.js';
import { defaultEdgeSettings } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';
import { openJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { PlainClient, type Data } from '../support/plain-client.js';
import { testSettings } from '../support/producer-api.js';
import { Random, testSeed } from '../support/random.js';
import { settings as revisionSettings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

const CLIENTS = 200;
const REVISIONS = 600;
const SNAPSHOT_EVERY = 40;

const seed = testSeed();
const random = new Random(seed);
let server: NatsServer;
const logs: TestLog[] = [];
const links: NatsLink[] = [];
const producers: RunningProducer[] = [];
let revision: RunningRevision;
const edges: Edge[] = [];

beforeAll(async () => {
  server = await NatsServer.start();
  for (let i = 0; i < 2; i += 1) {
    const opened = await openJetStreamLog(server.url, { settings: { appendDeadlineMs: 30_000 } });
    logs.push(opened);
    producers.push(await startProducer({ settings: testSettings(), log: opened.log, logger, clock }));
  }
  const store = await openJetStreamLog(server.url);
  logs.push(store);
  revision = await startRevision({
    settings: revisionSettings,
    log: store.log,
    whole: store.log,
    link: store.link,
    logger,
    clock,
  });
  for (let i = 0; i < 2; i += 1) {
    const link = testLink(server.url);
    links.push(link);
    link.start();
    const reader = new RevisionClient({ link, settings: readSettings(revisionClientSettings, {}, {}), clock });
    const live = openLiveLog({ link, logger, clock });
    // A small ring, so that most who join are sent pages.
    const settings = { ...defaultEdgeSettings, ringKeepRevisions: 8, pageRevisions: 16 };
    edges.push(await startEdge({ settings, live, reader, logger, clock }));
  }
});

afterAll(async () => {
  for (const edge of edges) await edge.stop();
  for (const producer of producers) await producer.stop();
  await revision.stop();
  for (const link of links) await link.close();
  for (const log of logs) await log.close();
  await server.dispose();
});

function connect(edge: number): Promise<PlainClient> {
  const perMessageDeflate = random.chance(0.5);
  return PlainClient.connect(`${edges[edge]?.url.replace('http', 'ws')}/v1/ws`, { perMessageDeflate });
}

async function send(method: 'POST' | 'PUT', path: string, body: object): Promise<Record<string, unknown>> {
  const url = producers[random.whole(0, 1)]?.url;
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
  const json = (await response.json()) as Record<string, unknown>;
  return { status: response.status, ...json };
}

/** The content at a revision, which grows with it: a large one, of text that compresses. */
function contentAt(rev: number): object {
  return { upTo: rev, text: `${rev} `.repeat(rev * 20) };
}

function appendTo(room: string, rev: number): Promise<Record<string, unknown>> {
  const body = { data: { n: rev }, expectedRev: rev - 1, key: `key-${rev}` };
  return send('POST', `/v1/rooms/${room}/revisions`, body);
}

/** Subscribes with the snapshot, again while the edge cannot reach the log or the connection was refused. */
async function join(room: string): Promise<{ client: PlainClient; answer: Data & { snapshot?: unknown } }> {
  const client = await connect(random.whole(0, 1));
  for (;;) {
    const answer: Data & { snapshot?: unknown } = await client.subscribe(room, { since: 'snapshot' });
    if (answer.error === undefined) return { client, answer };
    if (!['log_unavailable', 'overloaded'].includes(answer.error.code)) throw new Error(answer.error.code);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test(`[S8] clients who join with the snapshot while appends go on and NATS is killed miss and repeat nothing (seed ${seed})`, async () => {
  const room = 'doc-1';
  let rev = 0;
  let killing: Promise<void> | undefined;
  const joined: { client: PlainClient; answer: Data & { snapshot?: unknown } }[] = [];
  const joining = (async () => {
    for (let i = 0; i < CLIENTS; i += 1) {
      const least = (i / CLIENTS) * REVISIONS;
      await waitFor(() => rev >= least, { timeoutMs: 60_000, what: `${least} revisions` });
      joined.push(await join(room));
    }
  })();
  for (rev = 0; rev < REVISIONS;) {
    expect(await appendTo(room, rev + 1)).toMatchObject({ status: 201, rev: rev + 1 });
    rev += 1;
    if (rev % SNAPSHOT_EVERY === 0) {
      const put = await send('PUT', `/v1/rooms/${room}/snapshot`, { rev, data: contentAt(rev) });
      expect(put).toMatchObject({ status: 200, rev });
    }
    if (rev === REVISIONS / 2) killing = server.kill().then(() => server.start());
  }
  await killing;
  await joining;

  const places = new Set<number>();
  for (const { client, answer } of joined) {
    const begin = answer.rev ?? -1;
    places.add(begin);
    if (begin === 0) expect(answer.snapshot).toBeNull();
    else expect(answer.snapshot).toMatchObject({ rev: begin, data: contentAt(begin) });
    expect(begin % SNAPSHOT_EVERY).toBe(0);
    if (begin < REVISIONS) await client.upTo(room, REVISIONS);
    expect(client.revs(room)).toEqual(revsFrom(begin + 1, REVISIONS));
    expect(client.revisions(room).every((each) => (each.data as { n: number }).n === each.rev)).toBe(true);
    expect(client.codes.filter((code) => !['log_unavailable', 'overloaded'].includes(code))).toEqual([]);
    client.close();
  }
  // A snapshot may be a second or two old, so a quick run sees few of them.
  expect(places.size).toBeGreaterThan(2);
});

test('[S5] a room that begins at 1,000: who waits in the empty room is told to load it, on both edges, and then all see all', async () => {
  const room = 'moved';
  const waiting = await Promise.all([connect(0), connect(1), connect(0), connect(1)]);
  for (const [index, client] of waiting.entries()) {
    expect(await client.subscribe(room, index < 2 ? {} : { since: 0 }, 'first')).toMatchObject({ rev: 0, epoch: '' });
  }

  const data = { text: 'a document that lived elsewhere' };
  const begun = await send('PUT', `/v1/rooms/${room}/snapshot`, { rev: 1_000, data });
  expect(begun).toMatchObject({ status: 200, rev: 1_000 });
  await waitFor(() => waiting.every(({ codes }) => codes.length === 1), { what: 'all were told' });
  const head = { epoch: begun['epoch'], rev: 1_000, tag: begun['tag'] };
  for (const client of waiting) {
    expect(client.messages.at(-1)?.data).toMatchObject({
      error: { code: 'history_truncated', firstRev: 1_001, head },
    });
    expect(await client.subscribe(room, { since: 'snapshot' }, 'again')).toMatchObject({
      ...head,
      snapshot: { rev: 1_000, time: begun['time'], data },
    });
  }
  for (let rev = 1_001; rev <= 1_050; rev += 1) expect(await appendTo(room, rev)).toMatchObject({ status: 201, rev });
  const { epoch, tag } = head as { epoch: string; tag: string };
  const late = await Promise.all([connect(0), connect(1)]);
  for (const client of late) {
    expect(await client.subscribe(room, { since: { epoch, rev: 1_000, tag } })).toMatchObject(head);
  }
  const oldest = await connect(1);
  expect(await oldest.subscribe(room, { since: 0 })).toMatchObject({ epoch, rev: 1_000 });
  const before = await connect(0);
  expect(await before.subscribe(room, { since: { epoch: '', rev: 0 } })).toMatchObject({
    error: { code: 'history_truncated', firstRev: 1_001, head: { rev: 1_050 } },
  });

  for (const client of [...waiting, ...late, oldest]) {
    expect(await client.upTo(room, 1_050)).toEqual(revsFrom(1_001, 1_050));
    client.close();
  }
  before.close();
  const read = await fetch(`${revision.url}/v1/rooms/${room}/snapshot`);
  expect(await read.json()).toMatchObject({ room, ...head, data });
});

test('[S2] two producers that race put the higher one in the end, and who joins gets one of them whole', async () => {
  const room = 'raced';
  for (let rev = 1; rev <= 40; rev += 1) await appendTo(room, rev);
  const clients: PlainClient[] = [];
  const answers: (Data & { snapshot?: unknown })[] = [];
  const put = async (producer: RunningProducer, revs: readonly number[]): Promise<void> => {
    for (const rev of revs) {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ rev, data: contentAt(rev) });
      const { status } = await fetch(`${producer.url}/v1/rooms/${room}/snapshot`, { method: 'PUT', headers, body });
      expect([200, 409]).toContain(status);
      const joined = await join(room);
      clients.push(joined.client);
      answers.push(joined.answer);
    }
  };
  const odd = revsFrom(1, 39).filter((rev) => rev % 2 === 1);
  const even = revsFrom(1, 40).filter((rev) => rev % 2 === 0);
  await Promise.all([put(producers[0] as RunningProducer, odd), put(producers[1] as RunningProducer, even)]);

  for (const [index, client] of clients.entries()) {
    const begin = answers[index]?.rev ?? 0;
    if (begin > 0) expect(answers[index]?.snapshot).toMatchObject({ rev: begin, data: contentAt(begin) });
    if (begin < 40) await client.upTo(room, 40);
    expect(client.revs(room)).toEqual(revsFrom(begin + 1, 40));
    client.close();
  }
  // Past the revision service, which may answer one that it read a second ago.
  expect(await logs[0]?.log.snapshot(room)).toMatchObject({ rev: 40 });
});

test('[S10] a large snapshot for many who join at once is read once for each edge, and comes whole', async () => {
  const room = 'large';
  await appendTo(room, 1);
  const data = { text: 'Lorem ipsum dolor sit amet. '.repeat(20_000) };
  expect(await send('PUT', `/v1/rooms/${room}/snapshot`, { rev: 1, data })).toMatchObject({ status: 200 });
  const before = edges.map((edge) => edge.counters());

  const clients = await Promise.all(Array.from({ length: 100 }, (_, index) => connect(index % 2)));
  const answers = await Promise.all(clients.map((client) => client.subscribe(room, { since: 'snapshot' })));
  await appendTo(room, 2);

  for (const [index, client] of clients.entries()) {
    expect(JSON.stringify((answers[index] as { snapshot?: { data?: unknown } }).snapshot?.data)).toBe(
      JSON.stringify(data),
    );
    expect(await client.upTo(room, 2)).toEqual([2]);
    client.close();
  }
  for (const [index, edge] of edges.entries()) {
    const { snapshotsSent = 0, bodiesSerialized = 0 } = before[index] ?? {};
    const after = edge.counters();
    expect(after.snapshotsSent - snapshotsSent).toBe(50);
    // The answer, revision 2, and what a second reading a second later may add.
    expect(after.bodiesSerialized - bodiesSerialized).toBeLessThanOrEqual(3);
  }
});
