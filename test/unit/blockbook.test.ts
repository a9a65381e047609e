import { describe, expect, it } from 'vitest';
import { RevcastError } from '../../services/shared/errors.js';
import { BlockEdge, heights, told } from '../support/block-viewers.js';
import { Gate } from '../support/edge-doubles.js';

function words(found: readonly string[], id: string): string[] {
  return found.filter((each) => each.startsWith(`${id} `)).map((each) => each.slice(id.length + 1));
}

function blocksOf(from: number, to: number, branch = 'a'): string[] {
  return heights(from, to).map(({ height }) => `${height} 0x${branch}${height}`);
}

const SUBSCRIBED = '{"subscribed":true}';
const UNSUBSCRIBED = '{"subscribed":false}';
const SUBSCRIBE = { method: 'subscribeNewBlock', params: {} };

describe('subscribing to blocks', () => {
  it('[B1] is answered first, then each block comes under the id, the same JSON value', async () => {
    const edge = new BlockEdge();
    await edge.publish(...heights(0, 3));
    const ids = ['0', '', 'id "é\\ ', 'x'.repeat(100), 17];
    const clients = ids.map((id) => {
      const client = edge.connect();
      edge.say(client, { ...SUBSCRIBE, id });
      return client;
    });
    await edge.edge.clock.advance(50);
    await edge.publish(...heights(4, 6));
    for (const [index, { socket }] of clients.entries()) {
      const messages = socket.messages.map((text) => JSON.parse(text) as { id: unknown; data: unknown });
      expect(messages.map(({ id }) => id)).toEqual(Array.from({ length: 4 }, () => ids[index]));
      expect(messages[0]?.data).toEqual({ subscribed: true });
      expect(messages.slice(1).map(({ data }) => data)).toEqual(
        heights(4, 6).map(({ height }) => ({ height, hash: `0xa${height}`, evmData: null })),
      );
      expect(socket.faults).toEqual([]);
    }
  });

  it('[B1] tells nothing of a revision that is no block, and nothing is lost around it', async () => {
    const edge = new BlockEdge({ deflateMinSaving: 0 });
    const viewers = [await edge.viewer('0'), await edge.viewer('0', true)];
    await edge.publish({ height: 1 });
    const texts = ['{"height":2,"hash":"0xa2"}', '{"text":"no block"}', '7', '{"height":3,"hash":"0xa3"}'];
    edge.edge.live.deliver(await edge.history.add(texts.length, (rev) => texts[rev - 2] ?? ''));
    await edge.edge.settle();
    edge.edge.live.deliver(await edge.history.add(1, () => '"no block"'));
    await edge.edge.settle();
    await edge.publish({ height: 4 });
    for (const viewer of viewers) {
      expect(told(viewer)).toEqual([`0 ${SUBSCRIBED}`, ...blocksOf(1, 4).map((each) => `0 ${each}`)]);
      expect(viewer.session.members[0]?.cursor).toBe(7);
      expect(viewer.socket.faults).toEqual([]);
    }
  });

  it('[B2] again takes the place of the first: nothing lost, nothing twice, one stream', async () => {
    const edge = new BlockEdge();
    const viewer = await edge.viewer('0');
    await edge.publish(...heights(1, 3));
    // The socket takes nothing for a while: what it lacks then comes under the new id.
    viewer.socket.kernelFree = 0;
    await edge.publish(...heights(4, 6));
    edge.say(viewer, { ...SUBSCRIBE, id: '5' });
    await edge.publish(...heights(7, 8));
    viewer.socket.kernelFree = Infinity;
    viewer.socket.take(1_000_000);
    await edge.edge.clock.advance(50);
    await edge.publish(...heights(9, 10));
    const found = told(viewer);
    const all = [...words(found, '0').slice(1), ...words(found, '5').slice(1)];
    expect(all).toEqual(blocksOf(1, 10));
    expect([words(found, '0')[0], words(found, '5')[0]]).toEqual([SUBSCRIBED, SUBSCRIBED]);
    expect(words(found, '5').length).toBeGreaterThan(4);
    expect(viewer.session.members).toHaveLength(1);
  });

  it('[B2] again while the room opens: both are answered, the last one has the blocks', async () => {
    const edge = new BlockEdge();
    const gate = new Gate();
    edge.edge.live.ready = gate.promise;
    const viewer = edge.connect();
    for (const id of ['0', '1', '2']) edge.say(viewer, { ...SUBSCRIBE, id });
    expect(told(viewer)).toEqual([]);
    gate.open();
    await edge.edge.clock.advance(50);
    await edge.publish({ height: 1 });
    expect(told(viewer)).toEqual([...['0', '1', '2'].map((id) => `${id} ${SUBSCRIBED}`), '2 1 0xa1']);
  });

  it('[B2] again before the first was answered: both are, in order, and the last one has the blocks', async () => {
    const edge = new BlockEdge();
    await edge.viewer('9');
    const viewer = edge.connect();
    for (const id of ['0', '1', '2']) edge.say(viewer, { ...SUBSCRIBE, id });
    await edge.edge.clock.advance(50);
    await edge.publish({ height: 1 });
    expect(told(viewer)).toEqual([...['0', '1', '2'].map((id) => `${id} ${SUBSCRIBED}`), '2 1 0xa1']);
  });

  it('[B2] again and again on a socket that takes nothing: so many are answered, the others overloaded', async () => {
    const edge = new BlockEdge();
    await edge.viewer('9');
    const viewer = edge.connect();
    viewer.socket.kernelFree = 0;
    edge.say(viewer, { id: 'x', method: 'getInfo' });
    await edge.edge.clock.advance(50);
    for (let id = 0; id < 1_000; id += 1) edge.say(viewer, { ...SUBSCRIBE, id: String(id) });
    await edge.edge.clock.advance(50);
    viewer.socket.kernelFree = Infinity;
    viewer.socket.take(1_000_000);
    await edge.edge.clock.advance(50);
    const answers = told(viewer).slice(1);
    expect(answers.filter((each) => each.endsWith(SUBSCRIBED))).toHaveLength(48);
    expect(answers.filter((each) => each.includes('overloaded'))).toHaveLength(952);
  });

  it('[B2] again while the room cannot be opened: all are refused', async () => {
    const edge = new BlockEdge();
    edge.edge.live.ready = Promise.reject(new RevcastError('log_unavailable', 'away'));
    edge.edge.live.ready.catch(() => undefined);
    const viewer = edge.connect();
    for (const id of ['0', '1']) edge.say(viewer, { ...SUBSCRIBE, id });
    await edge.edge.clock.advance(10_000);
    expect(
      told(viewer)
        .map((each) => each.replace(/\{.*"code":"(\w+)".*/u, '$1'))
        .sort(),
    ).toEqual(['0 log_unavailable', '1 log_unavailable']);
  });

  it('[B2] unsubscribing ends it, and is right without a subscription too', async () => {
    const edge = new BlockEdge();
    const viewer = await edge.viewer('0');
    await edge.publish({ height: 1 });
    expect(await edge.answer(viewer, 'unsubscribeNewBlock')).toEqual({ subscribed: false });
    await edge.publish({ height: 2 });
    expect(await edge.answer(viewer, 'unsubscribeNewBlock')).toEqual({ subscribed: false });
    edge.say(viewer, { ...SUBSCRIBE, id: '9' });
    await edge.edge.clock.advance(50);
    await edge.publish({ height: 3 });
    expect(told(viewer)).toEqual([
      `0 ${SUBSCRIBED}`,
      '0 1 0xa1',
      `q ${UNSUBSCRIBED}`,
      `q ${UNSUBSCRIBED}`,
      `9 ${SUBSCRIBED}`,
      '9 3 0xa3',
    ]);
  });

  it('[B5] beside a plain subscription of the same room, on one connection and on others: each in its own form', async () => {
    const edge = new BlockEdge();
    const both = await edge.viewer('b');
    edge.say(both, { id: 'p', method: 'subscribe', params: { room: 'eth' } });
    const plain = edge.connect();
    edge.say(plain, { id: 'p', method: 'subscribe', params: { room: 'eth', batch: true } });
    await edge.edge.clock.advance(50);
    const before = edge.edge.parts.counters.bodiesSerialized;
    await edge.publish(...heights(1, 3));
    expect(edge.edge.parts.counters.bodiesSerialized - before).toBe(9);
    expect(words(told(both), 'b')).toEqual([SUBSCRIBED, ...blocksOf(1, 3)]);
    const revs = both.socket.messages
      .map((text) => JSON.parse(text) as { id: string; data: { rev?: number; data?: { height: number } } })
      .filter(({ id, data }) => id === 'p' && data.data !== undefined);
    expect(revs.map(({ data }) => [data.rev, data.data?.height])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
    expect(plain.socket.messages).toHaveLength(4);
    // Either can be ended without the other.
    edge.say(both, { id: 'u', method: 'unsubscribe', params: { room: 'eth' } });
    await edge.publish({ height: 4 });
    expect(words(told(both), 'b').at(-1)).toBe('4 0xa4');
    expect(both.session.members).toHaveLength(1);
  });

  it('[B5] a thousand ids: a body for each block', async () => {
    const edge = new BlockEdge();
    const viewers = await Promise.all(Array.from({ length: 20 }, (_, n) => edge.viewer(`id ${n}`, n % 2 === 0)));
    const client = viewers[0] ?? edge.connect();
    for (let n = 0; n < 1_000; n += 1) edge.say(client, { ...SUBSCRIBE, id: `again ${n}` });
    const before = edge.edge.parts.counters.bodiesSerialized;
    await edge.publish(...heights(1, 10));
    expect(edge.edge.parts.counters.bodiesSerialized - before).toBe(10);
    expect(words(told(client), 'again 999').slice(1)).toEqual(blocksOf(1, 10));
  });
});

describe('a history that breaks', () => {
  it('[B7] the subscription goes on, with the newest block, and then every one', async () => {
    const edge = new BlockEdge();
    const viewer = await edge.viewer('0');
    await edge.publish(...heights(1, 5));
    edge.history.restart('e2');
    await edge.add({ height: 4, branch: 'b' }, { height: 5, branch: 'b' });
    await edge.publish({ height: 6, branch: 'b' });
    await edge.edge.clock.advance(5_000);
    await edge.publish({ height: 7, branch: 'b' }, { height: 8, branch: 'b' });
    expect(words(told(viewer), '0')).toEqual([SUBSCRIBED, ...blocksOf(1, 5), ...blocksOf(6, 8, 'b')]);
    expect(await edge.answer(viewer, 'getBlockHash', { height: 4 })).toEqual({ hash: '0xb4' });
    expect(await edge.answer(viewer, 'getBlockHash', { height: 3 })).toMatchObject({ error: { code: 'not_found' } });
    expect(await edge.answer(viewer, 'getInfo')).toMatchObject({ bestHeight: 8, bestHash: '0xb8' });
  });

  it('[B7] of a slow client whose next blocks are no longer kept: it goes on with what comes', async () => {
    const edge = new BlockEdge({ ringKeepRevisions: 0, ringMaxRevisions: 5, pageRevisions: 4 }, { keep: 5 });
    const viewer = await edge.viewer('0');
    viewer.socket.kernelFree = 0;
    await edge.publish(...heights(1, 40));
    viewer.socket.kernelFree = Infinity;
    viewer.socket.take(1_000_000);
    await edge.edge.clock.advance(10_000);
    await edge.publish(...heights(41, 43));
    const found = words(told(viewer), '0');
    expect(found.slice(-3)).toEqual(blocksOf(41, 43));
    expect(found.length).toBeLessThan(15);
  });
});

describe('questions', () => {
  it('[B3] getInfo: the coin as configured, the newest block of the room', async () => {
    const edge = new BlockEdge({ blockbookName: 'Ether', blockbookGenesis: '0x00', blockbookTestnet: true });
    const client = edge.connect();
    expect(await edge.answer(client, 'getInfo')).toMatchObject({ error: { code: 'not_found' } });
    await edge.publish(...heights(1, 3));
    const coin = {
      name: 'Ether',
      shortcut: 'ETH',
      network: 'ETH',
      decimals: 18,
      version: '0.5.0',
      block0Hash: '0x00',
      testnet: true,
      backend: {},
    };
    expect(await edge.answer(client, 'getInfo')).toEqual({ ...coin, bestHeight: 3, bestHash: '0xa3' });
    await edge.publish({ height: 2, branch: 'b', reorg: { forkHeight: 1 } });
    expect(await edge.answer(client, 'getInfo')).toEqual({ ...coin, bestHeight: 2, bestHash: '0xb2' });
  });

  it('[B4] getBlockHash: of the present chain, also of blocks from before the edge was there', async () => {
    const edge = new BlockEdge({ ringKeepRevisions: 5, pageRevisions: 10 });
    await edge.add(...heights(1, 57));
    const client = edge.connect();
    const hash = (height: number) => edge.answer(client, 'getBlockHash', { height });
    expect([await hash(57), await hash(1), await hash(30)]).toEqual([
      { hash: '0xa57' },
      { hash: '0xa1' },
      { hash: '0xa30' },
    ]);
    expect(await hash(58)).toMatchObject({
      error: { code: 'not_found', message: 'no block of height 58 is known here' },
    });
    await edge.viewer();
    await edge.publish({ height: 55, branch: 'b', reorg: { forkHeight: 54 } }, ...heights(56, 90, 'b'));
    expect([await hash(54), await hash(55), await hash(90)]).toEqual([
      { hash: '0xa54' },
      { hash: '0xb55' },
      { hash: '0xb90' },
    ]);
  });

  it('[B4] what retention removed is not known', async () => {
    const edge = new BlockEdge({ pageRevisions: 4 }, { keep: 10 });
    await edge.add(...heights(1, 30));
    const client = edge.connect();
    expect(await edge.answer(client, 'getBlockHash', { height: 2 })).toMatchObject({ error: { code: 'not_found' } });
    expect(await edge.answer(client, 'getBlockHash', { height: 25 })).toEqual({ hash: '0xa25' });
  });

  it('[B5] thousands who ask at once cost the pages once, and later none', async () => {
    const edge = new BlockEdge({ pageRevisions: 10 });
    await edge.add(...heights(1, 100));
    const clients = Array.from({ length: 500 }, () => edge.connect());
    for (const client of clients) {
      edge.say(client, { id: 'k', method: 'getBlockHash', params: { height: 1 } });
      edge.say(client, { id: 'i', method: 'getInfo' });
    }
    await edge.edge.clock.advance(100);
    for (const client of clients) expect(words(told(client), 'k')).toEqual(['{"hash":"0xa1"}']);
    expect(edge.edge.reader.asked.range).toBeLessThanOrEqual(11);
    const { range, heads } = edge.edge.reader.asked;
    await edge.viewer();
    await edge.publish(...heights(101, 110));
    for (const client of clients) edge.say(client, { id: 'k', method: 'getBlockHash', params: { height: 1 } });
    for (const client of clients) edge.say(client, { id: 'n', method: 'getBlockHash', params: { height: 110 } });
    await edge.edge.settle();
    for (const client of clients) expect(words(told(client), 'n')).toEqual(['{"hash":"0xa110"}']);
    expect(edge.edge.reader.asked.range).toBe(range);
    expect(edge.edge.reader.asked.heads).toBeLessThanOrEqual(heads + 2);
  });

  it('[B5] a height below the newest so many is unknown without any reading', async () => {
    const edge = new BlockEdge({ pageRevisions: 10 }, { maxBlocks: 50 });
    await edge.add(...heights(1_000, 1_200));
    const client = edge.connect();
    expect(await edge.answer(client, 'getInfo')).toMatchObject({ bestHeight: 1_200 });
    const { range } = edge.edge.reader.asked;
    for (const height of [1, 1_000, 1_150]) {
      expect(await edge.answer(client, 'getBlockHash', { height })).toMatchObject({ error: { code: 'not_found' } });
    }
    expect(edge.edge.reader.asked.range).toBe(range);
    expect(await edge.answer(client, 'getBlockHash', { height: 1_151 })).toEqual({ hash: '0xa1151' });
  });

  it('[B5] a connection may wait for so many answers', async () => {
    const edge = new BlockEdge();
    const gate = new Gate();
    edge.edge.live.ready = gate.promise;
    const client = edge.connect();
    for (let n = 0; n < 60; n += 1) edge.say(client, { id: n, method: 'getInfo' });
    await edge.edge.settle();
    expect(told(client).filter((each) => each.includes('overloaded'))).toHaveLength(12);
    gate.open();
    await edge.edge.clock.advance(50);
    expect(told(client)).toHaveLength(60);
  });

  it('[B4] while nobody can answer, it says so', async () => {
    const edge = new BlockEdge({ pageRevisions: 10 });
    await edge.add(...heights(1, 100));
    const client = await edge.viewer();
    edge.edge.reader.unavailable = true;
    expect(await edge.answer(client, 'getBlockHash', { height: 3 })).toMatchObject({
      error: { code: 'log_unavailable' },
    });
    edge.edge.reader.unavailable = false;
    expect(await edge.answer(client, 'getBlockHash', { height: 3 })).toEqual({ hash: '0xa3' });
  });
});

describe('what is refused', () => {
  const REFUSED: [string, object, string][] = [
    [
      'other methods of Blockbook',
      { id: '1', method: 'getAccountInfo', params: { descriptor: '0x' } },
      'unknown_method',
    ],
    ['no height', { id: '1', method: 'getBlockHash', params: {} }, 'invalid_request'],
    ['no parameters', { id: '1', method: 'getBlockHash' }, 'invalid_request'],
    ['a height that is none', { id: '1', method: 'getBlockHash', params: { height: -1 } }, 'invalid_request'],
    ['a height as text', { id: '1', method: 'getBlockHash', params: { height: '1' } }, 'invalid_request'],
    ['a fraction', { id: '1', method: 'getBlockHash', params: { height: 1.5 } }, 'invalid_request'],
    ['no id', { method: 'subscribeNewBlock' }, 'invalid_request'],
    ['a long id', { id: 'x'.repeat(129), method: 'subscribeNewBlock' }, 'invalid_request'],
  ];
  it.each(REFUSED)('[B6] %s, in the form of Blockbook’s errors', async (_what, request, code) => {
    const edge = new BlockEdge();
    const client = edge.connect();
    edge.say(client, request);
    await edge.edge.settle();
    const answer = JSON.parse(client.socket.messages[0] ?? '{}') as {
      data: { error: { code: string; message: unknown } };
    };
    expect(answer.data.error.code).toBe(code);
    expect(answer.data.error.message).toEqual(expect.any(String));
    expect(client.session.open).toBe(true);
  });

  it('[B6] parameters that Blockbook does not look at do not matter', async () => {
    const edge = new BlockEdge();
    await edge.publish({ height: 1 });
    const client = edge.connect();
    expect(await edge.answer(client, 'getBlockHash', { height: 1, more: true })).toEqual({ hash: '0xa1' });
    expect(await edge.answer(client, 'subscribeNewBlock', { more: true })).toEqual({ subscribed: true });
    expect(await edge.answer(client, 'ping', { more: true })).toEqual({});
  });
});
