import { describe, expect, it } from 'vitest';
import { Gate } from '../support/edge-doubles.js';
import { EdgeHarness, revsTold, told } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';
import { LogLines } from '../support/log-lines.js';

const LINGER_MS = 5_000;

/** An edge with a client in a room whose next entry the live path loses. */
async function losing(lookEveryMs = 30_000) {
  const edge = new EdgeHarness({ lookEveryMs });
  const history = edge.history();
  const client = await edge.subscriber();
  return { edge, history, client };
}

describe('the rooms that an edge follows', () => {
  it('[F16] however many want it, a room is followed once, and opened once', async () => {
    const edge = new EdgeHarness();
    const clients = revsFrom(1, 50).map(() => edge.connect());
    for (const client of clients) edge.subscribe(client);
    await edge.clock.advance(10);
    expect([edge.live.followed, edge.live.followers('doc-1'), edge.reader.asked.heads]).toEqual([1, 1, 1]);
    expect(edge.parts.rooms.count).toBe(1);
    for (const client of clients) expect(told(client)).toEqual(['subscribed doc-1 at 0']);
  });

  it('[F16] many rooms that open together ask for their heads together', async () => {
    const edge = new EdgeHarness();
    const client = edge.connect();
    for (let i = 0; i < 500; i += 1) edge.subscribe(client, { room: `room-${i}` });
    await edge.clock.advance(10);
    expect(edge.reader.headsAsked.map((known) => known.length)).toEqual([500]);
  });

  it('[F16] a room that cannot be opened is told to all who wanted it, and tried again for the next', async () => {
    const edge = new EdgeHarness();
    edge.reader.unavailable = true;
    const clients = [edge.connect(), edge.connect()];
    for (const client of clients) edge.subscribe(client);
    await edge.clock.advance(10);
    for (const client of clients) expect(told(client)).toEqual(['log_unavailable']);
    expect([edge.parts.rooms.count, edge.live.followers('doc-1')]).toEqual([0, 0]);
    edge.reader.unavailable = false;
    for (const client of clients) edge.subscribe(client);
    await edge.clock.advance(10);
    for (const client of clients) expect(told(client)).toEqual(['log_unavailable', 'subscribed doc-1 at 0']);
  });

  it('[F16] an empty room is followed a while longer, then dropped; who comes meanwhile finds it open', async () => {
    const edge = new EdgeHarness({ lingerMs: LINGER_MS });
    const client = await edge.subscriber();
    client.socket.close();
    await edge.clock.advance(LINGER_MS - 100);
    const next = edge.connect();
    edge.subscribe(next);
    await edge.settle(1);
    expect(told(next)).toEqual(['subscribed doc-1 at 0']);
    await edge.clock.advance(LINGER_MS * 2);
    expect(edge.parts.rooms.count).toBe(1);
    next.socket.close();
    await edge.clock.advance(LINGER_MS - 100);
    expect(edge.live.followers('doc-1')).toBe(1);
    await edge.clock.advance(200);
    expect([edge.parts.rooms.count, edge.live.followers('doc-1')]).toEqual([0, 0]);
  });

  it('[F16] too_many_rooms beyond the edge’s limit; rooms that are open go on', async () => {
    const edge = new EdgeHarness({ maxRooms: 2, lingerMs: 0 });
    const client = edge.connect();
    for (const room of ['a', 'b', 'c']) edge.subscribe(client, { room });
    await edge.clock.advance(10);
    expect(told(client)).toEqual(['too_many_rooms', 'subscribed a at 0', 'subscribed b at 0']);
    edge.unsubscribe(client, 'a');
    await edge.clock.advance(10);
    edge.subscribe(client, { room: 'c' });
    await edge.clock.advance(10);
    expect(told(client).at(-1)).toBe('subscribed c at 0');
  });

  it('[F16] rooms that only linger give way to others', async () => {
    const edge = new EdgeHarness({ maxRooms: 2, lingerMs: LINGER_MS });
    const client = edge.connect();
    for (const room of ['a', 'b']) edge.subscribe(client, { room });
    await edge.clock.advance(10);
    edge.unsubscribe(client, 'a');
    edge.subscribe(client, { room: 'c' });
    await edge.clock.advance(10);
    expect(told(client).slice(2)).toEqual(['unsubscribed a', 'subscribed c at 0']);
    expect([edge.parts.rooms.count, edge.live.followers('a'), edge.live.followers('b')]).toEqual([2, 0, 1]);
    edge.subscribe(client, { room: 'a' });
    await edge.clock.advance(LINGER_MS);
    expect(told(client).at(-1)).toBe('too_many_rooms');
    expect(edge.parts.rooms.count).toBe(2);
  });

  it('[F16] closing ends what is followed, what is opening and what is waited for', async () => {
    const edge = new EdgeHarness();
    await edge.subscriber();
    const gate = new Gate();
    edge.reader.nextHeads(async () => {
      await gate.promise;
      return [{ room: 'doc-2', head: null }];
    });
    const opening = edge.connect();
    edge.subscribe(opening, { room: 'doc-2' });
    await edge.clock.advance(10);
    edge.parts.rooms.close();
    gate.open();
    await edge.clock.advance(10);
    expect(told(opening)).toEqual(['shutting_down']);
    expect([edge.live.followers('doc-1'), edge.live.followers('doc-2'), edge.parts.rooms.count]).toEqual([0, 0, 0]);
    edge.live.disturb('reconnected');
    await edge.clock.advance(100_000);
    expect(edge.reader.asked.heads).toBe(2);
    edge.parts.rooms.close();
  });
});

describe('what was lost without a sign', () => {
  it('[D5] is found by a second look, 0.5 to 1 s after the room was opened', async () => {
    const { edge, history, client } = await losing();
    await history.add(2);
    await edge.clock.advance(450);
    expect(revsTold(client)).toEqual([]);
    await edge.clock.advance(700);
    expect(revsTold(client)).toEqual([1, 2]);
  });

  it('[D5] is found at once after a reconnect, and within half a second of a new leader', async () => {
    const { edge, history, client } = await losing();
    await edge.clock.advance(2_000);
    await history.add(2);
    edge.live.disturb('reconnected');
    await edge.clock.advance(60);
    expect(revsTold(client)).toEqual([1, 2]);
    await history.add(1);
    edge.live.disturb('leader_elected');
    await edge.clock.advance(600);
    expect(revsTold(client)).toEqual([1, 2, 3]);
  });

  it('[D5] is found by the timer as the last resort, again and again, all rooms in one question', async () => {
    const { edge, history, client } = await losing(10_000);
    edge.subscribe(client, { room: 'doc-2' });
    await edge.clock.advance(2_000);
    const asked = edge.reader.asked.heads;
    for (let round = 1; round <= 3; round += 1) {
      await history.add(1);
      await edge.clock.advance(10_100);
      expect(revsTold(client)).toEqual(revsFrom(1, round));
      expect(edge.reader.asked.heads).toBe(asked + round);
    }
    expect(edge.reader.headsAsked.at(-1)).toHaveLength(2);
  });

  it('[D5] is found as soon as the log answers again', async () => {
    const { edge, history, client } = await losing(1_000);
    await edge.clock.advance(2_000);
    await history.add(1);
    edge.reader.unavailable = true;
    await edge.clock.advance(5_000);
    expect(revsTold(client)).toEqual([]);
    edge.reader.unavailable = false;
    await edge.clock.advance(1_100);
    expect(revsTold(client)).toEqual([1]);
  });

  it('[D5] is found soon after the revision service answers again, when it is back later than NATS', async () => {
    const { edge, history, client } = await losing(3_600_000);
    edge.subscribe(client, { room: 'doc-2' });
    await edge.clock.advance(2_000);
    await history.add(2);
    edge.reader.unavailable = true;
    edge.live.disturb('reconnected');
    await edge.clock.advance(1_000);
    expect(revsTold(client)).toEqual([]);
    edge.reader.unavailable = false;
    await edge.clock.advance(2_500);
    expect(revsTold(client)).toEqual([1, 2]);
    expect(edge.reader.headsAsked.at(-1)?.map(({ room }) => room)).toEqual(['doc-1', 'doc-2']);
    // All are confirmed: nothing more is asked.
    const asked = edge.reader.asked.heads;
    await edge.clock.advance(60_000);
    expect(edge.reader.asked.heads).toBe(asked);
  });

  it('[D5] is found soon after a producer’s hint, of that room, and of no room that is not followed', async () => {
    const { edge, history, client } = await losing(3_600_000);
    edge.subscribe(client, { room: 'doc-2' });
    await edge.clock.advance(2_000);
    const asked = edge.reader.asked.heads;
    await history.add(2);
    edge.live.disturb('hinted', 'doc-3');
    await edge.clock.advance(1_000);
    expect([edge.reader.asked.heads, revsTold(client)]).toEqual([asked, []]);
    edge.live.disturb('hinted', 'doc-1');
    await edge.clock.advance(110);
    expect(revsTold(client)).toEqual([1, 2]);
    expect(edge.reader.headsAsked.at(-1)?.map(({ room }) => room)).toEqual(['doc-1']);
    // The room falls silent: nothing more is asked, nothing is missing.
    await edge.clock.advance(60_000);
    expect([edge.reader.asked.heads, revsTold(client)]).toEqual([asked + 1, [1, 2]]);
  });
});

describe('while nobody answers', () => {
  it('[D5] an edge with many rooms says so once, not for each of them, nor each time it asks', async () => {
    const output = new LogLines();
    const edge = new EdgeHarness({ lookEveryMs: 1_000 }, { logger: output.logger });
    const client = edge.connect();
    for (const room of revsFrom(1, 300)) edge.subscribe(client, { room: `room-${room}` });
    await edge.clock.advance(2_000);
    edge.reader.unavailable = true;
    await edge.clock.advance(3_000);
    expect(output.lines.map(({ msg }) => msg)).toEqual(['rooms: their heads could not be confirmed']);
    edge.reader.unavailable = false;
    await edge.clock.advance(8_000);
    edge.reader.unavailable = true;
    await edge.clock.advance(1_100);
    expect(output.lines).toHaveLength(2);
  });
});

describe('an edge with 500 rooms asks for all heads in one request', () => {
  const ROOMS = 500;
  const rooms = revsFrom(1, ROOMS).map((i) => `room-${i}`);

  /** All open; `lose` adds a revision to each that the live path loses. */
  async function opened() {
    const edge = new EdgeHarness({ lookEveryMs: 30_000 });
    const client = edge.connect();
    for (const room of rooms) edge.subscribe(client, { room });
    await edge.clock.advance(10);
    const histories = rooms.map((room) => edge.history(room));
    let rev = 0;
    const lose = async () => {
      for (const history of histories) await history.add(1);
      rev += 1;
    };
    const expectAll = () => {
      expect(edge.reader.headsAsked.at(-1)).toHaveLength(ROOMS);
      const given = new Map<string, number[]>();
      for (const each of told(client)) {
        const [room = '', number] = each.split('/');
        if (number !== undefined) given.set(room, [...(given.get(room) ?? []), Number(number)]);
      }
      for (const room of rooms) expect({ room, revs: given.get(room) }).toEqual({ room, revs: revsFrom(1, rev) });
    };
    return { edge, lose, expectAll };
  }

  it('[D5] at the second look, at a reconnect, at a new leader, at hints, and by the timer after 30 s', async () => {
    const { edge, lose, expectAll } = await opened();
    const { live, clock } = edge;
    const occasions: [string, () => Promise<void>][] = [
      ['second look', () => clock.advance(1_000)],
      [
        'reconnect',
        async () => {
          live.disturb('reconnected');
          await clock.advance(100);
        },
      ],
      [
        'new leader',
        async () => {
          live.disturb('leader_elected');
          await clock.advance(600);
        },
      ],
      [
        'hints, several of each room',
        async () => {
          for (let i = 0; i < 3; i += 1) for (const room of rooms) live.disturb('hinted', room);
          await clock.advance(200);
        },
      ],
      ['timer', () => clock.advance(30_000)],
    ];
    for (const [occasion, disturb] of occasions) {
      await lose();
      const before = edge.reader.asked.heads;
      await disturb();
      expect({ occasion, requests: edge.reader.asked.heads - before }).toEqual({ occasion, requests: 1 });
      expectAll();
    }
  });
});

describe('a room that cannot be read', () => {
  it('[D8] is refused, and does not keep the other rooms from being compared', async () => {
    const { edge, history, client } = await losing();
    edge.reader.nextHeads(() => Promise.resolve([]));
    const other = edge.connect();
    edge.subscribe(other, { room: 'broken' });
    await edge.clock.advance(10);
    expect(told(other)).toEqual(['internal']);
    await history.add(1);
    await edge.clock.advance(1_100);
    expect(revsTold(client)).toEqual([1]);
  });
});
