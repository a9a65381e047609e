/** The Ethereum source against a node that misbehaves as told (scripted-node): what it answers, and what it does not. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../services/log/memory-log.js';
import type { EthereumValues } from '../../services/producer/sources/ethereum-settings.js';
import { systemClock } from '../../services/shared/clock.js';
import { chainOf, readBlocks } from '../support/block-room.js';
import { startSource, type StartedSource } from '../support/ethereum-source-parts.js';
import {
  ErrorAnswer,
  RawAnswer,
  scriptedChain,
  ScriptedNode,
  SILENCE,
  type ScriptedBlock,
} from '../support/scripted-node.js';

const WAIT = { timeout: 30_000, interval: 20 };

let log: MemoryLog;
let node: ScriptedNode;
let sources: StartedSource[];

beforeEach(async () => {
  log = new MemoryLog({ clock: systemClock });
  node = await ScriptedNode.start(scriptedChain(3));
  sources = [];
});

afterEach(async () => {
  for (const { source } of sources) await source.stop();
  await node.stop();
  await log.close();
});

function start(settings: Partial<EthereumValues> = {}, url = node.url): StartedSource {
  const started = startSource(url, log, { ethereumStart: 0, ...settings });
  sources.push(started);
  return started;
}

async function untilRoomHolds(chain: readonly ScriptedBlock[]): Promise<void> {
  await vi.waitFor(async () => {
    const held = chainOf(await readBlocks(log)).map(({ hash }) => hash);
    expect(held).toEqual(chain.map(({ hash }) => hash));
  }, WAIT);
}

const BAD_ANSWERS: readonly (readonly [string, unknown])[] = [
  ['an error', new ErrorAnswer(-32_005, 'too many requests')],
  ['no block', null],
  ['a block without a hash', { ...scriptedChain(1)[0], hash: undefined }],
  ['a block with a hash of the wrong length', { ...scriptedChain(1)[0], hash: '0x12' }],
  ['a number that is no quantity', { ...scriptedChain(1)[0], number: 7 }],
  ['a text', 'no'],
  ['text that is not JSON', new RawAnswer('{"jsonrpc":"2.0",')],
  ['JSON that is no message', new RawAnswer('[1,2]')],
];

it.each(BAD_ANSWERS)('[E9] a node that answers %s is asked again until it answers properly', async (_name, bad) => {
  const { lines, faults } = start();
  await untilRoomHolds(node.chain);
  let left = 5;
  node.answer = (method) => {
    if (method !== 'eth_getBlockByNumber' || left === 0) return undefined;
    left -= 1;
    return bad;
  };
  node.grow(scriptedChain(6));
  await untilRoomHolds(node.chain);
  expect(left).toBe(0);
  expect(faults).toEqual([]);
  // One line when it begins, none for each further attempt.
  expect(lines.filter(({ level }) => level >= 40).length).toBeLessThanOrEqual(1);
});

it('[E9] a node that gives no answer is asked again', async () => {
  const { lines } = start({ ethereumTimeoutMs: 200 });
  await untilRoomHolds(node.chain);
  let left = 3;
  node.answer = (method) => {
    if (method !== 'eth_getBlockByNumber' || left === 0) return undefined;
    left -= 1;
    return SILENCE;
  };
  node.grow(scriptedChain(5));
  await untilRoomHolds(node.chain);
  expect(lines.filter(({ code }) => code === 'timeout')).toHaveLength(1);
});

it('[E9] an answer that is another block than the one asked for is not published', async () => {
  node.grow(scriptedChain(40));
  let left = 10;
  node.answer = (method, [at]) => {
    if (method !== 'eth_getBlockByNumber' || at === 'latest' || left === 0) return undefined;
    left -= 1;
    return node.chain[Number(at) + 1];
  };
  const { faults } = start();
  await untilRoomHolds(node.chain);
  expect(left).toBe(0);
  expect(faults).toEqual([]);
});

it('[E9] behind a load balancer, an announced block that one of its nodes lacks is waited for', async () => {
  const { lines } = start({ ethereumPollMs: 60_000 });
  await untilRoomHolds(node.chain);
  const old = node.chain;
  let left = 2;
  node.answer = (method, [at]) => {
    if (method !== 'eth_getBlockByNumber' || at !== 'latest' || left === 0) return undefined;
    left -= 1;
    return old.at(-1);
  };
  node.grow(scriptedChain(4));
  await untilRoomHolds(node.chain);
  expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
});

it('[E9] announcements that are no block headers change nothing', async () => {
  const { faults } = start({ ethereumPollMs: 60_000 });
  await untilRoomHolds(node.chain);
  for (const header of [null, 7, {}, { number: '0xzz', hash: 1 }, { number: `0x${'f'.repeat(60)}`, hash: '' }]) {
    node.announce(header);
  }
  node.sendAll(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription' }));
  node.grow(scriptedChain(5));
  await untilRoomHolds(node.chain);
  expect(faults).toEqual([]);
  expect(node.accepted).toBe(1);
});

it('[E8] a subscription that announces nothing is noticed: the blocks are asked for, and the connection is renewed', async () => {
  start({ ethereumPollMs: 100 });
  await untilRoomHolds(node.chain);
  node.announces = false;
  for (let length = 4; length < 30 && node.accepted === 1; length += 1) {
    node.grow(scriptedChain(length));
    await untilRoomHolds(node.chain);
  }
  expect(node.accepted).toBe(2);
});

it('[E8] a node that announces nothing at all is asked at intervals, over one connection', async () => {
  node.answer = (method) => (method === 'eth_subscribe' ? new ErrorAnswer(-32_601, 'no such method') : undefined);
  const { lines } = start({ ethereumPollMs: 100 });
  for (let length = 4; length < 9; length += 1) {
    node.chain = scriptedChain(length);
    await untilRoomHolds(node.chain);
  }
  expect(node.accepted).toBe(1);
  expect(lines.filter(({ level }) => level >= 40)).toHaveLength(1);
});

it('[E8] a node that no connection to works is connected to again and again, and told of once', async () => {
  node.answer = () => new RawAnswer('not JSON-RPC');
  const { lines } = start();
  await vi.waitFor(() => expect(node.accepted).toBeGreaterThan(6), WAIT);
  expect(lines.filter(({ level }) => level >= 40)).toHaveLength(1);
  node.answer = () => undefined;
  await untilRoomHolds(node.chain);
});

it('[E3] a branch that is shorter than what it replaces is published when it comes, and grows from there', async () => {
  node.grow(scriptedChain(10));
  start();
  await untilRoomHolds(node.chain);
  node.grow(scriptedChain(7, 'other', 5));
  await untilRoomHolds(node.chain);
  node.grow(scriptedChain(12, 'other', 5));
  await untilRoomHolds(node.chain);
  const blocks = await readBlocks(log);
  expect(blocks.map(({ height }) => height)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 6, 7, 8, 9, 10, 11]);
  expect(blocks.slice(10).map(({ replaces }) => replaces)).toEqual([
    ...scriptedChain(10)
      .slice(5)
      .map(({ hash }) => hash),
    undefined,
    undefined,
  ]);
});

it('[E3] a node that goes back to an older block of the same branch changes nothing until it goes on', async () => {
  node.grow(scriptedChain(10));
  start({ ethereumPollMs: 100 });
  await untilRoomHolds(node.chain);
  node.grow(scriptedChain(6));
  const { length } = node.calls;
  await vi.waitFor(() => expect(node.calls.length).toBeGreaterThan(length + 3), WAIT);
  node.grow(scriptedChain(14));
  await untilRoomHolds(node.chain);
  expect(await readBlocks(log)).toHaveLength(14);
});

it('[E11] a node far behind what the room holds is waited for, not taken for another chain', async () => {
  node.grow(scriptedChain(600));
  const { source } = start({ ethereumMaxReorg: 20 });
  await untilRoomHolds(node.chain);
  await source.stop();
  node.chain = scriptedChain(120);
  const { lines } = start({ ethereumMaxReorg: 20 });
  await vi.waitFor(() => expect(lines.some(({ code }) => code === 'behind')).toBe(true), WAIT);
  for (let length = 150; length < 600; length += 150) node.grow(scriptedChain(length));
  node.grow(scriptedChain(605));
  await untilRoomHolds(node.chain);
  expect(await readBlocks(log)).toHaveLength(605);
  expect(lines.filter(({ code }) => code === 'behind')).toHaveLength(1);
});

it('[E4] revisions in the room that are no blocks are passed over', async () => {
  const say = async (text: string) => {
    await log.append('eth', { revisions: [{ data: Buffer.from(JSON.stringify(text)) }] });
  };
  await say('first');
  const { source } = start();
  await vi.waitFor(async () => expect(await readBlocks(log)).toHaveLength(4), WAIT);
  await say('second');
  node.grow(scriptedChain(5));
  await vi.waitFor(async () => expect(await readBlocks(log)).toHaveLength(7), WAIT);
  await source.stop();
  await say('third');
  start();
  node.grow(scriptedChain(6));
  await vi.waitFor(async () => expect(await readBlocks(log)).toHaveLength(9), WAIT);
  const blocks = (await readBlocks(log)).filter(({ height }) => height !== undefined);
  expect(chainOf(blocks).map(({ hash }) => hash)).toEqual(node.chain.map(({ hash }) => hash));
  expect(blocks).toHaveLength(6);
});

it('[E12] the address may hold a secret: only its host is logged', async () => {
  const { lines } = start({}, `${node.url.replace('ws://', 'ws://name:password@')}/v2/api-key?token=secret`);
  await untilRoomHolds(node.chain);
  await node.stop();
  await vi.waitFor(() => expect(lines.some(({ msg }) => msg.includes('not reachable'))).toBe(true), WAIT);
  expect(JSON.stringify(lines)).not.toMatch(/password|api-key|secret/u);
});

it('[E8] stop ends a source at any time, again and again', async () => {
  const { source, faults } = start({}, 'ws://127.0.0.1:9');
  await source.stop();
  await source.stop();
  const second = start();
  await second.source.stop();
  expect([...faults, ...second.faults]).toEqual([]);
});
