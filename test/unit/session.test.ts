import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Liveness } from '../../services/edge/liveness.js';
import { EdgeHarness, revsTold, told, type Client } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';

/** Beyond this uWebSockets.js drops what it is sent. */
const MAX_BACKPRESSURE_BYTES = 1024 * 1024;

function text(bytes: number): () => string {
  return () => JSON.stringify('ä'.repeat(bytes / 2));
}

/** Base64 of random bytes: deflate saves a quarter at most. */
function incompressible(bytes: number): () => string {
  return () => JSON.stringify(randomBytes(bytes).toString('base64').slice(0, bytes));
}

describe('prepared once, whatever the number of sockets and ids', () => {
  it.each([
    ['plain', false, false],
    ['plain, in batches', false, true],
    ['compressed', true, false],
    ['compressed, in batches', true, true],
  ])('[F1] %s: serialized once, deflated at most once, every id its own', async (_what, deflates, batch) => {
    const edge = new EdgeHarness();
    const history = edge.history();
    const clients: Client[] = [];
    for (let i = 0; i < 50; i += 1) clients.push(await edge.subscriber({ deflates, batch, id: `"client ${i}"` }));
    edge.live.deliver(await history.add(2, text(2_000)), await history.add(1, text(2_000)));
    await edge.settle();
    const frames = batch ? 1 : 3;
    expect(edge.parts.counters).toMatchObject({
      bodiesSerialized: frames,
      bodiesDeflated: deflates ? frames : 0,
      framesPrepared: frames,
      deliveries: 150,
    });
    for (const [index, client] of clients.entries()) {
      expect(revsTold(client)).toEqual([1, 2, 3]);
      expect(client.socket.messages.slice(1).every((message) => message.startsWith(`{"id":"client ${index}",`))).toBe(
        true,
      );
      expect([client.socket.writes.length, client.socket.compressedMessages]).toEqual([2, deflates ? frames : 0]);
    }
  });

  it('[F1] sockets that compress and sockets that do not share bodies; nobody compresses: nothing is deflated', async () => {
    const edge = new EdgeHarness();
    const plain = await edge.subscriber();
    await edge.publish(edge.history(), 1, text(2_000));
    await edge.settle();
    expect(edge.parts.counters).toMatchObject({ bodiesSerialized: 1, bodiesDeflated: 0 });
    const compressing = await edge.subscriber({ deflates: true });
    await edge.publish(edge.history(), 1, text(2_000));
    await edge.settle();
    expect(edge.parts.counters).toMatchObject({ bodiesSerialized: 2, bodiesDeflated: 1 });
    expect([plain.socket.compressedMessages, compressing.socket.compressedMessages]).toEqual([0, 1]);
    expect([revsTold(plain), revsTold(compressing)]).toEqual([[1, 2], [2]]);
  });

  it('[F4] what deflate would not make small enough goes out as it is, also to sockets that compress', async () => {
    const edge = new EdgeHarness();
    const client = await edge.subscriber({ deflates: true });
    await edge.publish(edge.history(), 1, text(100));
    await edge.publish(edge.history(), 1, incompressible(800));
    await edge.settle();
    expect([client.socket.compressedMessages, revsTold(client)]).toEqual([0, [1, 2]]);
    expect(edge.parts.counters).toMatchObject({ bodiesDeflated: 1 });
  });

  it('[F1] EDGE_FANOUT=per-socket: serialized for each socket, for comparison', async () => {
    const edge = new EdgeHarness({ fanout: 'per-socket' });
    const clients = [await edge.subscriber(), await edge.subscriber(), await edge.subscriber()];
    await edge.publish(edge.history(), 2);
    await edge.settle();
    for (const client of clients) expect(revsTold(client)).toEqual([1, 2]);
    expect(edge.parts.counters).toMatchObject({ bodiesSerialized: 6 });
  });
});

describe('what one write holds', () => {
  it('[F13] a burst goes out in corks below 16,000 bytes', async () => {
    const edge = new EdgeHarness();
    const client = await edge.subscriber();
    client.socket.writes.length = 0;
    edge.live.deliver(await edge.history().add(20, text(2_000)));
    await edge.settle();
    expect(revsTold(client)).toEqual(revsFrom(1, 20));
    expect(client.socket.writes).toHaveLength(3);
    expect(client.socket.largestCork).toBeLessThan(16_000);
    expect(client.socket.largestCork).toBeGreaterThan(13_000);
  });

  it('[F13] a frame of 16 KB or more goes alone and uncorked, smaller ones before and after it together', async () => {
    const edge = new EdgeHarness();
    const client = await edge.subscriber();
    client.socket.writes.length = 0;
    const history = edge.history();
    const sizes = [200, 200, 20_000, 200, 200];
    edge.live.deliver(...(await Promise.all(sizes.map((size) => history.add(1, text(size))))));
    await edge.settle();
    expect(revsTold(client)).toEqual(revsFrom(1, 5));
    // Two together, the large one, two together.
    expect(client.socket.writes).toHaveLength(3);
    expect(client.socket.largestCork).toBeLessThan(1_000);
    expect(client.socket.faults).toEqual([]);
  });

  it('[F13] a large frame that deflate makes small is corked like any other', async () => {
    const edge = new EdgeHarness();
    const client = await edge.subscriber({ deflates: true });
    client.socket.writes.length = 0;
    edge.live.deliver(await edge.history().add(3, text(60_000)));
    await edge.settle();
    expect([client.socket.writes.length, client.socket.compressedMessages]).toEqual([1, 3]);
    expect(revsTold(client)).toEqual([1, 2, 3]);
  });
});

describe('replies', () => {
  it('[D2] go out while the socket is blocked; a client that does not take them is cut off', async () => {
    const edge = new EdgeHarness();
    const client = await edge.subscriber();
    client.socket.kernelFree = 0;
    await edge.publish(edge.history());
    await edge.settle();
    for (let i = 0; i < 40_000 && client.socket.closed === undefined; i += 1) {
      edge.commands.run(client.session, { kind: 'ping', id: JSON.stringify('p'.repeat(100)) });
    }
    expect(client.socket.closed).toBe('cut');
    expect(client.socket.writes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(MAX_BACKPRESSURE_BYTES * 1.1);
    expect(client.session.members).toEqual([]);
    await edge.publish(edge.history());
    await edge.settle();
  });
});

describe('closing', () => {
  it('[F18] what is queued goes out before the close frame', async () => {
    const edge = new EdgeHarness({ flushMs: 1_000 });
    const client = await edge.subscriber();
    await edge.publish(edge.history(), 3);
    expect(revsTold(client)).toEqual([]);
    client.session.end(1012, 'restarting');
    expect(revsTold(client)).toEqual([1, 2, 3]);
    expect(client.socket.closed).toEqual({ code: 1012, reason: 'restarting' });
    expect(client.session.members).toEqual([]);
    client.session.end(1012, 'again');
    client.session.cut();
    await edge.clock.advance(2_000);
    expect(client.socket.faults).toEqual([]);
  });
});

describe('closing a socket that is blocked', () => {
  it('[F18] waits until the client has taken what was written, and writes nothing more', async () => {
    const edge = new EdgeHarness();
    const client = await edge.subscriber();
    client.socket.kernelFree = 0;
    await edge.publish(edge.history());
    await edge.settle();
    await edge.publish(edge.history(), 5);
    client.session.end(1012, 'restarting');
    await edge.settle();
    expect([client.socket.closed, revsTold(client)]).toEqual([undefined, [1]]);
    client.socket.take(20);
    await edge.settle();
    expect(client.socket.closed).toBeUndefined();
    client.socket.take(10_000);
    // Not inside the drain handler.
    expect(client.socket.closed).toBeUndefined();
    await edge.settle();
    expect([client.socket.closed, revsTold(client)]).toEqual([{ code: 1012, reason: 'restarting' }, [1]]);
    expect(client.session.members).toEqual([]);
  });
});

describe('liveness', () => {
  it('[F19] a silent client is pinged, and cut off when it stays silent; any sign of life counts', async () => {
    const edge = new EdgeHarness({ pingAfterMs: 1_000, deadAfterMs: 3_000 });
    const [silent, talking, draining] = [edge.connect(), edge.connect(), edge.connect()];
    const liveness = new Liveness(new Set([silent.session, talking.session, draining.session]), edge.parts);
    liveness.start();
    // The draining one never comes to its end: it takes a little now and then, and never answers a ping.
    edge.subscribe(draining);
    await edge.clock.advance(10);
    draining.socket.kernelFree = 0;
    await edge.publish(edge.history(), 1, text(200_000));
    for (let tenths = 0; tenths < 100; tenths += 1) {
      await edge.clock.advance(100);
      talking.session.sawLife();
      if (tenths % 15 === 0) draining.socket.take(1_000);
    }
    expect([silent.socket.closed, talking.socket.closed, draining.socket.closed]).toEqual([
      'cut',
      undefined,
      undefined,
    ]);
    expect(silent.socket.pings).toBeGreaterThanOrEqual(2);
    expect(silent.socket.pings).toBeLessThanOrEqual(3);
    expect([talking.socket.pings, told(draining).length]).toEqual([0, 2]);
    liveness.stop();
    await edge.clock.advance(10_000);
    expect(draining.socket.closed).toBeUndefined();
  });
});
