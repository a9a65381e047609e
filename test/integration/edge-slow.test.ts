import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { TestEdge, type TestEdgeOptions } from '../support/edge.js';
import type { Question, Reply } from '../support/edge-child.js';
import { revsFrom } from '../support/feed-parts.js';
import { settle } from '../support/manual-clock.js';
import { PlainClient } from '../support/plain-client.js';
import { RawClient } from '../support/raw-client.js';
import { waitFor } from '../support/wait-for.js';

const CHILD = fileURLToPath(new URL('../support/edge-child.ts', import.meta.url));
/** Together far more than the kernel holds for a client that does not read. */
const REVISIONS = 700;
const REVISION_BYTES = 20_000;
const SMALL_RING = { ringKeepRevisions: 10, ringMaxRevisions: 60, pageRevisions: 20, pageBytes: 256 * 1024 };

let edge: TestEdge | undefined;
let clients: PlainClient[] = [];

async function start(options: TestEdgeOptions): Promise<TestEdge> {
  edge = await TestEdge.start(options);
  return edge;
}

/** Publishes with turns of the event loop between, so that whoever reads keeps up. */
async function publish(to: TestEdge, room: string, count: number): Promise<string[]> {
  const texts: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const text = JSON.stringify(randomBytes(REVISION_BYTES / 2).toString('hex'));
    texts.push(text);
    await to.append(room, text);
    await settle(3);
  }
  return texts;
}

function ask(child: ChildProcess, question: Question): Promise<Reply> {
  child.send(question);
  return nextReply(child);
}

async function nextReply(child: ChildProcess): Promise<Reply> {
  const [reply] = (await once(child, 'message')) as [Reply];
  return reply;
}

afterEach(async () => {
  for (const client of clients) client.close();
  clients = [];
  await edge?.stop();
  edge = undefined;
});

describe('slow readers', () => {
  it('[F14] a client that stops reading holds nobody up, and has every revision once when it reads again', async () => {
    const running = await start({ settings: SMALL_RING });
    const kinds = [
      { batch: false, perMessageDeflate: false },
      { batch: true, perMessageDeflate: false },
      { batch: false, perMessageDeflate: true },
      { batch: true, perMessageDeflate: true },
    ];
    const fast = await PlainClient.connect(running.wsUrl);
    await fast.subscribe('a');
    const slow = await Promise.all(
      kinds.map(async ({ batch, perMessageDeflate }) => {
        const client = await PlainClient.connect(running.wsUrl, { perMessageDeflate });
        await client.subscribe('a', { batch });
        client.ws.pause();
        return client;
      }),
    );
    clients = [fast, ...slow];
    const texts = await publish(running, 'a', REVISIONS);
    expect(await fast.upTo('a', REVISIONS)).toEqual(revsFrom(1, REVISIONS));
    for (const client of slow) expect(client.revs('a').length).toBeLessThan(10);
    for (const client of slow) client.ws.resume();
    for (const client of slow) {
      expect(await client.upTo('a', REVISIONS)).toEqual(revsFrom(1, REVISIONS));
      expect(client.revisions('a').map(({ data }) => JSON.stringify(data))).toEqual(texts);
    }
    await waitFor(() => running.edge.counters().stragglersLeft === 4, { what: 'four that caught up' });
    expect(running.edge.counters()).toMatchObject({ stragglersEntered: 4, stragglersLeft: 4 });
    // They are steady: what comes now comes to all, prepared once.
    const before = running.edge.counters();
    await running.append('a', '"the last"');
    for (const client of clients) expect((await client.upTo('a', REVISIONS + 1)).length).toBe(REVISIONS + 1);
    const after = running.edge.counters();
    // One body for single messages, one for batches.
    expect(after.bodiesSerialized - before.bodiesSerialized).toBe(2);
  });

  it('[F14] one that reads a little now and then goes on from pages, and gets to the head', async () => {
    const running = await start({ settings: SMALL_RING });
    const slow = await PlainClient.connect(running.wsUrl);
    await slow.subscribe('a');
    clients = [slow];
    slow.ws.pause();
    let isPaused = true;
    const reading = setInterval(() => {
      if (isPaused) slow.ws.resume();
      else slow.ws.pause();
      isPaused = !isPaused;
    }, 5);
    await publish(running, 'a', REVISIONS);
    expect(await slow.upTo('a', REVISIONS)).toEqual(revsFrom(1, REVISIONS));
    clearInterval(reading);
    const { stragglersEntered, stragglersLeft } = running.edge.counters();
    expect(stragglersEntered).toBe(stragglersLeft);
  });

  it('[F17] in a room of the policy latest only those who lag skip, to the newest', async () => {
    const running = await start({ settings: { ...SMALL_RING, latestRooms: 'ticker/*' } });
    const [fast, slow] = [await PlainClient.connect(running.wsUrl), await PlainClient.connect(running.wsUrl)];
    clients = [fast, slow];
    for (const client of clients) await client.subscribe('ticker/1');
    slow.ws.pause();
    await publish(running, 'ticker/1', REVISIONS);
    expect(await fast.upTo('ticker/1', REVISIONS)).toEqual(revsFrom(1, REVISIONS));
    slow.ws.resume();
    const seen = await slow.upTo('ticker/1', REVISIONS);
    expect([...new Set(seen)].sort((one, other) => one - other)).toEqual(seen);
    expect(seen.length).toBeLessThan(REVISIONS / 2);
    expect(running.edge.counters().revisionsSkipped).toBe(REVISIONS - seen.length);
    await running.append('ticker/1', '1');
    expect((await slow.upTo('ticker/1', REVISIONS + 1)).slice(-2)).toEqual([REVISIONS, REVISIONS + 1]);
  });

  it('[F14] a client that goes while it lags leaves nothing behind', async () => {
    const running = await start({ settings: { ...SMALL_RING, lingerMs: 0 } });
    const slow = await PlainClient.connect(running.wsUrl);
    await slow.subscribe('a');
    slow.ws.pause();
    await publish(running, 'a', 400);
    slow.close();
    await waitFor(() => running.edge.counters().sockets === 0 && running.edge.counters().rooms === 0, {
      what: 'nothing is left',
    });
    const { stragglersEntered, stragglersLeft } = running.edge.counters();
    expect(stragglersEntered).toBe(stragglersLeft);
  });
});

describe('what a socket keeps', () => {
  const SOCKETS = 800;
  const LARGE_BYTES = 64 * 1024;
  /** What a socket may hold more than before, with what the process holds besides. Kept frames would be LARGE_BYTES. */
  const MAX_GROWTH_BYTES = 32 * 1024;

  it('[F13] large frames, live and in pages, leave nothing behind in the sockets', async () => {
    const child = fork(CHILD, { execArgv: ['--import', 'tsx', '--expose-gc'] });
    const sockets: RawClient[] = [];
    try {
      const { port } = await nextReply(child);
      while (sockets.length < SOCKETS) {
        sockets.push(...(await Promise.all(Array.from({ length: 100 }, () => RawClient.upgraded(port)))));
      }
      const large = JSON.stringify(randomBytes(LARGE_BYTES / 2).toString('hex'));
      await ask(child, { ask: 'append', room: 'page', text: large });
      const received = async (bytes: number) => {
        await waitFor(() => sockets.every(({ receivedBytes }) => receivedBytes > bytes), { what: 'all have it' });
      };
      for (const socket of sockets) socket.sendText('{"id":"1","method":"subscribe","params":{"room":"live"}}');
      await received(150);
      await ask(child, { ask: 'append', room: 'live', text: '1' });
      const before = (await ask(child, { ask: 'memory' })).residentBytes;
      await ask(child, { ask: 'append', room: 'live', text: large });
      await received(LARGE_BYTES);
      for (const socket of sockets)
        socket.sendText('{"id":"2","method":"subscribe","params":{"room":"page","since":0}}');
      await received(2 * LARGE_BYTES);
      const { residentBytes, counters } = await ask(child, { ask: 'memory' });
      expect(counters).toMatchObject({ deliveries: 3 * SOCKETS, sockets: SOCKETS });
      expect((residentBytes - before) / SOCKETS).toBeLessThan(MAX_GROWTH_BYTES);
    } finally {
      const exited = once(child, 'exit');
      child.send({ ask: 'stop' } satisfies Question);
      await exited;
      for (const socket of sockets) socket.destroy();
    }
  });
});
