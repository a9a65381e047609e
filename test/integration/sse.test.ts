import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { slotsOf } from '../../services/edge/slot.js';
import { revisionJson } from '../../services/log/revision-json.js';
import { RevcastError } from '../../services/shared/errors.js';
import { TestEdge, type TestEdgeOptions } from '../support/edge.js';
import { revsFrom } from '../support/feed-parts.js';
import { settle } from '../support/manual-clock.js';
import { RawClient } from '../support/raw-client.js';
import { SseClient } from '../support/sse-client.js';
import { waitFor } from '../support/wait-for.js';

let edge: TestEdge;
let clients: SseClient[] = [];

async function start(options: TestEdgeOptions = {}): Promise<void> {
  edge = await TestEdge.start(options);
}

function pathOf(rooms: readonly string[], query = ''): string {
  return `/v1/sse?${rooms.map((room) => `room=${encodeURIComponent(room)}`).join('&')}${query}`;
}

async function open(rooms: readonly string[], query = '', lastEventId = '', at = edge): Promise<SseClient> {
  const client = await SseClient.open(`${at.url}${pathOf(rooms, query)}`, lastEventId);
  clients.push(client);
  return client;
}

beforeEach(() => {
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.destroy();
  await edge.stop();
});

describe('a stream of one room', () => {
  it('[V1] every revision is an event, its data what the plain protocol carries, byte for byte', async () => {
    await start();
    await edge.append('a é', '{"n":1.0}', '"\\n\\r\u2028 : id: data: 😀"');
    const client = await open(['a é'], '&since=0');
    expect(client.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    await client.upTo('a é', 2);
    await edge.append('a é', '{\n "spaced": [1,\r\n2] }', '4');
    await client.upTo('a é', 4);
    const texts = edge.store.entriesOf('a é').flatMap((entry) => slotsOf(entry).map(({ revision }) => revision));
    const expected = texts.map((revision) =>
      revisionJson(revision)
        .toString()
        .replaceAll(/[\r\n]/gu, ' '),
    );
    const revisions = client.events.filter(({ type }) => type === 'message');
    expect(revisions.map(({ data }) => data)).toEqual(expected);
    expect(client.told('subscribed')).toEqual([{ subscribed: true, room: 'a é', epoch: texts[0]?.epoch, rev: 0 }]);
  });

  it('[V4] begins after the head, at the oldest kept, after a position, or with the snapshot', async () => {
    await start();
    const { epoch, tag } = await edge.append('a', '1', '2', '3');
    await edge.log.putSnapshot('a', { rev: 2, data: Buffer.from('{"text":"x"}') });
    const streams = {
      now: await open(['a']),
      first: await open(['a'], '&since=0'),
      position: await open(['a'], `&since=${epoch}.1.${tag}`),
      untagged: await open(['a'], `&since=${epoch}.2.`),
      snapshot: await open(['a'], '&since=snapshot'),
      header: await open(['a'], '&since=0', `${epoch}.3.${tag}`),
    };
    for (const client of Object.values(streams)) await client.toldOf('subscribed');
    await edge.append('a', '4');
    expect(await streams.now.upTo('a', 4)).toEqual([4]);
    expect(await streams.first.upTo('a', 4)).toEqual([1, 2, 3, 4]);
    expect(await streams.position.upTo('a', 4)).toEqual([2, 3, 4]);
    expect(await streams.untagged.upTo('a', 4)).toEqual([3, 4]);
    expect(await streams.snapshot.upTo('a', 4)).toEqual([3, 4]);
    expect(await streams.header.upTo('a', 4)).toEqual([4]);
    expect(streams.now.told('subscribed')).toEqual([{ subscribed: true, room: 'a', epoch, rev: 3, tag }]);
    expect(streams.snapshot.told('subscribed')).toMatchObject([{ rev: 2, snapshot: { rev: 2, data: { text: 'x' } } }]);
    // What it was told first is a position too.
    const id = streams.snapshot.events[0]?.lastEventId;
    expect(await (await open(['a'], '', id)).upTo('a', 4)).toEqual([3, 4]);
  });

  it('[V4] the snapshot of a room that has none is null', async () => {
    await start();
    await edge.append('a', '1');
    const client = await open(['a'], '&since=snapshot');
    expect(await client.upTo('a', 1)).toEqual([1]);
    expect(client.told('subscribed')).toMatchObject([{ rev: 0, snapshot: null }]);
  });

  it('[V1] with batch=true several revisions may come in one event, a list', async () => {
    await start();
    await edge.appendMany('a', 10);
    const client = await open(['a'], '&since=0&batch=true');
    expect(await client.upTo('a', 10)).toEqual(revsFrom(1, 10));
    expect(client.events.filter(({ type }) => type === 'message')).toHaveLength(1);
    const again = await open(['a'], '', client.lastEventId);
    await again.toldOf('subscribed');
    await edge.append('a', '11');
    expect(await again.upTo('a', 11)).toEqual([11]);
  });

  it('[V2] any id it has seen, also the one before any revision, resumes it without a hole or a repeat', async () => {
    await start({ settings: { ringKeepRevisions: 5, pageRevisions: 4 } });
    const first = await open(['a']);
    await first.toldOf('subscribed');
    for (let n = 1; n <= 20; n += 1) await edge.append('a', `${n}`);
    await first.upTo('a', 20);
    for (const [seen, { lastEventId }] of first.events.slice().entries()) {
      const again = await open(['a'], '', lastEventId);
      await edge.append('a', '0');
      const last = 21 + seen;
      expect(await again.upTo('a', last)).toEqual(revsFrom(seen + 1, last));
      again.destroy();
    }
  });
});

describe('a stream of several rooms', () => {
  const ROOMS = ['a', 'b', 'c', 'd'];

  it('[V3] has all of them, and any id resumes all of them, at another edge too', async () => {
    await start();
    const other = await TestEdge.start({ live: edge.log, reader: edge.reader });
    const first = await open(ROOMS);
    await first.toldOf('subscribed', ROOMS.length);
    for (let n = 1; n <= 30; n += 1) {
      for (const room of ROOMS.slice(n % 3)) await edge.append(room, `${n}`);
    }
    for (const room of ROOMS) await waitFor(() => first.revs(room).length >= 10, { what: room });
    const heads = new Map(ROOMS.map((room) => [room, edge.store.entriesOf(room).length]));
    for (const room of ROOMS) await first.upTo(room, heads.get(room) ?? 0);
    for (let cut = 0; cut < first.events.length; cut += 7) {
      const seen = first.events.slice(0, cut + 1);
      const again = await open(ROOMS, '', seen.at(-1)?.lastEventId, other);
      for (const room of ROOMS) {
        const before = seen.filter(({ type, data }) => type === 'message' && data.includes(`{"room":"${room}"`)).length;
        const isJoined = seen.some(({ type, data }) => type === 'subscribed' && data.includes(`"${room}"`));
        // It was not told that the room is followed: it begins now.
        if (!isJoined) continue;
        const rest = revsFrom(before + 1, heads.get(room) ?? 0);
        await waitFor(() => again.revs(room).length === rest.length, { what: `${room} behind ${cut}` });
        expect(again.revs(room)).toEqual(rest);
      }
      again.destroy();
    }
    await other.stop();
  });

  it('[V3] an id of a stream with other rooms is refused', async () => {
    await start();
    for (const id of ['x.1.', '0:x.1.,0:x.2.', '4:x.1.', '0:x.1.,', 'nonsense', '0:x.-1.', '!']) {
      const client = await open(ROOMS, '', id);
      expect(client.status).toBe(400);
    }
  });

  it('[V3] bursts in many rooms at once are whole and in order', async () => {
    await start();
    const rooms = revsFrom(1, 32).map((n) => `room ${n}`);
    const client = await open(rooms);
    await client.toldOf('subscribed', rooms.length);
    for (let round = 1; round <= 5; round += 1) {
      await Promise.all(rooms.map((room) => edge.append(room, ...revsFrom(1, 20).map(String))));
    }
    for (const room of rooms) expect(await client.upTo(room, 100)).toEqual(revsFrom(1, 100));
  });
});

describe('what is not there any more', () => {
  it('[V5] is refused in an event, the stream ends, and coming back is answered 204', async () => {
    await start({ keep: 5 });
    const { epoch } = await edge.appendMany('a', 20);
    for (const [since, code] of [
      [`${epoch}.2.`, 'history_truncated'],
      ['another.2.01020304', 'epoch_changed'],
      [`${epoch}.20.00000000`, 'epoch_changed'],
      [`${epoch}.99.`, 'epoch_changed'],
    ] as const) {
      const client = await open(['a'], '', since);
      expect(await client.untilEnded()).toBe('whole');
      expect(client.told('refused')).toMatchObject([{ room: 'a', error: { code, head: { epoch, rev: 20 } } }]);
      expect(client.events).toHaveLength(1);
      expect((await open(['a'], '', client.lastEventId)).status).toBe(204);
    }
  });

  it('[V5] of several rooms: the others go on, also after coming back', async () => {
    await start();
    const { epoch, tag } = await edge.append('a', '1');
    const client = await open(['gone', 'a'], '', `0:another.7.01020304,1:${epoch}.1.${tag}`);
    expect(await client.toldOf('refused')).toMatchObject([{ room: 'gone', error: { code: 'epoch_changed' } }]);
    await client.toldOf('subscribed');
    await edge.append('a', '2');
    await edge.append('gone', '1');
    await client.upTo('a', 2);
    expect([client.ended, client.revs('gone')]).toEqual([undefined, []]);
    const again = await open(['gone', 'a'], '', client.lastEventId);
    await again.toldOf('subscribed');
    await edge.append('a', '3');
    await edge.append('gone', '2');
    expect(await again.upTo('a', 3)).toEqual([3]);
    expect([again.told('refused'), again.revs('gone'), again.ended]).toEqual([[], [], undefined]);
  });

  it('[V5] a history that is replaced under open streams: they are told, and end', async () => {
    await start();
    const { epoch } = await edge.append('a', '1', '2');
    const streams = await Promise.all(revsFrom(1, 20).map(() => open(['a'], '&since=0')));
    const both = await open(['a', 'b']);
    for (const client of streams) await client.upTo('a', 2);
    await both.toldOf('subscribed', 2);
    await edge.log.putSnapshot('a', { rev: 7, data: Buffer.from('"anew"'), replaces: epoch });
    await edge.append('a', '8');
    for (const client of streams) {
      expect(await client.untilEnded()).toBe('whole');
      expect(client.revs('a')).toEqual([1, 2]);
      expect(client.told('refused')).toMatchObject([{ room: 'a', error: { code: 'epoch_changed' } }]);
      expect((await open(['a'], '&since=0', client.lastEventId)).status).toBe(204);
    }
    await both.toldOf('refused');
    await edge.append('b', '1');
    expect(await both.upTo('b', 1)).toEqual([1]);
    expect([both.revs('a'), both.ended]).toEqual([[], undefined]);
  });

  it('[V6] what may pass is told, and the client comes back with the position that it has', async () => {
    await start({
      settings: { openTimeoutMs: 150 },
      live: (log) => ({
        follow: (rooms, onEntry) => ({
          ...log.follow(rooms, onEntry),
          ready: rooms.includes('b') ? new Promise(() => undefined) : Promise.resolve(),
        }),
        onDisturbance: (listener) => log.onDisturbance(listener),
        status: () => log.status(),
        close: () => log.close(),
      }),
    });
    await edge.append('a', '1');
    const client = await open(['a', 'b'], '&since=0');
    expect(await client.untilEnded()).toBe('whole');
    expect(client.told('unavailable')).toMatchObject([{ room: 'b', error: { code: 'log_unavailable' } }]);
    expect(client.revs('a')).toEqual([1]);
    expect(client.lastEventId).toMatch(/^0:[\w-]+\.1\./u);
  });
});

describe('requests', () => {
  it.each([
    ['', 400, 'invalid_request', 'room is missing'],
    ['?room=', 400, 'invalid_room', 'empty'],
    ['?room=%01', 400, 'invalid_room', 'control'],
    ['?room=%ff', 400, 'invalid_request', 'UTF-8'],
    ['?room=%C3%A9&room=e%CC%81', 400, 'invalid_request', 'twice'],
    ['?room=a&rooms=b', 400, 'invalid_request', 'rooms is not known'],
    ['?room=a&since=5', 400, 'invalid_request', 'since is not an id'],
    ['?room=a&since=0&since=0', 400, 'invalid_request', 'more than once'],
    ['?room=a&batch=yes', 400, 'invalid_request', 'batch'],
    [
      `?${revsFrom(1, 33)
        .map((n) => `room=${n}`)
        .join('&')}`,
      429,
      'too_many_rooms',
      '32',
    ],
  ])('[V7] %.40s: refused before the stream begins', async (query, status, code, says) => {
    await start();
    const response = await fetch(`${edge.url}/v1/sse${query}`);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    expect([response.status, error.code, error.message]).toEqual([status, code, expect.stringContaining(says)]);
    expect(edge.edge.counters().sockets).toBe(0);
  });

  it('[V7] other methods: 405', async () => {
    await start();
    for (const method of ['POST', 'HEAD', 'PUT', 'OPTIONS']) {
      const response = await fetch(`${edge.url}/v1/sse?room=a`, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET']);
    }
    expect((await fetch(`${edge.url}/v1/sse/x`)).status).toBe(404);
  });

  it('[V7] streams count as sockets: beyond the most the answer is 503 with Retry-After', async () => {
    await start({ settings: { maxSockets: 2 } });
    const first = await open(['a']);
    await open(['a']);
    const answer = await fetch(`${edge.url}/v1/sse?room=a`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-5]$/u)]);
    first.destroy();
    await waitFor(() => edge.edge.counters().sockets === 1, { what: 'one is gone' });
    expect((await open(['a'])).status).toBe(200);
  });

  it('[V7] headers of 16 KB are read, in however many pieces they come', async () => {
    await start();
    const request = `GET ${pathOf(['a'])} HTTP/1.1\r\nHost: a\r\nCookie: ${'c'.repeat(12_000)}\r\n\r\n`;
    const client = await RawClient.open(edge.port, request.slice(0, 1_400));
    for (let at = 1_400; at < request.length; at += 1_400) {
      await settle(20);
      client.socket.write(request.slice(at, at + 1_400));
    }
    await waitFor(() => client.rest.includes('subscribed'), { what: 'the answer' });
    expect(client.status).toBe(200);
    client.destroy();
  });

  it('[V11] pages of other origins may read what EDGE_ALLOWED_ORIGINS allows', async () => {
    const headerFor = async (origin: string, query = '?room=a') => {
      const abort = new AbortController();
      const response = await fetch(`${edge.url}/v1/sse${query}`, { headers: { origin }, signal: abort.signal });
      abort.abort();
      return [response.headers.get('access-control-allow-origin'), response.headers.get('vary')];
    };
    await start();
    expect(await headerFor('https://a.example')).toEqual([null, null]);
    await edge.stop();
    await start({ settings: { allowedOrigins: 'https://a.example, https://b.example:8443' } });
    expect(await headerFor('https://a.example')).toEqual(['https://a.example', 'Origin']);
    expect(await headerFor('https://b.example:8443', '')).toEqual(['https://b.example:8443', 'Origin']);
    expect(await headerFor('https://a.example.evil')).toEqual([null, 'Origin']);
    await edge.stop();
    await start({ settings: { allowedOrigins: '*' } });
    expect(await headerFor('https://a.example')).toEqual(['*', null]);
  });
});

describe('a stopping edge', () => {
  it('[V10] flushes what is queued, says when to come back, and ends the stream', async () => {
    await start({ settings: { flushMs: 10_000, sseRetryMs: 10_000 } });
    const streams = await Promise.all(revsFrom(1, 30).map(() => open(['a'])));
    for (const client of streams) await client.toldOf('subscribed');
    await edge.appendMany('a', 5);
    await waitFor(() => edge.edge.counters().revisionsFlushed === 5, { what: 'five revisions queued' });
    await edge.stop();
    for (const client of streams) {
      expect(await client.untilEnded()).toBe('whole');
      expect(client.revs('a')).toEqual([1, 2, 3, 4, 5]);
      for (const retry of client.retries) expect(retry).toSatisfy((ms: number) => ms >= 5_000 && ms <= 15_000);
    }
    // Spread, so that they do not all come at once.
    expect(new Set(streams.map(({ retries }) => retries.at(-1))).size).toBeGreaterThan(10);
  });

  it('[V10] a request on a connection that was open already is sent away in a way that a browser comes back', async () => {
    await start({ settings: { closeTimeoutMs: 10_000 } });
    const kept = await RawClient.open(edge.port, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
    await kept.answer();
    const stalled = await RawClient.open(edge.port, `GET ${pathOf(['a'])} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await waitFor(() => stalled.rest.includes('subscribed'), { what: 'the answer' });
    stalled.socket.pause();
    for (const part of ['x', 'y']) await edge.append('a', JSON.stringify(part.repeat(6_000_000)));
    await waitFor(() => edge.edge.counters().deliveries > 0, { what: 'the revision is written' });
    const stopping = edge.stop();
    kept.socket.write(`GET ${pathOf(['a'])} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await waitFor(() => kept.rest.includes('retry: '), { what: 'when to come back' });
    expect(kept.rest.toString()).toMatch(/HTTP\/1\.1 200 OK[^]*Connection: close[^]*retry: \d+\n\n\r\n0\r\n\r\n$/u);
    stalled.socket.resume();
    await stopping;
    // What its kernel has is its own to read.
    await waitFor(() => stalled.socket.readableEnded, { what: 'the end of the stalled stream' });
    expect(stalled.rest.toString()).toMatch(/retry: \d+\n\n\r\n0\r\n\r\n$/u);
    kept.destroy();
  });
});

it('[V6] a fault of the reader is told as what may pass', async () => {
  await start({
    reader: {
      heads: () => Promise.reject(new RevcastError('log_unavailable', 'not now')),
      range: () => Promise.reject(new RevcastError('log_unavailable', 'not now')),
      snapshot: () => Promise.reject(new RevcastError('log_unavailable', 'not now')),
    },
    settings: { openTimeoutMs: 150 },
  });
  const client = await open(['a'], '&since=snapshot');
  await client.untilEnded();
  expect(client.told('unavailable')).toMatchObject([{ room: 'a', error: { code: 'log_unavailable' } }]);
});
