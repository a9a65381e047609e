import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestEdge, type TestEdgeOptions } from '../support/edge.js';
import { History } from '../support/edge-doubles.js';
import { revsFrom } from '../support/feed-parts.js';
import { settle } from '../support/manual-clock.js';
import { PlainClient } from '../support/plain-client.js';
import { RawClient } from '../support/raw-client.js';
import { waitFor } from '../support/wait-for.js';

let edge: TestEdge;
let clients: PlainClient[] = [];

async function start(options: TestEdgeOptions = {}): Promise<void> {
  await edge.stop();
  edge = await TestEdge.start(options);
}

async function connect(): Promise<PlainClient> {
  const client = await PlainClient.connect(edge.wsUrl);
  clients.push(client);
  return client;
}

/** One revision after another, with a turn of the event loop between. */
async function publishUntil(signal: AbortSignal, room: string): Promise<void> {
  while (!signal.aborted) {
    await edge.append(room, '{}');
    await settle(1);
  }
}

/** A ping that is so many bytes long. */
function longPing(bytes: number): string {
  const around = JSON.stringify({ id: 'p', method: 'ping', pad: '' }).length;
  return JSON.stringify({ id: 'p', method: 'ping', pad: 'x'.repeat(bytes - around) });
}

beforeEach(async () => {
  edge = await TestEdge.start();
});

afterEach(async () => {
  for (const client of clients) client.close();
  clients = [];
  await edge.stop();
});

describe('delivery', () => {
  it('[D1] each revision once, in order, its data byte for byte, to every client of the room and to nobody else', async () => {
    const members = [await connect(), await connect(), await connect()];
    for (const client of members)
      expect(await client.subscribe('a')).toEqual({ subscribed: true, room: 'a', epoch: '', rev: 0 });
    const other = await connect();
    await other.subscribe('b');
    const texts = ['{"n":1.50,"t":"é😀\\u0000"}', '[]', '"x"', 'null', '1e400', JSON.stringify('y'.repeat(70_000))];
    for (const text of texts) await edge.append('a', text);
    for (const client of members) {
      expect(await client.upTo('a', texts.length)).toEqual(revsFrom(1, texts.length));
      for (const [index, text] of texts.entries()) {
        expect(client.texts[index + 1]?.endsWith(`,"data":${text}}}`)).toBe(true);
      }
      expect(client.revisions('a').map(({ timeDelta }) => timeDelta === null)).toEqual([
        true,
        ...texts.slice(1).map(() => false),
      ]);
    }
    expect(other.texts).toHaveLength(1);
  });

  it('[D2] a subscribe is answered before the first revision, whatever is published meanwhile', async () => {
    const publishing = new AbortController();
    const publisher = publishUntil(publishing.signal, 'a');
    for (let i = 0; i < 20; i += 1) {
      const client = await connect();
      const since = i % 2 === 0 ? {} : { since: 0 };
      const { rev = -1 } = await client.subscribe('a', since);
      await waitFor(() => client.revs('a').length > 5, { what: 'some revisions' });
      expect(client.revs('a').slice(0, 5)).toEqual(revsFrom(rev + 1, rev + 5));
      expect(client.messages[0]?.data).toMatchObject({ subscribed: true });
      client.close();
    }
    publishing.abort();
    await publisher;
  });

  it('[D3] from now, from the first kept, after a position, with and without its tag', async () => {
    await start({ settings: { pageRevisions: 10, ringKeepRevisions: 5 } });
    const { epoch, tag } = await edge.appendMany('a', 30);
    const now = await connect();
    expect(await now.subscribe('a')).toMatchObject({ epoch, rev: 30, tag });
    const first = await connect();
    expect(await first.subscribe('a', { since: 0 })).toMatchObject({ epoch, rev: 0 });
    expect(await first.upTo('a', 30)).toEqual(revsFrom(1, 30));
    await edge.appendMany('a', 5);
    await now.upTo('a', 35);
    for (const rev of [1, 17, 29, 30, 33, 35]) {
      const tagOf = [...first.revisions('a'), ...now.revisions('a')].find((each) => each.rev === rev)?.tag;
      for (const since of [
        { epoch, rev },
        { epoch, rev, tag: tagOf },
      ]) {
        const client = await connect();
        expect(await client.subscribe('a', { since })).toMatchObject({ subscribed: true, epoch, rev });
        if (rev < 35) expect(await client.upTo('a', 35)).toEqual(revsFrom(rev + 1, 35));
      }
    }
    expect(await first.upTo('a', 35)).toEqual(revsFrom(1, 35));
  });

  it('[D4] epoch_changed for another epoch, tag, or a position above the head; the connection stays', async () => {
    const { epoch } = await edge.appendMany('a', 3);
    const client = await connect();
    for (const since of [
      { epoch: 'other', rev: 2 },
      { epoch, rev: 4 },
      { epoch, rev: 2, tag: '0badc0de' },
    ]) {
      const { error } = await client.subscribe('a', { since });
      expect(error).toMatchObject({ code: 'epoch_changed', head: { epoch, rev: 3 } });
    }
    expect(await client.subscribe('a')).toMatchObject({ subscribed: true });
  });

  it('[D4] history_truncated for what is no longer kept, with the oldest that is', async () => {
    await start({ keep: 20, settings: { pageRevisions: 10 } });
    const { epoch } = await edge.appendMany('a', 60);
    const firstRev = edge.store.entriesOf('a')[0]?.firstRev ?? 0;
    const client = await connect();
    const { error } = await client.subscribe('a', { since: { epoch, rev: 3 } });
    expect(error).toMatchObject({ code: 'history_truncated', firstRev, head: { epoch, rev: 60 } });
    expect(await client.subscribe('a', { since: 0 })).toMatchObject({ rev: firstRev - 1 });
    expect(await client.upTo('a', 60)).toEqual(revsFrom(firstRev, 60));
  });

  it('[D7] a room whose history was lost and begins again: its clients are told, others go on', async () => {
    const history = new History(edge.store, 'a', 'e1');
    await history.add(3);
    const client = await connect();
    await client.subscribe('a', {}, 'sub');
    await client.subscribe('b');
    history.restart('e2');
    await history.add(1);
    await waitFor(() => client.codes.length > 0, { what: 'the news' });
    const told = client.messages.find(({ data }) => 'error' in data);
    expect(told).toMatchObject({
      id: 'sub',
      data: { error: { code: 'epoch_changed', head: { epoch: 'e2', rev: 1 } } },
    });
    await history.add(1);
    await edge.append('b', '{}');
    await client.upTo('b', 1);
    expect(client.revs('a')).toEqual([]);
    expect(await client.subscribe('a', { since: 0 })).toMatchObject({ epoch: 'e2', rev: 0 });
    expect(await client.upTo('a', 2)).toEqual([1, 2]);
  });

  it('[D8] many rooms on one connection, each from its own position', async () => {
    const rooms = revsFrom(1, 50).map((n) => `room ${n}`);
    for (const [index, room] of rooms.entries()) await edge.appendMany(room, (index % 5) + 1);
    const client = await connect();
    for (const [index, room] of rooms.entries()) {
      await client.subscribe(room, index % 2 === 0 ? { since: 0 } : {});
    }
    await Promise.all(rooms.map((room) => edge.append(room, '{}')));
    for (const [index, room] of rooms.entries()) {
      const head = (index % 5) + 2;
      expect(await client.upTo(room, head)).toEqual(index % 2 === 0 ? revsFrom(1, head) : [head]);
    }
  });
});

describe('requests', () => {
  it('[W1] answers come under the id of the request, strings and numbers alike', async () => {
    const client = await connect();
    expect(await client.request('ping', undefined, 'p')).toEqual({});
    expect(await client.request('ping', undefined, 7)).toEqual({});
    expect(await client.subscribe('a', {}, 'é "\\')).toMatchObject({ subscribed: true });
    expect(await client.subscribe('b', {}, 12)).toMatchObject({ subscribed: true });
    await edge.append('a', '1');
    await edge.append('b', '2');
    await client.upTo('b', 1);
    const idOf = (room: string) =>
      client.messages.find(({ data }) => 'rev' in data && 'tag' in data && data.room === room)?.id;
    expect([idOf('a'), idOf('b')]).toEqual(['é "\\', 12]);
  });

  it('[W3] batch: all that a flush has for a subscription comes in one message, as an array', async () => {
    const [single, batch] = [await connect(), await connect()];
    await single.subscribe('a');
    await batch.subscribe('a', { batch: true });
    await edge.append('a', ...revsFrom(1, 20).map((n) => `{"n":${n}}`));
    await batch.upTo('a', 20);
    await edge.append('a', '{"n":21}');
    expect(await single.upTo('a', 21)).toEqual(revsFrom(1, 21));
    expect(await batch.upTo('a', 21)).toEqual(revsFrom(1, 21));
    expect(batch.revisions('a')).toEqual(single.revisions('a'));
    expect(single.texts).toHaveLength(22);
    expect(batch.messages.slice(1).map(({ data }) => (Array.isArray(data) ? data.length : 0))).toEqual([20, 1]);
    const late = await connect();
    await late.subscribe('a', { batch: true, since: 0 });
    expect(await late.upTo('a', 21)).toEqual(revsFrom(1, 21));
    expect(late.texts).toHaveLength(2);
  });

  it('[W4] unsubscribe, then subscribe again; already_subscribed and not_subscribed', async () => {
    const client = await connect();
    await client.subscribe('a');
    expect((await client.subscribe('a')).error?.code).toBe('already_subscribed');
    await edge.append('a', '1');
    await client.upTo('a', 1);
    expect(await client.request('unsubscribe', { room: 'a' })).toEqual({ subscribed: false, room: 'a' });
    await edge.append('a', '2');
    expect((await client.request('unsubscribe', { room: 'a' })).error?.code).toBe('not_subscribed');
    const { epoch, rev } = await client.subscribe('a');
    expect(rev).toBe(2);
    await edge.append('a', '3');
    expect(await client.upTo('a', 3)).toEqual([1, 3]);
    expect(epoch).toBe(client.revisions('a')[0]?.epoch);
  });

  it('[W4] pipelined: everything is answered, in whatever state the joining is', async () => {
    await edge.appendMany('a', 5);
    const client = await connect();
    for (let i = 0; i < 30; i += 1) {
      client.send({ id: `s${i}`, method: 'subscribe', params: { room: 'a', since: 0 } });
      client.send({ id: `u${i}`, method: 'unsubscribe', params: { room: 'a' } });
    }
    client.send({ id: 'last', method: 'subscribe', params: { room: 'a', since: 0 } });
    expect(await client.answer('last')).toMatchObject({ subscribed: true });
    for (let i = 0; i < 30; i += 1) {
      expect(await client.answer(`u${i}`)).toMatchObject({ subscribed: false });
      const { subscribed, error } = await client.answer(`s${i}`);
      expect(subscribed === true || error?.code === 'not_subscribed').toBe(true);
    }
    const ofLast = () => client.messages.filter(({ id, data }) => id === 'last' && 'tag' in data).length;
    await waitFor(() => ofLast() >= 5, { what: 'the revisions of the last subscribe' });
  });

  it('[W6] what cannot be understood is answered with a code and the id where there is one; the connection stays', async () => {
    const client = await connect();
    client.send('not JSON');
    client.send('[]');
    client.send({ method: 'ping' });
    client.send({ id: 'm', method: 'nothing' });
    client.send({ id: 'r', method: 'subscribe', params: { room: 'x'.repeat(201) } });
    client.send({ id: 's', method: 'subscribe', params: { room: 'a', since: { epoch: 'e', rev: -1 } } });
    client.ws.send(Buffer.from('{"id":"b","method":"ping"}'), { binary: true });
    await waitFor(() => client.codes.length === 7, { what: 'seven errors' });
    expect(client.messages.map(({ id, data }) => [id, 'error' in data && data.error.code])).toEqual([
      [null, 'invalid_json'],
      [null, 'invalid_request'],
      [null, 'invalid_request'],
      ['m', 'unknown_method'],
      ['r', 'invalid_room'],
      ['s', 'invalid_request'],
      [null, 'binary_unsupported'],
    ]);
    expect(await client.request('ping')).toEqual({});
  });

  it('[W6] a message over the limit is refused and the connection stays; far over it, the connection is cut', async () => {
    await start({ settings: { maxMessageBytes: 2_048 } });
    const client = await connect();
    client.send(longPing(2_048));
    expect(await client.answer('p')).toEqual({});
    client.send(longPing(2_049));
    await waitFor(() => client.codes.length > 0, { what: 'a refusal' });
    expect(client.messages.at(-1)).toMatchObject({ id: null, data: { error: { code: 'too_large' } } });
    expect(await client.request('ping')).toEqual({});
    client.ws.send('x'.repeat(2_048 * 16 + 1));
    expect((await client.untilClosed()).code).toBe(1006);
    expect(await (await connect()).request('ping')).toEqual({});
  });

  it('[W6] what breaks the WebSocket protocol cuts that connection, and no other', async () => {
    const bystander = await connect();
    await bystander.subscribe('a');
    const breaches: [number, Buffer, { fin?: boolean; rsv1?: boolean }?][] = [
      [1, Buffer.from([0x22, 0xff, 0xc0, 0x22])],
      [3, Buffer.from('x')],
      [0, Buffer.from('a fragment of nothing')],
      [9, Buffer.alloc(126)],
      [1, Buffer.from('x'), { rsv1: true }],
    ];
    for (const [opcode, payload, options] of breaches) {
      const raw = await RawClient.upgraded(edge.port);
      raw.sendFrame(opcode, payload, options);
      await waitFor(() => raw.ended, { what: `the end after opcode ${opcode}` });
    }
    await waitFor(() => edge.edge.counters().sockets === 1, { what: 'one socket' });
    await edge.append('a', '{}');
    expect(await bystander.upTo('a', 1)).toEqual([1]);
  });

  it('[W1] a close of the client is answered in kind', async () => {
    const raw = await RawClient.upgraded(edge.port);
    raw.sendFrame(8, Buffer.from([0x03, 0xe8]));
    await waitFor(() => raw.ended, { what: 'the end' });
    expect(raw.close).toMatchObject({ code: 1000 });
  });

  it('[W1] fragments and pings of the client are taken as RFC 6455 has them', async () => {
    const raw = await RawClient.upgraded(edge.port);
    raw.sendFrame(1, Buffer.from('{"id":"1",'), { fin: false });
    raw.sendFrame(9, Buffer.from('beat'));
    raw.sendFrame(0, Buffer.from('"method":"ping"}'));
    await waitFor(() => raw.texts.length > 0, { what: 'the answer' });
    expect(raw.frames.map(({ opcode, payload }) => [opcode, payload.toString()])).toEqual([
      [10, 'beat'],
      [1, '{"id":"1","data":{}}'],
    ]);
    raw.destroy();
  });

  it('[W10] too_many_rooms of one connection, and of the edge', async () => {
    await start({ settings: { maxRoomsPerSocket: 2, maxRooms: 3 } });
    const [one, two] = [await connect(), await connect()];
    for (const room of ['a', 'b']) await one.subscribe(room);
    expect((await one.subscribe('c')).error?.code).toBe('too_many_rooms');
    await two.subscribe('c');
    expect((await two.subscribe('d')).error?.code).toBe('too_many_rooms');
    expect(await two.subscribe('a')).toMatchObject({ subscribed: true });
  });
});
