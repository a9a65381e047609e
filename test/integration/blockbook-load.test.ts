/**
 * Thousands of viewers of blocks, each with an id of its own, on two edges over a real nats-server, to which the Ethereum
 * source publishes the blocks of a real node.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RevisionService } from '../../services/revision/service.js';
import { systemClock } from '../../services/shared/clock.js';
import { Anvil } from '../support/anvil.js';
import { TestEdge } from '../support/edge.js';
import { startSource, type StartedSource } from '../support/ethereum-source-parts.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { handshake, RawClient } from '../support/raw-client.js';
import { settings as revisionSettings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

const VIEWERS_PER_EDGE = 1_000;
const BLOCKS = 15;
const WAIT_MS = 60_000;
/** Connections that are opened at once. */
const AT_ONCE = 100;

let nats: NatsServer;
let anvil: Anvil;
let producer: TestLog;
let source: StartedSource;
const logs: TestLog[] = [];
const edges: TestEdge[] = [];
const reads = { range: 0 };

beforeAll(async () => {
  nats = await NatsServer.start();
  anvil = await Anvil.start();
  await anvil.mine(300);
  producer = await openJetStreamLog(nats.url);
  source = startSource(anvil.url, producer.log, { ethereumStart: 0 });
  const blocks = async () => (await producer.log.heads(['eth'])).get('eth')?.rev;
  await waitFor(async () => (await blocks()) === 301, { timeoutMs: WAIT_MS, what: 'the blocks of before' });
  for (let n = 0; n < 2; n += 1) {
    const each = await openJetStreamLog(nats.url);
    logs.push(each);
    const service = new RevisionService({ log: each.log, clock: systemClock, settings: revisionSettings });
    const reader = {
      heads: service.heads.bind(service),
      snapshot: service.snapshot.bind(service),
      range: (query: Parameters<typeof service.range>[0]) => {
        reads.range += 1;
        return service.range(query);
      },
    };
    edges.push(await TestEdge.start({ live: each.log, reader, settings: { blockbookRoom: 'eth' } }));
  }
});

afterAll(async () => {
  await source?.source.stop();
  for (const edge of edges) await edge.stop();
  for (const each of logs) await each.close();
  await producer?.close();
  await anvil?.stop();
  await nats?.dispose();
});

/** An id of its own, of some length. */
function idOf(n: number): string {
  return `${n} ${'é"'.repeat(n % 12)}`;
}

async function viewersOf({ port }: TestEdge): Promise<RawClient[]> {
  const viewers: RawClient[] = [];
  while (viewers.length < VIEWERS_PER_EDGE) {
    const opened = Array.from({ length: AT_ONCE }, () => RawClient.open(port, handshake({ path: '/websocket' })));
    viewers.push(...(await Promise.all(opened)));
    await waitFor(() => viewers.every(({ status }) => status === 101), { timeoutMs: WAIT_MS, what: 'handshakes' });
  }
  return viewers;
}

function say(viewers: readonly RawClient[], method: string, params: object = {}): void {
  for (const [n, viewer] of viewers.entries()) viewer.sendText(JSON.stringify({ id: idOf(n), method, params }));
}

async function untilAll(viewers: readonly RawClient[], messages: number, what: string): Promise<void> {
  await waitFor(() => viewers.every(({ texts }) => texts.length >= messages), { timeoutMs: WAIT_MS, what });
}

it('[B5] [B1] 2,000 connections with an id each: each has every block under its id, and a block is one body for each edge', async () => {
  const groups = await Promise.all(edges.map((edge) => viewersOf(edge)));
  const viewers = groups.flat();
  try {
    for (const group of groups) say(group, 'subscribeNewBlock');
    await untilAll(viewers, 1, 'all are subscribed');
    const from = (await anvil.height()) + 1;
    const before = edges.map(({ edge }) => edge.counters());
    for (let n = 0; n < BLOCKS; n += 1) await anvil.mine();
    await untilAll(viewers, 1 + BLOCKS, 'all have all blocks');
    for (const [index, { edge }] of edges.entries()) {
      const after = edge.counters();
      expect(after.bodiesSerialized - (before[index]?.bodiesSerialized ?? 0)).toBe(BLOCKS);
      expect(after.deliveries - (before[index]?.deliveries ?? 0)).toBe(BLOCKS * VIEWERS_PER_EDGE);
    }
    const hashes = await anvil.hashes(from);
    for (const group of groups) {
      for (const [n, { texts }] of group.entries()) {
        const told = texts.map((text) => JSON.parse(text) as { id: string; data: { height: number; hash: string } });
        expect(told.every(({ id }) => id === idOf(n))).toBe(true);
        expect(told.slice(1).map(({ data }) => data.hash)).toEqual(hashes);
      }
    }

    // All ask for a sign of life at once: the pages back to height 1 are read once for each edge, and then no more.
    const { range } = reads;
    const hash = (await anvil.block(1)).hash;
    say(viewers, 'getBlockHash', { height: 1 });
    await untilAll(viewers, 2 + BLOCKS, 'all are answered');
    expect(reads.range - range).toBeLessThanOrEqual(2 * 4);
    const { range: afterwards } = reads;
    say(viewers, 'getBlockHash', { height: 1 });
    await untilAll(viewers, 3 + BLOCKS, 'all are answered again');
    expect(reads.range).toBe(afterwards);
    for (const { texts } of viewers) {
      expect(texts.slice(-2).every((text) => text.endsWith(`"data":{"hash":"${hash}"}}`))).toBe(true);
    }
  } finally {
    for (const viewer of viewers) viewer.destroy();
  }
});
