import { describe, expect, it } from 'vitest';
import { TestEdge } from '../support/edge.js';
import { freePort } from '../support/free-port.js';
import { PlainClient } from '../support/plain-client.js';
import { RawClient } from '../support/raw-client.js';
import { waitFor } from '../support/wait-for.js';

/** More than the kernel takes of a client that does not read, so that a part waits in the edge. */
const STALL_BYTES = 12_000_000;

/** A client that has stopped reading in the middle of a message, and the number of revisions that were sent before. */
async function stalledClient(edge: TestEdge): Promise<RawClient> {
  const client = await RawClient.upgraded(edge.port);
  client.sendText('{"id":"1","method":"subscribe","params":{"room":"a"}}');
  await waitFor(() => client.texts.length === 1, { what: 'the answer' });
  client.socket.pause();
  await edge.append('a', JSON.stringify('x'.repeat(STALL_BYTES / 2)));
  await edge.append('a', JSON.stringify('y'.repeat(STALL_BYTES / 2)));
  await edge.append('a', '"the one that is not written any more"');
  return client;
}

describe('a graceful stop', () => {
  it('[F18] flushes what is queued, then closes with 1012', async () => {
    const edge = await TestEdge.start({ settings: { flushMs: 10_000 } });
    const clients = await Promise.all(Array.from({ length: 20 }, () => PlainClient.connect(edge.wsUrl)));
    for (const client of clients) expect((await client.subscribe('a')).subscribed).toBe(true);
    await edge.appendMany('a', 5);
    await waitFor(() => edge.edge.counters().revisionsFlushed === 5, { what: 'five revisions queued' });
    expect(clients[0]?.revs('a')).toEqual([]);
    await edge.stop();
    for (const client of clients) {
      expect(await client.untilClosed()).toEqual({ code: 1012, reason: 'restarting' });
      expect(client.revs('a')).toEqual([1, 2, 3, 4, 5]);
    }
  });

  it('[F18] waits for a client that is still reading what was written, and closes it then', async () => {
    const edge = await TestEdge.start({ settings: { closeTimeoutMs: 20_000, maxMessageBytes: 4_000_000 } });
    const client = await stalledClient(edge);
    await waitFor(() => edge.edge.counters().deliveries > 0, { what: 'the first revision is written' });
    const stopping = edge.stop();
    await pause(300);
    client.socket.resume();
    await stopping;
    await waitFor(() => client.ended, { what: 'the end' });
    expect(client.close).toEqual({ code: 1012, reason: 'restarting' });
    // Whole messages only, the answer and the first one at least.
    const revs = client.texts.slice(1).map((text) => (JSON.parse(text) as { data: { rev: number } }).data.rev);
    expect(revs).toEqual([1, 2, 3].slice(0, revs.length));
    expect(revs.length).toBeGreaterThanOrEqual(1);
  });

  it('[F18] does not wait for ever: who takes nothing is cut when the time is over', async () => {
    const edge = await TestEdge.start({ settings: { closeTimeoutMs: 400 } });
    const client = await stalledClient(edge);
    await waitFor(() => edge.edge.counters().deliveries > 0, { what: 'the first revision is written' });
    const begun = performance.now();
    await edge.stop();
    expect(performance.now() - begun).toBeGreaterThan(300);
    expect(performance.now() - begun).toBeLessThan(5_000);
    expect(edge.edge.counters()).toMatchObject({ sockets: 0, rooms: 0 });
    client.destroy();
  });

  it('[F18] stopping twice is stopping once, and both wait', async () => {
    const edge = await TestEdge.start();
    const client = await PlainClient.connect(edge.wsUrl);
    await Promise.all([edge.edge.stop(), edge.edge.stop()]);
    expect((await client.untilClosed()).code).toBe(1012);
    await edge.stop();
    await expect(fetch(`${edge.url}/healthz`)).rejects.toThrow('fetch failed');
  });

  it('[F18] the port is free at once for the next edge, and a client goes on where it was', async () => {
    // A port of its own choice is bound without the option that lets it be taken again at once.
    const edge = await TestEdge.start({ settings: { port: await freePort() } });
    const client = await PlainClient.connect(edge.wsUrl);
    await client.subscribe('a');
    await edge.appendMany('a', 3);
    await client.upTo('a', 3);
    const { epoch } = await edge.appendMany('a', 1);
    await client.upTo('a', 4);
    const last = client.revisions('a').at(-1);
    await edge.edge.stop();
    const next = await TestEdge.start({ settings: { port: edge.port }, live: edge.log, reader: edge.reader });
    const again = await PlainClient.connect(next.wsUrl);
    await edge.appendMany('a', 2);
    const answer = await again.subscribe('a', { since: { epoch, rev: last?.rev, tag: last?.tag } });
    expect(answer).toMatchObject({ subscribed: true, epoch, rev: 4 });
    expect(await again.upTo('a', 6)).toEqual([5, 6]);
    await next.stop();
    await edge.log.close();
  });
});

describe('liveness', () => {
  it('[F19] a client that answers pings stays, one that is silent is cut', async () => {
    const edge = await TestEdge.start({ settings: { pingAfterMs: 150, deadAfterMs: 600 } });
    const answering = await PlainClient.connect(edge.wsUrl);
    let pings = 0;
    answering.ws.on('ping', () => {
      pings += 1;
    });
    const silent = await RawClient.upgraded(edge.port);
    await waitFor(() => silent.ended, { what: 'the silent one is cut' });
    expect(silent.frames.filter(({ opcode }) => opcode === 9).length).toBeGreaterThanOrEqual(1);
    await waitFor(() => pings >= 8, { what: 'many pings' });
    expect(await answering.request('ping')).toEqual({});
    await edge.stop();
  });

  it('[F19] a slow reader that makes progress is not cut, though it never answers a ping', async () => {
    const deadAfterMs = 1_500;
    const edge = await TestEdge.start({ settings: { pingAfterMs: 200, deadAfterMs, ringKeepRevisions: 0 } });
    const client = await RawClient.upgraded(edge.port);
    client.sendText('{"id":"1","method":"subscribe","params":{"room":"a"}}');
    await waitFor(() => client.texts.length === 1, { what: 'the answer' });
    client.socket.pause();
    const total = 70;
    for (let rev = 1; rev <= total; rev += 1) await edge.append('a', JSON.stringify('x'.repeat(500_000)));
    const begun = performance.now();
    const isOver = () => client.frames.filter(({ opcode }) => opcode === 1).length === total + 1 || client.ended;
    while (!isOver()) {
      await pause(250);
      const wanted = client.receivedBytes + 1_500_000;
      client.socket.resume();
      await waitFor(() => client.receivedBytes >= wanted || isOver(), { what: 'some bytes' });
      client.socket.pause();
    }
    const revs = client.texts.slice(1).map((text) => (JSON.parse(text) as { data: { rev: number } }).data.rev);
    expect([revs.length, client.ended]).toEqual([total, false]);
    expect(performance.now() - begun).toBeGreaterThan(deadAfterMs);
    client.destroy();
    await edge.stop();
  });
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
