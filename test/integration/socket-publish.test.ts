/** Publishing over a WebSocket, in one process: what a client is answered, and what the room's members then get. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Publisher } from '../../services/producer/contract.js';
import { TestEdge, type TestEdgeOptions } from '../support/edge.js';
import { revsFrom } from '../support/feed-parts.js';
import { PlainClient } from '../support/plain-client.js';
import { waitFor } from '../support/wait-for.js';

let edge: TestEdge | undefined;
const clients: PlainClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await edge?.stop();
  edge = undefined;
});

async function start(options: TestEdgeOptions = {}): Promise<TestEdge> {
  edge = await TestEdge.start({ ...options, settings: { publishRooms: 'doc-*', ...options.settings } });
  return edge;
}

async function connect(): Promise<PlainClient> {
  if (edge === undefined) throw new Error('no edge');
  const client = await PlainClient.connect(edge.wsUrl);
  clients.push(client);
  return client;
}

/** The data of the room's revisions, as the log has it. */
async function storedTexts(room: string): Promise<string[]> {
  const range = await edge?.log.range(room, 'first', { limit: 100_000, maxBytes: 100_000_000 });
  if (range?.kind !== 'entries') return [];
  return range.entries.flatMap(({ revisions }) => revisions.map(({ data }) => Buffer.from(data).toString()));
}

/** Stores, and answers when the test lets it. */
function held(options: TestEdgeOptions = {}) {
  const letGo: (() => void)[] = [];
  const publisher: Publisher = {
    publish: async ({ room, data, key }) => {
      const appended = await edge?.log.append(room, { revisions: [{ data }], key });
      await new Promise<void>((resolve) => void letGo.push(resolve));
      if (appended === undefined) throw new Error('no edge');
      return appended;
    },
  };
  return { letGo, started: start({ ...options, publisher }) };
}

describe('publishing', () => {
  it('[U1] is answered with where it stands; its revision comes in the stream, to the author as to everyone', async () => {
    await start();
    const [author, reader] = [await connect(), await connect()];
    for (const client of [author, reader]) await client.subscribe('doc-1', {}, 's');
    const answer = await author.request('publish', { room: 'doc-1', data: { text: 'hello' } }, 'p');
    expect(answer).toEqual({
      published: true,
      room: 'doc-1',
      epoch: answer.epoch,
      rev: 1,
      firstRev: 1,
      tag: expect.stringMatching(/^[0-9a-f]{8}$/u) as string,
      time: expect.any(Number) as number,
      duplicate: false,
    });
    for (const client of [author, reader]) {
      await client.upTo('doc-1', 1);
      expect(client.messages.findLast(({ id }) => id === 's')?.data).toEqual({
        room: 'doc-1',
        epoch: answer.epoch,
        rev: 1,
        tag: answer.tag,
        time: answer.time,
        timeDelta: null,
        data: { text: 'hello' },
      });
    }
  });

  it('[U1] needs no subscription, and who publishes is sent no revisions for it', async () => {
    await start();
    const author = await connect();
    for (const rev of [1, 2])
      expect(await author.request('publish', { room: 'doc-1', data: 1 })).toMatchObject({ rev });
    await author.request('ping');
    expect(author.messages).toHaveLength(3);
  });

  it('[U3] data comes byte for byte as it was written, less the white space between tokens', async () => {
    await start();
    const [author, reader] = [await connect(), await connect()];
    await reader.subscribe('doc-1', {}, 's');
    const texts = [
      '1.0',
      '1e400',
      '-0',
      '12345678901234567890',
      '"\\u00e9\\/\\ud800"',
      '{"a":1,"a":2}',
      '"é😀"',
      '[[]]',
    ];
    for (const [index, text] of texts.entries()) {
      author.send(`{"id":${index},"method":"publish","params":{"data": ${text} ,"room":"doc-1"}}`);
      await author.answer(index);
    }
    author.send('{"id":"w","method":"publish","params":{"room":"doc-1","data":{ "a" : [ 1 ,\n"b c" ] }}}');
    await author.answer('w');
    await reader.upTo('doc-1', texts.length + 1);
    const got = reader.texts.slice(1).map((text) => /"data":((?!\{"room").*)\}\}$/u.exec(text)?.[1]);
    expect(got).toEqual([...texts, '{"a":[1,"b c"]}']);
    expect(await storedTexts('doc-1')).toEqual([...texts, '{"a":[1,"b c"]}']);
  });

  it('[U4] a conflict tells the head, under the request’s id; nothing is stored, and the connection stays', async () => {
    await start();
    const author = await connect();
    const first = await author.request('publish', { room: 'doc-1', data: 1, expectedRev: 0 });
    const answer = await author.request('publish', { room: 'doc-1', data: 2, expectedRev: 0 }, 'late');
    expect(answer).toMatchObject({
      error: { code: 'conflict', head: { epoch: first.epoch, rev: 1, tag: first.tag, time: first.time } },
    });
    expect(await author.request('publish', { room: 'doc-1', data: 3, expectedRev: 1 })).toMatchObject({ rev: 2 });
    expect(await storedTexts('doc-1')).toEqual(['1', '3']);
  });

  it('[U4] of many who expect the same revision one wins, and the others are told', async () => {
    await start();
    const authors = await Promise.all(revsFrom(1, 20).map(connect));
    const answers = await Promise.all(
      authors.map((author, n) => author.request('publish', { room: 'doc-1', data: n, expectedRev: 0 })),
    );
    expect(answers.filter(({ published }) => published)).toHaveLength(1);
    const refused = answers.flatMap(({ error }) => error ?? []);
    expect(refused.map(({ code, head }) => [code, (head as { rev: number }).rev])).toEqual(
      Array.from({ length: 19 }, () => ['conflict', 1]),
    );
    expect(await storedTexts('doc-1')).toHaveLength(1);
  });

  it('[U4] a key that the room knows is answered with the first position, also to another client', async () => {
    await start();
    const [one, other] = [await connect(), await connect()];
    const first = await one.request('publish', { room: 'doc-1', data: 1, key: 'k' });
    await one.request('publish', { room: 'doc-1', data: 2 });
    const again = await other.request('publish', { room: 'doc-1', data: 1, key: 'k', expectedRev: 0 });
    expect(again).toEqual({ ...first, duplicate: true });
    expect(await storedTexts('doc-1')).toEqual(['1', '2']);
  });

  it('[U2] another room is forbidden, and by default every room', async () => {
    await start();
    expect(await (await connect()).request('publish', { room: 'other', data: 1 })).toMatchObject({
      error: { code: 'forbidden' },
    });
    expect(await storedTexts('other')).toEqual([]);
    await edge?.stop();
    edge = await TestEdge.start();
    const client = await connect();
    expect(await client.request('publish', { room: 'doc-1', data: 1 })).toMatchObject({ error: { code: 'forbidden' } });
    expect(await client.request('ping')).toEqual({});
  });

  it('[U4] what the producer refuses comes with the request’s id, and what and where', async () => {
    await start();
    const author = await connect();
    expect(await author.request('publish', { room: 'doc-1', data: 1, key: '' })).toMatchObject({
      error: { code: 'invalid_request', where: 'key' },
    });
    author.send('{"id":"x","method":"publish","params":{"room":"doc-1","data":01}}');
    await waitFor(() => author.codes.length === 2, { what: 'the second refusal' });
    expect(author.codes).toEqual(['invalid_request', 'invalid_json']);
    author.send({ id: 'y', method: 'publish', params: { room: 'doc-1', data: 'x'.repeat(70_000) } });
    await waitFor(() => author.codes.length === 3, { what: 'the third refusal' });
    expect(author.codes[2]).toBe('too_large');
    expect(await storedTexts('doc-1')).toEqual([]);
  });

  it('[U5] what one client sends without waiting is stored in that order, in each room', async () => {
    await start({ settings: { publishPerSocket: 400 } });
    const author = await connect();
    const reader = await connect();
    for (const room of ['doc-1', 'doc-2']) await reader.subscribe(room);
    for (const n of revsFrom(1, 200)) {
      for (const room of ['doc-1', 'doc-2'])
        author.send({ id: `${room} ${n}`, method: 'publish', params: { room, data: n } });
    }
    for (const room of ['doc-1', 'doc-2']) {
      await reader.upTo(room, 200);
      expect(reader.revisions(room).map(({ data }) => data)).toEqual(revsFrom(1, 200));
    }
    await author.answer('doc-2 200');
    expect(author.codes).toEqual([]);
  });
});

describe('bounds and endings', () => {
  it('[U8] a connection has so many under way; further ones are refused with overloaded, at once', async () => {
    const { letGo, started } = held({ settings: { publishPerSocket: 3 } });
    await started;
    const author = await connect();
    for (const n of revsFrom(1, 5)) author.send({ id: n, method: 'publish', params: { room: `doc-${n}`, data: n } });
    expect(await author.answer(4)).toMatchObject({ error: { code: 'overloaded' } });
    expect(await author.answer(5)).toMatchObject({ error: { code: 'overloaded' } });
    await waitFor(() => letGo.length === 3, { what: 'three are under way' });
    for (const go of letGo.splice(0)) go();
    for (const id of [1, 2, 3]) expect(await author.answer(id)).toMatchObject({ published: true });
    author.send({ id: 6, method: 'publish', params: { room: 'doc-6', data: 6 } });
    await waitFor(() => letGo.length === 1, { what: 'the next is under way' });
    for (const go of letGo.splice(0)) go();
    expect(await author.answer(6)).toMatchObject({ published: true });
  });

  it('[U12] a client that disconnects right after publishing: what arrived is stored, also what waited for its turn', async () => {
    const { letGo, started } = held();
    await started;
    const reader = await connect();
    await reader.subscribe('doc-1');
    const author = await connect();
    for (const n of [1, 2, 3]) author.send({ id: n, method: 'publish', params: { room: 'doc-1', data: n } });
    author.ws.close();
    await author.untilClosed();
    for (const n of [1, 2, 3]) {
      await reader.upTo('doc-1', n);
      await waitFor(() => letGo.length === 1, { what: `the answer to ${n}` });
      for (const go of letGo.splice(0)) go();
    }
    expect(await storedTexts('doc-1')).toEqual(['1', '2', '3']);
    expect(author.messages).toEqual([]);
  });

  it('[U10] a stopping edge answers what is under way before it closes', async () => {
    const { letGo, started } = held({ settings: { drainMs: 0, closeTimeoutMs: 10_000 } });
    const { edge: running } = await started;
    const author = await connect();
    author.send({ id: 1, method: 'publish', params: { room: 'doc-1', data: 1 } });
    await waitFor(() => letGo.length === 1, { what: 'it is under way' });
    const stopped = running.stop();
    expect(await author.request('publish', { room: 'doc-1', data: 2 })).toMatchObject({
      error: { code: 'shutting_down' },
    });
    for (const go of letGo.splice(0)) go();
    expect(await author.answer(1)).toMatchObject({ published: true, rev: 1 });
    expect((await author.untilClosed()).code).toBe(1012);
    await stopped;
  });

  it('[U10] a stopping edge that hears of no outcome says so, with a key, and closes as ever', async () => {
    const { letGo, started } = held({ settings: { drainMs: 0, closeTimeoutMs: 1_000 } });
    const { edge: running } = await started;
    const author = await connect();
    author.send({ id: 1, method: 'publish', params: { room: 'doc-1', data: 1 } });
    await waitFor(() => letGo.length === 1, { what: 'it is under way' });
    const stopped = running.stop();
    expect(await author.answer(1)).toMatchObject({
      error: { code: 'outcome_unknown', outcome: 'unknown', key: expect.stringMatching(/^[\w-]{22}$/u) as string },
    });
    expect((await author.untilClosed()).code).toBe(1012);
    await stopped;
    for (const go of letGo.splice(0)) go();
  });
});
