import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestEdge, type TestEdgeOptions } from '../support/edge.js';
import type { Question, Reply } from '../support/edge-child.js';
import { revsFrom } from '../support/feed-parts.js';
import { segmentsOut } from '../support/raw-client.js';
import { SseClient } from '../support/sse-client.js';
import { hasTool, SS } from '../support/system-tool.js';
import { waitFor } from '../support/wait-for.js';

const CHILD = fileURLToPath(new URL('../support/edge-child.ts', import.meta.url));
const STREAMS = 1_000;
const REVISION_BYTES = 20_000;
/** Together far more than the kernel holds for a client that does not read. */
const REVISIONS = 400;
/** uWebSockets.js aborts a response that takes nothing after about 10 seconds, as its timer's steps of 4 have it. */
const STALL_MS = 30_000;

let edge: TestEdge | undefined;
let clients: SseClient[] = [];

async function start(options: TestEdgeOptions = {}): Promise<TestEdge> {
  edge = await TestEdge.start(options);
  return edge;
}

async function open(port: number, query: string, count: number): Promise<SseClient[]> {
  while (clients.length < count) {
    const some = Math.min(100, count - clients.length);
    const url = `http://127.0.0.1:${port}/v1/sse?${query}`;
    clients.push(...(await Promise.all(Array.from({ length: some }, () => SseClient.open(url)))));
  }
  return clients;
}

/** How many writes each stream got while `action` ran and all had what came of it. */
async function writesOf(running: TestEdge, action: () => Promise<unknown>, room: string, rev: number) {
  const before = { segments: await segmentsOut(running.port), counters: running.edge.counters() };
  await action();
  for (const client of clients) await client.upTo(room, rev);
  const after = await segmentsOut(running.port);
  const counters = running.edge.counters();
  return {
    writes: [...after].map(([port, segments]) => segments - (before.segments.get(port) ?? 0)),
    bodies: counters.bodiesSerialized - before.counters.bodiesSerialized,
    deliveries: counters.deliveries - before.counters.deliveries,
    visits: counters.socketsFlushed - before.counters.socketsFlushed,
  };
}

beforeEach(() => {
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.destroy();
  await edge?.stop();
  edge = undefined;
});

describe.runIf(hasTool(SS, 'the counting of write calls'))('many streams', () => {
  it('[V8] of one room: a body for each revision, a write for each stream and flush', async () => {
    const running = await start();
    for (const client of await open(running.port, 'room=a', STREAMS)) await client.toldOf('subscribed');
    const one = await writesOf(running, () => running.append('a', '"one"'), 'a', 1);
    expect(one).toEqual({ writes: Array(STREAMS).fill(1), bodies: 1, deliveries: STREAMS, visits: STREAMS });
    const burst = await writesOf(
      running,
      () => Promise.all(revsFrom(2, 21).map((n) => running.append('a', `{"n":${n}}`))),
      'a',
      21,
    );
    expect(burst).toMatchObject({ bodies: 20, deliveries: 20 * STREAMS });
    // The kernel may join two of them.
    expect(burst.writes.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(burst.visits);
    expect(burst.visits).toBeLessThanOrEqual(2 * STREAMS);
    for (const client of clients) expect(client.revs('a')).toEqual(revsFrom(1, 21));
  });

  it('[V8] of several rooms: the same bodies for all, one write for what all rooms have', async () => {
    const running = await start();
    const rooms = revsFrom(1, 8).map((n) => `r${n}`);
    for (const client of await open(running.port, rooms.map((room) => `room=${room}`).join('&'), 50)) {
      await client.toldOf('subscribed', rooms.length);
    }
    const burst = () => Promise.all(rooms.map((room) => running.append(room, '1')));
    expect(await writesOf(running, burst, 'r8', 1)).toEqual({
      writes: Array(50).fill(1),
      bodies: rooms.length,
      deliveries: 50 * rooms.length,
      visits: 50,
    });
  });
});

describe('slow and silent streams', () => {
  it('[V9] a silent stream gets comments, and stays', async () => {
    const running = await start({ settings: { pingAfterMs: 150, deadAfterMs: 600 } });
    const [client] = await open(running.port, 'room=a', 1);
    await waitFor(() => (client?.comments ?? 0) >= 8, { what: 'comments' });
    expect(client?.ended).toBeUndefined();
    await running.append('a', '1');
    expect(await client?.upTo('a', 1)).toEqual([1]);
  });

  it('[V9] one that reads again after a pause goes on where it was', async () => {
    const running = await start({ settings: { ringMaxRevisions: 20, ringKeepRevisions: 10, pageRevisions: 20 } });
    const [client] = await open(running.port, 'room=a&room=b', 1);
    await client?.toldOf('subscribed', 2);
    for (let pause = 1; pause <= 3; pause += 1) {
      client?.pause();
      for (let n = 1; n <= 300; n += 1) await running.append('a', JSON.stringify('x'.repeat(REVISION_BYTES)));
      await running.append('b', String(pause));
      client?.resume();
      await client?.upTo('a', 300 * pause);
      await client?.upTo('b', pause);
    }
    expect([client?.revs('a'), client?.revs('b')]).toEqual([revsFrom(1, 900), [1, 2, 3]]);
    expect(running.edge.counters().stragglersEntered).toBeGreaterThan(0);
  });

  it('[V8] [V9] streams that take nothing cost no memory, are cut, and resume without a hole', async () => {
    const child = fork(CHILD, { execArgv: ['--import', 'tsx', '--expose-gc'] });
    try {
      const { port } = await nextReply(child);
      const streams = await open(port, 'room=a', 20);
      for (const client of streams) await client.toldOf('subscribed');
      const ask = (question: Question) => {
        child.send(question);
        return nextReply(child);
      };
      await ask({ ask: 'append', room: 'a', text: '0' });
      for (const client of streams) await client.upTo('a', 1);
      const before = (await ask({ ask: 'memory' })).residentBytes;
      for (const client of streams) client.pause();
      const text = JSON.stringify(randomBytes(REVISION_BYTES / 2).toString('hex'));
      let last = await ask({ ask: 'memory' });
      for (let rev = 2; rev <= REVISIONS; rev += 1) last = await ask({ ask: 'append', room: 'a', text });
      last = await ask({ ask: 'memory' });
      const grown = last.residentBytes - before;
      // Queued for each it would be at least what the kernel does not hold: 5 MB of 8, of each stream.
      expect(grown / streams.length).toBeLessThan(2_000_000);
      expect(last.counters.deliveries).toBeLessThan(streams.length * REVISIONS * 0.8);
      await waitFor(async () => (await ask({ ask: 'memory' })).counters.sockets === 0, {
        timeoutMs: STALL_MS,
        what: 'all are cut',
      });
      for (const client of streams) client.resume();
      for (const client of streams) expect(await client.untilEnded()).toBe('cut');
      for (const client of streams) {
        const seen = client.revs('a');
        const again = await SseClient.open(`http://127.0.0.1:${port}/v1/sse?room=a`, client.lastEventId);
        await again.upTo('a', REVISIONS);
        expect([...seen, ...again.revs('a')]).toEqual(revsFrom(1, REVISIONS));
        again.destroy();
      }
    } finally {
      const exited = once(child, 'exit');
      child.send({ ask: 'stop' } satisfies Question);
      await exited;
    }
  });
});

async function nextReply(child: ChildProcess): Promise<Reply> {
  const [reply] = (await once(child, 'message')) as [Reply];
  return reply;
}
