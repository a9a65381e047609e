/** Replicas of the revision service that stop, hang and die: on a real nats-server, then as processes under two edges. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { startRevision, type RunningRevision } from '../../services/revision/main.js';
import { RevisionClient } from '../../services/revision/rpc-client.js';
import {
  decodeHeadsReply,
  encodeHeadsRequest,
  HEADS_SUBJECT,
  REVISION_QUEUE,
} from '../../services/revision/rpc-messages.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger as logger } from '../../services/shared/logger.js';
import { Cluster, type ServiceProcess } from '../support/cluster.js';
import { revsFrom } from '../support/feed-parts.js';
import { openJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { PlainClient } from '../support/plain-client.js';
import { appendEntry, clientSettings, settings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

interface Replica extends TestLog {
  readonly service: RunningRevision;
}

describe('replicas on a NATS server', () => {
  let server: NatsServer;
  let link: NatsLink;
  let replicas: Replica[];

  beforeEach(async () => {
    server = await NatsServer.start();
    replicas = [await replica(), await replica()];
    link = testLink(server.url);
    link.start();
    await waitFor(() => link.up, { what: 'the link is up' });
    await waitFor(answered, { what: 'a replica answers' });
  });

  afterEach(async () => {
    await Promise.all(replicas.map(end));
    await link.close();
    await server.dispose();
  });

  async function replica(): Promise<Replica> {
    const log = await openJetStreamLog(server.url);
    const parts = {
      settings: { ...settings, revisionRpcRequests: 1_000 },
      log: log.log,
      whole: log.log,
      link: log.link,
    };
    return { ...log, service: await startRevision({ ...parts, logger, clock: systemClock }) };
  }

  async function end(ended: Replica): Promise<void> {
    await ended.service.stop();
    await ended.close();
  }

  async function answered(): Promise<boolean> {
    return link.request(HEADS_SUBJECT, encodeHeadsRequest([]), 1_000).then(
      () => true,
      () => false,
    );
  }

  it('[R13] a replica that stops answers what NATS has given it: no request is lost', async () => {
    const writer = await openJetStreamLog(server.url);
    await appendEntry(writer.log, 'a', 1, 3);
    await writer.close();
    const request = encodeHeadsRequest([{ room: 'a', position: null }]);
    const enough = new AbortController();
    let count = 0;
    const ask = async () => {
      while (!enough.signal.aborted) {
        // Once, without any retry.
        const reply = decodeHeadsReply(await link.request(HEADS_SUBJECT, request, 10_000));
        expect(reply).toMatchObject([{ room: 'a', head: { rev: 3 } }]);
        count += 1;
      }
    };
    const asking = Promise.all(Array.from({ length: 64 }, ask));
    const more = async () => {
      const target = count + 200;
      await waitFor(() => count >= target, { what: 'more requests are answered' });
    };
    for (let round = 0; round < 6; round += 1) {
      await more();
      const next = await replica();
      await more();
      replicas.push(next);
      const oldest = replicas.shift();
      if (oldest !== undefined) await end(oldest);
    }
    enough.abort();
    await asking;
  });

  it('[R10] one of three replicas hangs: every request is answered by another', async () => {
    const client = new RevisionClient({
      link,
      settings: { ...clientSettings, revisionHedgeMs: 50 },
      clock: systemClock,
    });
    let swallowed = 0;
    const hung = replicas[0]?.link.subscribe(HEADS_SUBJECT, { queue: REVISION_QUEUE }, () => {
      swallowed += 1;
    });
    await hung?.ready;
    for (let i = 0; i < 40; i += 1) await client.heads([{ room: 'a', position: null }]);
    expect(swallowed).toBeGreaterThan(0);
    hung?.stop();
  });
});

describe('both revision services as processes', () => {
  let cluster: Cluster;
  const clients: PlainClient[] = [];

  beforeEach(async () => {
    cluster = await Cluster.create();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await cluster.dispose();
  });

  async function connect(edge: ServiceProcess): Promise<PlainClient> {
    const client = await PlainClient.connect(`${edge.url.replace('http', 'ws')}/v1/ws`);
    clients.push(client);
    return client;
  }

  it('[R14] steady clients go on while both hang and while both are gone; who catches up waits, and completes', async () => {
    const room = 'steady';
    const producer = await cluster.add('producer', 'producer');
    const revisions = [await cluster.add('revision', 'revision-1'), await cluster.add('revision', 'revision-2')];
    const small = ['--edge-ring-keep-revisions', '5', '--edge-page-revisions', '10'];
    const edges = [await cluster.add('edge', 'edge-1', small), await cluster.add('edge', 'edge-2', small)];
    await cluster.ready();
    let published = 0;
    const publish = async (count: number) => {
      for (let i = 0; i < count; i += 1) {
        const response = await fetch(`${producer.url}/v1/rooms/${room}/revisions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ data: published + 1 }),
        });
        expect(response.status).toBe(201);
        await response.arrayBuffer();
        published += 1;
      }
    };
    await publish(50);
    const steady: PlainClient[] = [];
    for (const edge of edges) {
      for (let i = 0; i < 5; i += 1) {
        const client = await connect(edge);
        await client.subscribe(room);
        steady.push(client);
      }
    }
    /** Comes again while it is refused, as clients do. */
    const late = async (edge: ServiceProcess) => {
      const client = await connect(edge);
      await waitFor(async () => (await client.subscribe(room, { since: 0 })).subscribed === true, {
        timeoutMs: 60_000,
        what: 'the late client is let in',
      });
      return client;
    };

    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) {
      for (const revision of revisions) process.kill(revision.pid ?? 0, signal);
      const joining = Promise.all(edges.map(late));
      await publish(30);
      // All of it while nobody could answer the edges.
      for (const client of steady) expect(await client.upTo(room, published)).toEqual(revsFrom(51, published));
      for (const revision of revisions) {
        if (signal === 'SIGSTOP') process.kill(revision.pid ?? 0, 'SIGCONT');
        else await revision.kill();
      }
      if (signal === 'SIGKILL') revisions[0]?.start();
      for (const client of await joining) {
        expect(await client.upTo(room, published, 60_000)).toEqual(revsFrom(1, published));
      }
    }
  }, 180_000);
});
