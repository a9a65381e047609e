import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EdgeSettings } from '../../services/edge/settings.js';
import { RevcastError } from '../../services/shared/errors.js';
import { Gate } from '../support/edge-doubles.js';
import { EdgeHarness, revsTold, told, type Client, type SubscribeOptions } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';
import { Random, testSeed } from '../support/random.js';

const KB = 1_000;

function payload(bytes: number): (rev: number) => string {
  return (rev) => JSON.stringify(`${rev} `.padEnd(bytes, 'x'));
}

function fault(): Promise<never> {
  return Promise.reject(new RevcastError('internal', 'the page does not follow'));
}

/** A ring that keeps nothing for resuming clients, and 5 revisions at most. */
const SMALL_RING = { ringKeepRevisions: 0, ringMaxRevisions: 5, pageRevisions: 4 };

async function edgeWith(settings: Partial<EdgeSettings> = SMALL_RING) {
  const edge = new EdgeHarness(settings);
  const history = edge.history();
  const fast = await edge.subscriber();
  const slow = await edge.subscriber();
  /** One at a time, with what that leads to. */
  const publish = async (count: number, bytes = 100) => {
    for (let i = 0; i < count; i += 1) {
      await edge.publish(history, 1, payload(bytes));
      await edge.settle();
    }
  };
  return { edge, history, fast, slow, publish };
}

function stateOf({ session }: Client): string | undefined {
  return session.members[0]?.state;
}

describe('a socket that does not take what it is sent', () => {
  it('[F14] is sent nothing more until it is empty, and then what it lacks, in one write', async () => {
    const { edge, fast, slow, publish } = await edgeWith({});
    slow.socket.kernelFree = 100;
    await publish(1);
    expect(stateOf(slow)).toBe('steady');
    await publish(5);
    expect([slow.socket.writes.length, stateOf(slow)]).toEqual([2, 'lagging']);
    slow.socket.take(100);
    await edge.settle();
    expect([slow.socket.writes.length, stateOf(slow)]).toEqual([2, 'lagging']);
    slow.socket.take(100_000);
    await edge.settle();
    expect([slow.socket.writes.length, stateOf(slow)]).toEqual([3, 'steady']);
    expect([revsTold(slow), revsTold(fast)]).toEqual([revsFrom(1, 6), revsFrom(1, 6)]);
  });

  it('[F14] holds the ring for a while, is overtaken, catches up from pages, and is steady again', async () => {
    const { edge, fast, slow, publish } = await edgeWith();
    const { counters } = edge.parts;
    slow.socket.kernelFree = 0;
    await publish(40);
    expect(revsTold(fast)).toEqual(revsFrom(1, 40));
    expect(counters).toMatchObject({ stragglersEntered: 0, ringEvictions: 1 });
    slow.socket.take(1_000_000);
    await edge.settle(40);
    expect(stateOf(slow)).toBe('steady');
    expect(revsTold(slow)).toEqual(revsFrom(1, 40));
    expect(counters).toMatchObject({ stragglersEntered: 1, stragglersLeft: 1 });
    await publish(2);
    expect(revsTold(slow)).toEqual(revsFrom(1, 42));
    expect([slow.socket.faults, fast.socket.faults]).toEqual([[], []]);
  });

  it('[F20] has one page at a time: the next is asked for when the one before was taken', async () => {
    const { edge, slow, publish } = await edgeWith({ ...SMALL_RING, pageCacheBytes: 0 });
    slow.socket.kernelFree = 0;
    await publish(40);
    const asked = edge.reader.asked.range;
    const writes = slow.socket.writes.length;
    // Room for what was sent, and a little of the first page.
    slow.socket.take(slow.socket.writes.reduce((sum, bytes) => sum + bytes, 0) + 50);
    await edge.settle(40);
    expect([edge.reader.asked.range, slow.socket.writes.length]).toEqual([asked + 1, writes + 1]);
    await edge.clock.advance(5_000);
    expect(edge.reader.asked.range).toBe(asked + 1);
    expect(slow.session.members[0]).toMatchObject({ state: 'catching-up', page: undefined });
    slow.socket.take(1_000_000);
    await edge.settle(60);
    expect([stateOf(slow), slow.session.members[0]?.page]).toEqual(['steady', undefined]);
    expect(revsTold(slow)).toEqual(revsFrom(1, 40));
  });

  it('[F20] in the middle of a page it holds none; what is still kept of the page is not asked for again', async () => {
    const { edge, slow, publish } = await edgeWith({ ...SMALL_RING, pageRevisions: 20 });
    slow.socket.kernelFree = 0;
    await publish(40, 10 * KB);
    // One revision a cork, four corks a visit.
    slow.socket.take(35 * KB);
    await edge.settle(40);
    const given = revsTold(slow).length;
    expect(given).toBeLessThan(10);
    expect(slow.session.members[0]).toMatchObject({ state: 'catching-up', page: undefined });
    const asked = edge.reader.asked.range;
    slow.socket.take(1_000_000);
    await edge.settle(100);
    expect(revsTold(slow)).toEqual(revsFrom(1, 40));
    // The second page, which was asked for ahead, and what it grew by meanwhile.
    expect(edge.reader.asked.range - asked).toBeLessThanOrEqual(1);
  });

  it('[F20] live traffic during a long catch-up: ring and pages stay bounded, the member holds nothing', async () => {
    const settings = { ringMaxRevisions: 50, ringMaxBytes: 300 * KB, pageRevisions: 50, pageCacheBytes: 500 * KB };
    const { edge, slow, publish } = await edgeWith(settings);
    slow.socket.kernelFree = 0;
    let largest = 0;
    for (let round = 0; round < 20; round += 1) {
      await publish(50, 1_000);
      slow.socket.take(20 * KB);
      await edge.settle(4);
      largest = Math.max(largest, edge.parts.pages.keptBytes);
      const { members } = slow.session;
      expect(members[0]?.room.ring.bytes).toBeLessThanOrEqual(settings.ringMaxBytes);
      expect(members[0]?.page).toBeUndefined();
      expect(edge.parts.catchUp.waitCount).toBeLessThanOrEqual(1);
    }
    expect(largest).toBeLessThanOrEqual(settings.pageCacheBytes);
    expect(largest).toBeGreaterThan(settings.pageCacheBytes / 4);
    expect(stateOf(slow)).toBe('catching-up');
    slow.socket.take(1e9);
    await edge.settle(300);
    expect(revsTold(slow)).toEqual(revsFrom(1, 1_000));
    expect(stateOf(slow)).toBe('steady');
  });

  it('[F14] many stragglers share pages and their frames', async () => {
    const { edge, publish } = await edgeWith();
    const slow: Client[] = [];
    for (let i = 0; i < 20; i += 1) slow.push(await edge.subscriber({ deflates: i % 2 === 0 }));
    for (const { socket } of slow) socket.kernelFree = 0;
    await publish(40, 2 * KB);
    const before = edge.parts.counters.snapshot();
    for (const { socket } of slow) socket.take(10_000_000);
    await edge.settle(60);
    for (const client of slow) expect(revsTold(client)).toEqual(revsFrom(1, 40));
    const { bodiesSerialized, bodiesDeflated, stragglersEntered, stragglersLeft } = edge.parts.counters;
    // 2 to 35 or so came from pages: each was serialized and deflated once more, for all.
    expect(bodiesSerialized - before.bodiesSerialized).toBeLessThanOrEqual(40);
    expect(bodiesDeflated - before.bodiesDeflated).toBeLessThanOrEqual(40);
    expect([stragglersEntered, stragglersLeft]).toEqual([20, 20]);
  });

  it('[F14] a page that cannot be had now is asked for again, also where the answer is at fault', async () => {
    const { edge, slow, publish } = await edgeWith();
    slow.socket.kernelFree = 0;
    await publish(20);
    edge.reader.nextRange(fault, fault);
    edge.reader.unavailable = true;
    slow.socket.take(1_000_000);
    await edge.clock.advance(3_000);
    const asked = edge.reader.asked.range;
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(12);
    edge.reader.unavailable = false;
    await edge.clock.advance(10_000);
    await edge.settle(40);
    expect(revsTold(slow)).toEqual(revsFrom(1, 20));
  });

  it('[F14] members whom the ring overtakes before a flush comes to them go on from pages, and are steady again', async () => {
    const edge = new EdgeHarness(SMALL_RING);
    const history = edge.history();
    const clients = [await edge.subscriber(), await edge.subscriber({ batch: true })];
    // In one turn, so that no flush comes between.
    for (let i = 0; i < 20; i += 1) await history.add(1);
    edge.live.deliver(...edge.store.entriesOf('doc-1'));
    await edge.settle(40);
    for (const client of clients) {
      expect(revsTold(client)).toEqual(revsFrom(1, 20));
      expect(client.session.members[0]).toMatchObject({ state: 'steady', page: undefined });
    }
    expect(edge.parts.counters).toMatchObject({ stragglersEntered: 2, stragglersLeft: 2 });
  });

  it('[F14] one that leaves while its page is fetched leaves nothing behind', async () => {
    const { edge, slow, publish } = await edgeWith();
    slow.socket.kernelFree = 0;
    await publish(20);
    const gate = new Gate();
    edge.reader.nextRange(async (query) => {
      await gate.promise;
      return edge.reader.real.range(query);
    });
    slow.socket.take(1_000_000);
    await edge.settle();
    const given = revsTold(slow);
    slow.socket.close();
    gate.open();
    await edge.clock.advance(5_000);
    expect(revsTold(slow)).toEqual(given);
    expect(edge.parts.counters).toMatchObject({ stragglersEntered: 1, stragglersLeft: 1 });
  });

  it('[D4] one whose next revision is no longer kept is told so, with the oldest and the head', async () => {
    const edge = new EdgeHarness(SMALL_RING, { keep: 10 });
    const history = edge.history();
    const slow = await edge.subscriber();
    slow.socket.kernelFree = 0;
    for (let i = 0; i < 40; i += 1) {
      await edge.publish(history);
      await edge.settle();
    }
    slow.socket.take(1_000_000);
    await edge.settle(40);
    const firstRev = edge.store.entriesOf('doc-1')[0]?.firstRev;
    const last = JSON.parse(slow.socket.messages.at(-1) ?? '{}') as unknown;
    expect(last).toMatchObject({ data: { error: { code: 'history_truncated', firstRev, head: { rev: 40 } } } });
    expect(slow.session.members).toEqual([]);
    expect(told(slow).slice(0, -1)).toEqual(['subscribed doc-1 at 0', 'doc-1/1']);
  });

  it('[D8] with several rooms: each goes on from its own cursor', async () => {
    const edge = new EdgeHarness(SMALL_RING);
    const rooms = ['a', 'b', 'c'].map((name) => edge.history(name));
    const client = edge.connect();
    for (const { room } of rooms) edge.subscribe(client, { room });
    await edge.clock.advance(10);
    client.socket.kernelFree = 0;
    for (let i = 0; i < 30; i += 1) {
      for (const [index, history] of rooms.entries())
        if (i % (index + 1) === 0) await edge.publish(history, 1, payload(KB));
      await edge.settle();
    }
    client.socket.take(10_000_000);
    await edge.settle(100);
    expect(rooms.map(({ room }) => revsTold(client, room))).toEqual([
      revsFrom(1, 30),
      revsFrom(1, 15),
      revsFrom(1, 10),
    ]);
    expect(client.socket.faults).toEqual([]);
  });
});

describe('rooms of the policy latest', () => {
  it('[F17] a lagging member skips to the newest, the others are given every revision', async () => {
    const { edge, fast, slow, publish } = await edgeWith({ ...SMALL_RING, latestRooms: 'doc-*' });
    slow.socket.kernelFree = 0;
    await publish(40);
    slow.socket.take(1_000_000);
    await edge.settle(40);
    expect([revsTold(slow), revsTold(fast)]).toEqual([[1, 40], revsFrom(1, 40)]);
    expect(edge.parts.counters).toMatchObject({ revisionsSkipped: 38, stragglersEntered: 0 });
    await publish(3);
    expect(revsTold(slow)).toEqual([1, 40, 41, 42, 43]);
  });

  it('[F17] a member that waits for a page is not held up by it', async () => {
    const { edge, publish } = await edgeWith({ ...SMALL_RING, latestRooms: '*' });
    await publish(30);
    const gate = new Gate();
    edge.reader.nextRange(edge.reader.real.range.bind(edge.reader.real), async (query) => {
      await gate.promise;
      return edge.reader.real.range(query);
    });
    const late = edge.connect();
    edge.subscribe(late, { since: { epoch: 'e1', rev: 3 } });
    await edge.settle();
    await publish(1);
    gate.open();
    await edge.settle(20);
    await publish(1);
    const revs = revsTold(late);
    expect(revs.at(-1)).toBe(32);
    expect([...new Set(revs)].sort((one, other) => one - other)).toEqual(revs);
    expect(late.session.members[0]).toMatchObject({ state: 'steady', page: undefined });
  });
});

describe('anything at all', () => {
  const seed = testSeed();
  const KINDS: [string, Partial<EdgeSettings>, SubscribeOptions & { deflates?: boolean }][] = [
    ['plain', {}, {}],
    ['in batches', {}, { batch: true }],
    ['compressed', { deflateMinSaving: 0 }, { deflates: true }],
    ['compressed, in batches', { deflateMinSaving: 0 }, { deflates: true, batch: true }],
    ['compressed per socket', { deflate: 'per-socket' }, { deflates: true }],
    ['serialized per socket', { fanout: 'per-socket' }, { deflates: true }],
    ['scanning ring', { ring: 'scan' }, {}],
    ['sync', { flush: 'sync' }, {}],
  ];
  it.each(KINDS)(
    `[F13] every message whole, in order, by the rules of the socket: %s (seed ${seed})`,
    async (...kind) => {
      const [, settings, options] = kind;
      const random = new Random(seed);
      for (let round = 0; round < 2; round += 1) {
        const edge = new EdgeHarness({ ...SMALL_RING, ringMaxRevisions: random.whole(1, 20), ...settings });
        const rooms = [edge.history('a'), edge.history('b')];
        const clients: Client[] = [];
        for (let i = 0; i < 6; i += 1) {
          const client = await edge.subscriber({ ...options, room: 'a' });
          edge.subscribe(client, { ...options, room: 'b' });
          clients.push(client);
        }
        await edge.clock.advance(10);
        for (const { socket } of clients) socket.kernelFree = random.whole(0, 50 * KB);
        for (let step = 0; step < 40; step += 1) {
          const size = random.pick([10, 300, 4 * KB, 15.5 * KB, 17 * KB, 60 * KB]);
          await edge.publish(
            random.pick([rooms[0] ?? edge.history(), rooms[1] ?? edge.history()]),
            random.whole(1, 3),
            payload(size),
          );
          for (const { socket } of clients) if (random.chance(0.3)) socket.take(random.whole(1, 60 * KB));
          if (random.chance(0.7)) await edge.settle(2);
        }
        for (const { socket } of clients) socket.take(1e9);
        await edge.settle(150);
        for (const client of clients) {
          expect(client.socket.faults).toEqual([]);
          for (const history of rooms) {
            expect(revisionTexts(client, history.room).map(digest)).toEqual(history.texts().map(digest));
          }
          expect(client.socket.largestCork).toBeLessThan(16_000);
          expect(client.session.members.map(({ state }) => state)).toEqual(['steady', 'steady']);
        }
      }
    },
  );
});

interface Told {
  readonly room?: string;
  readonly subscribed?: boolean;
}

/** Short, so that a failure can be read. */
function digest(text: string): string {
  return `${text.slice(0, 40)} ${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

/** The revisions' JSON texts, byte for byte, out of single messages or batches. */
function revisionTexts({ socket }: Client, room: string): string[] {
  const texts: string[] = [];
  for (const message of socket.messages) {
    const { data } = JSON.parse(message) as { data: Told | Told[] };
    const all = Array.isArray(data) ? data : [data];
    if (all.some(({ subscribed }) => subscribed !== undefined) || all[0]?.room !== room) continue;
    const inside = message.slice(message.indexOf('"data":') + '"data":'.length, -1);
    texts.push(...(Array.isArray(data) ? inside.slice(1, -1).split(/(?<=\}),(?=\{"room":)/u) : [inside]));
  }
  return texts;
}
