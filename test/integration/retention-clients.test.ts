/** What clients of two edges are told when `revcast gc` removes what they stand before: never a silent hole. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEdge, type Edge } from '../../services/edge/main.js';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { openLiveLog } from '../../services/log/open-log.js';
import { RevisionClient, revisionClientSettings } from '../../services/revision/rpc-client.js';
import { RevisionRpcServer } from '../../services/revision/rpc-server.js';
import { RevisionService } from '../../services/revision/service.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger as logger } from '../../services/shared/logger.js';
import { readSettings } from '../../services/shared/settings.js';
import { startCli } from '../support/cli-context.js';
import { defaultEdgeSettings } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';
import { openJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { PlainClient } from '../support/plain-client.js';
import { settings as revisionSettings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

const HOUR_MS = 3_600_000;
const REVISIONS = 4_000;
const PER_ENTRY = 100;

let server: NatsServer;
let store: TestLog;
let rpc: RevisionRpcServer;
const links: NatsLink[] = [];
const edges: Edge[] = [];
let hoursAgo = 0;
const clock = { ...systemClock, now: () => Date.now() - hoursAgo * HOUR_MS };

beforeAll(async () => {
  server = await NatsServer.start();
  store = await openJetStreamLog(server.url, { clock });
  const reader = new RevisionService({ log: store.log, clock: systemClock, settings: revisionSettings });
  rpc = new RevisionRpcServer({ link: store.link, reader, settings: revisionSettings, logger });
  for (let i = 0; i < 2; i += 1) {
    const link = testLink(server.url);
    links.push(link);
    link.start();
    const live = openLiveLog({ link, logger, clock: systemClock });
    const client = new RevisionClient({
      link,
      settings: readSettings(revisionClientSettings, {}, {}),
      clock: systemClock,
    });
    edges.push(await startEdge({ settings: defaultEdgeSettings, live, reader: client, logger, clock: systemClock }));
  }
});

afterAll(async () => {
  for (const edge of edges) await edge.stop();
  await rpc.stop();
  for (const link of links) await link.close();
  await store.close();
  await server.dispose();
});

async function join(edge: number): Promise<PlainClient> {
  return PlainClient.connect(`${edges[edge]?.url.replace('http', 'ws')}/v1/ws`);
}

/** So many hours ago. */
async function append(room: string, count: number, hours: number, bytes = 2): Promise<void> {
  hoursAgo = hours;
  const data = Buffer.from(JSON.stringify('x'.repeat(bytes)));
  await store.log.append(room, { revisions: Array.from({ length: count }, () => ({ data })) });
}

async function gc(...words: string[]): Promise<void> {
  const { exitCode, stderr } = await startCli(['gc', '--nats', server.url, ...words]).ended;
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
}

describe('clients and retention', () => {
  it('[G5] a position older than what is kept is told so; a newcomer begins at the oldest kept; who is in goes on', async () => {
    const room = 'positions';
    for (const hours of [90, 80, 70, 1]) await append(room, 3, hours);
    const [one, other] = [await join(0), await join(1)];
    const { epoch, tag } = await one.subscribe(room);
    await other.subscribe(room);
    await gc('--max-age', '48h', '--room', room);

    for (const edge of [0, 1]) {
      const late = await join(edge);
      const answer = await late.subscribe(room, { since: { epoch, rev: 4 } });
      expect(answer.error).toMatchObject({ code: 'history_truncated', firstRev: 10, head: { epoch, rev: 12, tag } });
      expect(await late.subscribe(room, { since: 0 })).toMatchObject({ subscribed: true, epoch, rev: 9 });
      expect(await late.upTo(room, 12)).toEqual([10, 11, 12]);
      late.close();
      // Everything after revision 9 is kept.
      const inTime = await join(edge);
      expect(await inTime.subscribe(room, { since: { epoch, rev: 9 } })).toMatchObject({ subscribed: true, rev: 9 });
      expect(await inTime.upTo(room, 12)).toEqual([10, 11, 12]);
      inTime.close();
      // But not for who has seen another revision 9.
      const elsewhere = await join(edge);
      const refused = await elsewhere.subscribe(room, { since: { epoch, rev: 9, tag: '0badc0de' } });
      expect(refused.error).toMatchObject({ code: 'epoch_changed', head: { epoch, rev: 12, tag } });
      elsewhere.close();
    }
    await append(room, 1, 0);
    for (const member of [one, other]) {
      expect(await member.upTo(room, 13)).toEqual([13]);
      member.close();
    }
  });

  it('[G5] a straggler that reads pages while they go is given no hole: it is told where it ends', async () => {
    const room = 'straggler';
    for (let rev = 0; rev < REVISIONS; rev += PER_ENTRY) await append(room, PER_ENTRY, 90, 8_000);
    await append(room, 1, 0);
    const stragglers = [await join(0), await join(1)];
    for (const client of stragglers) {
      await client.subscribe(room, { since: 0 });
      await waitFor(() => client.revs(room).length > 0, { what: 'its first page' });
      client.ws.pause();
    }
    await gc('--max-age', '48h', '--room', room);
    for (const client of stragglers) {
      client.ws.resume();
      await waitFor(() => client.codes.length > 0, { timeoutMs: 30_000, what: 'it is told' });
      const revs = client.revs(room);
      expect(revs).toEqual(revsFrom(1, revs.length));
      expect(revs.length).toBeLessThan(REVISIONS);
      const told = client.messages.flatMap(({ data }) => data).find(({ error }) => error !== undefined)?.error;
      expect(told).toMatchObject({ code: 'history_truncated', firstRev: REVISIONS + 1, head: { rev: REVISIONS + 1 } });
      // It loads the room again and is whole.
      expect(await client.subscribe(room, { since: 0 })).toMatchObject({ subscribed: true, rev: REVISIONS });
      await client.upTo(room, REVISIONS + 1);
      client.close();
    }
  });
});
