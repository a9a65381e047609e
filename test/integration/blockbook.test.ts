/** Blockbook's methods at a listening edge: where they are, and what comes of bad input. */
import { afterEach, describe, expect, it } from 'vitest';
import { blockText, heights } from '../support/block-viewers.js';
import { TestEdge } from '../support/edge.js';
import { PlainClient } from '../support/plain-client.js';
import { handshake, RawClient } from '../support/raw-client.js';
import { waitFor } from '../support/wait-for.js';

let edge: TestEdge | undefined;
const clients: { close(): void }[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await edge?.stop();
  edge = undefined;
});

async function start(blockbookRoom: string): Promise<TestEdge> {
  edge = await TestEdge.start({ settings: { blockbookRoom } });
  return edge;
}

async function connect(at: TestEdge, path: string): Promise<PlainClient> {
  const client = await PlainClient.connect(`ws://127.0.0.1:${at.port}${path}`);
  clients.push(client);
  return client;
}

describe('where Blockbook is', () => {
  it('[B8] nowhere, unless a room is configured', async () => {
    const at = await start('');
    const raw = await RawClient.open(at.port, handshake({ path: '/websocket' }));
    expect(await raw.answer()).toMatchObject({ status: 404 });
    raw.destroy();
    const client = await connect(at, '/v1/ws');
    for (const method of ['subscribeNewBlock', 'unsubscribeNewBlock', 'getInfo', 'getBlockHash']) {
      expect(await client.request(method, { height: 1 })).toMatchObject({ error: { code: 'unknown_method' } });
    }
    expect(await client.request('ping')).toEqual({});
  });

  it('[B1] at /websocket and at /v1/ws, on one connection with plain subscriptions', async () => {
    const at = await start('eth');
    for (const path of ['/websocket', '/v1/ws']) {
      const client = await connect(at, path);
      expect(await client.request('subscribeNewBlock', {}, 'b')).toEqual({ subscribed: true });
      expect(await client.subscribe('eth', {}, 'p')).toMatchObject({ subscribed: true, room: 'eth' });
      expect(await client.request('unsubscribe', { room: 'eth' })).toEqual({ subscribed: false, room: 'eth' });
    }
    for (const block of heights(1, 3)) await at.append('eth', blockText(block));
    const client = await connect(at, '/websocket');
    expect(await client.request('getInfo')).toMatchObject({ name: 'Ethereum', bestHeight: 3, bestHash: '0xa3' });
    expect(await client.request('getBlockHash', { height: 2 })).toEqual({ hash: '0xa2' });
  });

  it('[B8] is a WebSocket only: other requests are answered with what is wrong', async () => {
    const at = await start('eth');
    const requests: [string, number][] = [
      [handshake({ path: '/websocket', method: 'POST' }), 405],
      [handshake({ path: '/websocket', headers: { Upgrade: '', Connection: '' } }), 426],
      [handshake({ path: '/websocket', headers: { 'Sec-WebSocket-Version': '8' } }), 426],
      [handshake({ path: '/websocket', headers: { 'Sec-WebSocket-Key': 'short' } }), 400],
      [handshake({ path: '/websocket/' }), 404],
    ];
    for (const [request, status] of requests) {
      const raw = await RawClient.open(at.port, request);
      expect(await raw.answer()).toMatchObject({ status });
      raw.destroy();
    }
  });
});

describe('bad input', () => {
  const MESSAGES: [string, string, string][] = [
    ['no JSON', '{"id":"1","method":"getInfo"', 'invalid_json'],
    ['a list', '[]', 'invalid_request'],
    ['no method', '{"id":"1"}', 'invalid_request'],
    [
      'another method of Blockbook',
      '{"id":"1","method":"getAccountInfo","params":{"descriptor":"0x"}}',
      'unknown_method',
    ],
    ['a height out of range', '{"id":"1","method":"getBlockHash","params":{"height":1e300}}', 'invalid_request'],
    [
      'a height that is not there',
      '{"id":"1","method":"getBlockHash","params":{"height":9007199254740991}}',
      'not_found',
    ],
    ['a large message', JSON.stringify({ id: '1', method: 'getInfo', params: 'x'.repeat(70_000) }), 'too_large'],
  ];

  it('[B6] is an error each, and the connection gets its blocks all the same', async () => {
    const at = await start('eth');
    await at.append('eth', blockText({ height: 1 }));
    const client = await connect(at, '/websocket');
    await client.request('subscribeNewBlock', {}, 'b');
    for (const [what, text, code] of MESSAGES) {
      const before = client.texts.length;
      client.send(text);
      await waitFor(() => client.texts.length > before, { what: `an answer to ${what}` });
      expect([what, client.messages[before]?.data]).toMatchObject([what, { error: { code } }]);
    }
    client.ws.send(Buffer.from([1, 2, 3]), { binary: true });
    await at.append('eth', blockText({ height: 2 }));
    await waitFor(() => client.texts.at(-1)?.includes('"0xa2"') === true, { what: 'the next block' });
    expect(client.closed).toBeUndefined();
  });

  it('[B6] a client that subscribes without end, and one that leaves at once: nothing stays', async () => {
    const at = await start('eth');
    const client = await connect(at, '/websocket');
    for (let n = 0; n < 5_000; n += 1) client.send({ id: String(n), method: 'subscribeNewBlock' });
    await waitFor(() => client.texts.length >= 5_000, { what: 'all answers' });
    for (let n = 0; n < 20; n += 1) {
      const leaving = await connect(at, '/websocket');
      leaving.send({ id: '1', method: 'subscribeNewBlock' });
      leaving.send({ id: '2', method: 'subscribeNewBlock' });
      leaving.ws.terminate();
    }
    await waitFor(() => at.edge.counters().sockets === 1, { what: 'the others are gone' });
    const { deliveries } = at.edge.counters();
    await at.append('eth', blockText({ height: 1 }));
    await waitFor(() => client.texts.length > 5_000, { what: 'the block' });
    expect(client.messages.at(-1)).toEqual({ id: '4999', data: { height: 1, hash: '0xa1', evmData: null } });
    expect(at.edge.counters().deliveries - deliveries).toBe(1);
  });
});
