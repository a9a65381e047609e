import { describe, expect, it } from 'vitest';
import type { EdgeSettings } from '../../services/edge/settings.js';
import { silentLogger, type Logger } from '../../services/shared/logger.js';
import { EdgeHarness, revsTold, told, type Client } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';
import { settle } from '../support/manual-clock.js';
import { Random, testSeed } from '../support/random.js';

async function members(edge: EdgeHarness, count: number, room = 'doc-1'): Promise<Client[]> {
  const clients = Array.from({ length: count }, () => edge.connect());
  for (const client of clients) edge.subscribe(client, { room });
  await edge.clock.advance(10);
  for (const { socket } of clients) socket.writes.length = 0;
  edge.parts.counters.flushes = 0;
  return clients;
}

/** One turn of the event loop. */
function turn(): Promise<void> {
  return settle(1);
}

function writesOf(clients: readonly Client[]): number {
  return clients.reduce((sum, { socket }) => sum + socket.writes.length, 0);
}

/** A logger that keeps what it is told as errors. */
function errorLog(): { errors: unknown[]; logger: Logger } {
  const errors: unknown[] = [];
  const logger = Object.assign(Object.create(silentLogger) as Logger, {
    error: (fields: unknown) => {
      errors.push(fields);
    },
  });
  return { errors, logger };
}

describe('one flush per turn', () => {
  it('[F9] all that comes in one turn leaves in one write per socket', async () => {
    const edge = new EdgeHarness();
    const history = edge.history();
    const clients = await members(edge, 3);
    const entries = [await history.add(2), await history.add(1), await history.add(3)];
    edge.live.deliver(...entries);
    expect(writesOf(clients)).toBe(0);
    await Promise.resolve();
    expect(clients.map(({ socket }) => socket.writes.length)).toEqual([1, 1, 1]);
    for (const client of clients) expect(revsTold(client)).toEqual(revsFrom(1, 6));
    expect(edge.parts.counters).toMatchObject({ flushes: 1, socketsFlushed: 3, revisionsFlushed: 6, deliveries: 18 });
  });

  it('[F9] a socket in many dirty rooms is visited once and written to once', async () => {
    const edge = new EdgeHarness();
    const rooms = revsFrom(1, 20).map((n) => edge.history(`room-${n}`));
    const client = edge.connect();
    for (const { room } of rooms) edge.subscribe(client, { room });
    await edge.clock.advance(10);
    client.socket.writes.length = 0;
    edge.parts.counters.flushes = 0;
    edge.live.deliver(...(await Promise.all(rooms.map((history) => history.add(2)))));
    await turn();
    expect(client.socket.writes).toHaveLength(1);
    expect(edge.parts.counters).toMatchObject({ flushes: 1, socketsFlushed: 1, deliveries: 40 });
    for (const { room } of rooms) expect(revsTold(client, room)).toEqual([1, 2]);
  });

  it('[F9] the answer to a subscribe leaves in one write with the revisions that follow it', async () => {
    const edge = new EdgeHarness();
    await members(edge, 1);
    await edge.publish(edge.history(), 5);
    await turn();
    const client = edge.connect();
    edge.subscribe(client, { since: { epoch: 'e1', rev: 2 } });
    expect(client.socket.writes).toHaveLength(0);
    await turn();
    expect(client.socket.writes).toHaveLength(1);
    expect(told(client)[0]).toBe('subscribed doc-1 at 2');
    expect(revsTold(client)).toEqual([3, 4, 5]);
  });

  it('[F9] a room without members is not flushed', async () => {
    const edge = new EdgeHarness();
    const [client] = await members(edge, 1);
    client?.socket.close();
    await edge.publish(edge.history());
    await turn();
    expect(edge.parts.counters.flushes).toBe(0);
  });

  const MODES: [string, Partial<EdgeSettings>, (edge: EdgeHarness) => Promise<number[]>][] = [
    ['sync: before the log’s callback returns', { flush: 'sync' }, () => Promise.resolve([1, 1, 1])],
    ['microtask: when the turn ends', { flush: 'microtask' }, () => Promise.resolve([0, 1, 1])],
    ['immediate: once per turn of the event loop', { flush: 'immediate' }, () => Promise.resolve([0, 0, 1])],
  ];
  it.each(MODES)('[F9] %s', async (_title, settings, expected) => {
    const edge = new EdgeHarness(settings);
    const [client] = await members(edge, 1);
    const entry = await edge.history().add(1);
    const seen: number[] = [];
    edge.live.deliver(entry);
    seen.push(writesOf(client === undefined ? [] : [client]));
    await Promise.resolve();
    seen.push(writesOf(client === undefined ? [] : [client]));
    await turn();
    seen.push(writesOf(client === undefined ? [] : [client]));
    expect(seen).toEqual(await expected(edge));
  });

  it('[F9] sync: each entry is written at once, so two entries are two writes', async () => {
    const edge = new EdgeHarness({ flush: 'sync' });
    const clients = await members(edge, 2);
    const history = edge.history();
    edge.live.deliver(await history.add(1), await history.add(1));
    expect(clients.map(({ socket }) => socket.writes.length)).toEqual([2, 2]);
  });

  it('[F9] EDGE_FLUSH_MS collects for so long', async () => {
    const edge = new EdgeHarness({ flushMs: 50 });
    const clients = await members(edge, 2);
    const history = edge.history();
    await edge.publish(history);
    await edge.clock.advance(30);
    await edge.publish(history);
    await edge.clock.advance(19);
    expect(writesOf(clients)).toBe(0);
    await edge.clock.advance(1);
    expect(clients.map(({ socket }) => socket.writes.length)).toEqual([1, 1]);
  });

  it('[F9] EDGE_FLUSH_MS holds up nobody who catches up', async () => {
    const edge = new EdgeHarness({ flushMs: 60_000, pageRevisions: 4 });
    const history = edge.history();
    for (let i = 0; i < 30; i += 1) await history.add(1);
    await members(edge, 1);
    await edge.publish(history);
    const late = await edge.subscriber({ since: 'first' });
    await settle(60);
    expect(revsTold(late)).toEqual(revsFrom(1, 31));
  });

  it('[F9] a socket that drained is gone on with in a turn of its own', async () => {
    const edge = new EdgeHarness();
    const [client] = await members(edge, 1);
    if (client === undefined) throw new Error('no client');
    client.socket.kernelFree = 10;
    const history = edge.history();
    await edge.publish(history);
    await turn();
    await edge.publish(history);
    await turn();
    expect(client.socket.writes).toHaveLength(1);
    client.socket.take(10_000);
    // Inside the drain handler nothing is written: there uWebSockets.js holds its one cork.
    expect(client.socket.writes).toHaveLength(1);
    await turn();
    expect(client.socket.writes).toHaveLength(2);
    expect(revsTold(client)).toEqual([1, 2]);
  });
});

describe('slices', () => {
  const LOOK = 32;

  it('[F10] a large room goes in slices with turns between, and late revisions go with the members not yet visited', async () => {
    const edge = new EdgeHarness();
    const clients = await members(edge, 100);
    for (const { socket } of clients)
      socket.beforeWrite = () => {
        edge.clock.skip(1);
      };
    const history = edge.history();
    await edge.publish(history);
    await Promise.resolve();
    expect(writesOf(clients)).toBe(LOOK);
    await edge.publish(history);
    await settle(10);
    // 68 had both in one write, 32 were visited once more.
    expect(writesOf(clients)).toBe(100 + LOOK);
    for (const client of clients) expect(revsTold(client)).toEqual([1, 2]);
    expect(edge.parts.counters).toMatchObject({ socketsFlushed: 132, deliveries: 200, revisionsFlushed: 2 });
  });

  it('[F10] timers and other turns run between slices', async () => {
    const edge = new EdgeHarness();
    const clients = await members(edge, 400);
    for (const { socket } of clients)
      socket.beforeWrite = () => {
        edge.clock.skip(1);
      };
    await edge.publish(edge.history());
    const progress: number[] = [];
    for (let i = 0; i < 20 && writesOf(clients) < 400; i += 1) {
      progress.push(writesOf(clients));
      await turn();
    }
    expect(progress.length).toBeGreaterThanOrEqual(12);
    expect(Math.max(...progress.slice(1).map((now, index) => now - (progress[index] ?? 0)))).toBeLessThanOrEqual(LOOK);
  });

  it('[F10] rooms take turns: a small room does not wait for a large one', async () => {
    const edge = new EdgeHarness();
    const large = await members(edge, 500, 'large');
    const small = await members(edge, 2, 'small');
    for (const { socket } of large)
      socket.beforeWrite = () => {
        edge.clock.skip(1);
      };
    await edge.publish(edge.history('large'));
    await edge.publish(edge.history('small'));
    await settle(2);
    expect(writesOf(small)).toBe(2);
    expect(writesOf(large)).toBeLessThan(150);
    await settle(40);
    expect(writesOf(large)).toBe(500);
  });

  it('[F10] a small room is served while a large one never comes to its end', async () => {
    const edge = new EdgeHarness();
    const large = await members(edge, 200, 'large');
    const small = await members(edge, 1, 'small');
    for (const { socket } of large)
      socket.beforeWrite = () => {
        edge.clock.skip(1);
      };
    const [largeRoom, smallRoom] = [edge.history('large'), edge.history('small')];
    for (let i = 1; i <= 30; i += 1) {
      await edge.publish(largeRoom);
      await edge.publish(smallRoom);
      await turn();
    }
    await turn();
    for (const client of small) expect(revsTold(client, 'small')).toEqual(revsFrom(1, 30));
    await settle(40);
    for (const client of large) expect(revsTold(client, 'large')).toEqual(revsFrom(1, 30));
  });

  it('[F10] who joins, or goes on, does not wait for a room that never comes to its end, nor does another room', async () => {
    const edge = new EdgeHarness();
    const large = await members(edge, 400, 'large');
    const [small] = await members(edge, 1, 'small');
    for (const { socket } of large)
      socket.beforeWrite = () => {
        edge.clock.skip(1);
      };
    const [largeRoom, smallRoom] = [edge.history('large'), edge.history('small')];
    for (let i = 1; i <= 5; i += 1) {
      await edge.publish(largeRoom);
      await turn();
    }
    const joining = Array.from({ length: 20 }, () => edge.connect());
    const before = writesOf(large);
    for (const client of joining) edge.subscribe(client, { room: 'large', since: 'now' });
    await edge.publish(largeRoom);
    await edge.publish(smallRoom);
    await turn();
    expect(small === undefined ? [] : revsTold(small, 'small')).toEqual([1]);
    expect(joining.filter((client) => told(client).length > 0)).toHaveLength(20);
    expect(writesOf(large) - before).toBeLessThanOrEqual(2 * LOOK);
  });
});

describe('members that come, go and fail during a round', () => {
  const seed = testSeed();

  it(`[F11] nobody who stays is passed over, and nobody is given anything twice (seed ${seed})`, async () => {
    const random = new Random(seed);
    for (let round = 0; round < 10; round += 1) {
      const edge = new EdgeHarness();
      let clients = await members(edge, random.whole(40, 200));
      const slow = ({ socket }: Client) => {
        socket.beforeWrite = () => {
          edge.clock.skip(1);
        };
      };
      clients.forEach(slow);
      const begins = new Map(clients.map((client) => [client, 1]));
      const history = edge.history();
      let head = 0;
      for (let step = 0; step < 12; step += 1) {
        head = await edge.publish(history, random.whole(1, 3));
        const leaving = new Set(clients.filter(() => random.chance(0.15)));
        for (const client of leaving) {
          if (random.chance(0.5)) client.socket.close();
          else edge.unsubscribe(client);
        }
        clients = clients.filter((client) => !leaving.has(client));
        const coming = edge.connect();
        edge.subscribe(coming);
        begins.set(coming, head + 1);
        slow(coming);
        clients.push(coming);
        if (random.chance(0.7)) await turn();
      }
      await settle(80);
      for (const client of clients) expect(revsTold(client)).toEqual(revsFrom(begins.get(client) ?? 0, head));
    }
  });

  it('[F11] a member who joins while a round is under way takes nobody’s turn', async () => {
    const edge = new EdgeHarness();
    const clients = await members(edge, 100);
    for (const { socket } of clients) {
      socket.beforeWrite = () => {
        edge.clock.skip(1);
      };
    }
    const history = edge.history();
    await edge.publish(history);
    await Promise.resolve();
    // Begins in the middle of the members, and so comes to the new one before it is round.
    await edge.publish(history);
    await turn();
    edge.subscribe(edge.connect());
    await settle(20);
    for (const client of clients) expect(revsTold(client)).toEqual([1, 2]);
  });

  it('[F11] a member who takes the place of one that left is still visited', async () => {
    const edge = new EdgeHarness();
    const clients = await members(edge, 100);
    for (const { socket } of clients) {
      socket.beforeWrite = () => {
        edge.clock.skip(1);
      };
    }
    await edge.publish(edge.history());
    await Promise.resolve();
    // Visited already; the last members, who were not, take their places.
    const gone = [clients[5], clients[10], clients[20]];
    for (const client of gone) client?.socket.close();
    await settle(20);
    const staying = clients.filter((client) => !gone.includes(client));
    for (const client of staying) expect(revsTold(client)).toEqual([1]);
  });

  it('[F12] a socket that fails is cut off and logged, the others get theirs', async () => {
    const { errors, logger } = errorLog();
    const edge = new EdgeHarness({}, { logger });
    const clients = await members(edge, 5);
    const failing = clients[1];
    if (failing === undefined) throw new Error('no client');
    failing.socket.beforeWrite = () => {
      throw new Error('this socket fails');
    };
    const history = edge.history();
    await edge.publish(history);
    await turn();
    await edge.publish(history);
    await turn();
    expect(failing.socket.closed).toBe('cut');
    expect(errors).toHaveLength(1);
    for (const client of clients.filter((each) => each !== failing)) expect(revsTold(client)).toEqual([1, 2]);
  });
});
