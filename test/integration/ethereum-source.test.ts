/** The Ethereum source against a real node (anvil) and the memory log. The oracle is block-room: a reader of the room. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import type { EthereumValues } from '../../services/producer/sources/ethereum-settings.js';
import type { SourceLog } from '../../services/producer/sources/source.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError } from '../../services/shared/errors.js';
import { Anvil, type AnvilOptions } from '../support/anvil.js';
import { chainOf, readBlocks, type RoomBlock } from '../support/block-room.js';
import { startSource, type StartedSource } from '../support/ethereum-source-parts.js';
import { SwitchProxy } from '../support/switch-proxy.js';

/** The same genesis block on every node. */
const GENESIS = { args: ['--timestamp', '1700000000'] };
const WAIT = { timeout: 30_000, interval: 50 };

let cleanups: (() => Promise<unknown>)[] = [];
let store: MemoryStore;
let log: MemoryLog;

beforeEach(() => {
  store = new MemoryStore();
  log = new MemoryLog({ clock: systemClock, store });
  cleanups = [() => log.close()];
});

afterEach(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const anvil = await Anvil.start(options);
  cleanups.push(() => anvil.stop());
  return anvil;
}

async function startProxy(anvil: Anvil): Promise<SwitchProxy> {
  const proxy = await SwitchProxy.start(anvil.port);
  cleanups.push(() => proxy.stop());
  return proxy;
}

function start(url: string, settings: Partial<EthereumValues> = {}, to: SourceLog = log): StartedSource {
  const started = startSource(url, to, settings);
  cleanups.push(() => started.source.stop());
  return started;
}

/** Waits until a reader of the room holds the node's chain from height `from` on; answers every revision. */
async function untilRoomHolds(anvil: Anvil, from: number): Promise<RoomBlock[]> {
  return vi.waitFor(async () => {
    const blocks = await readBlocks(log);
    expect(chainOf(blocks).map(({ hash }) => hash)).toEqual(await anvil.hashes(from));
    return blocks;
  }, WAIT);
}

const refuse = () => Promise.reject(new RevcastError('log_unavailable', 'the log does not answer'));
const viaProxy = (proxy: SwitchProxy) => `ws://127.0.0.1:${proxy.port}`;
const heights = (blocks: readonly RoomBlock[]) => blocks.map(({ height }) => height);
const hashes = (blocks: readonly RoomBlock[]) => blocks.map(({ hash }) => hash);

describe('blocks', () => {
  it('[E1] every block of the node is one revision of the room, in order, with its summary', async () => {
    const anvil = await startAnvil({ blockTimeSeconds: 1 });
    const { faults } = start(anvil.url, { ethereumStart: 0 });
    const [from, to] = await anvil.rpc<string[]>('eth_accounts');
    await anvil.rpc('eth_sendTransaction', { from, to, value: '0x1' });
    const blocks = await vi.waitFor(async () => {
      const read = await readBlocks(log);
      expect(read.length).toBeGreaterThan(3);
      expect(read.some(({ transactions }) => transactions > 0)).toBe(true);
      return read;
    }, WAIT);
    expect(heights(blocks)).toEqual(blocks.map((_, index) => index));
    expect(chainOf(blocks)).toEqual(blocks);
    expect(blocks.reduce((sum, { transactions }) => sum + transactions, 0)).toBe(1);
    const [second] = blocks.slice(1);
    const answered = await anvil.block(1);
    expect(second).toMatchObject({
      rev: 2,
      height: 1,
      hash: answered.hash,
      parentHash: answered.parentHash,
      timestamp: Number(answered.timestamp),
      gasLimit: 30_000_000,
      withdrawals: 0,
    });
    expect(faults).toEqual([]);
  });

  it('[E1] a room without blocks begins with the node’s newest block, and goes on from there', async () => {
    const anvil = await startAnvil();
    await anvil.mine(5);
    start(anvil.url);
    await untilRoomHolds(anvil, 5);
    await anvil.mine(40);
    const blocks = await untilRoomHolds(anvil, 5);
    expect(blocks).toHaveLength(41);
    expect(blocks.some(({ skipped, reorg, replaces }) => skipped ?? reorg ?? replaces)).toBe(false);
  });
});

describe('what was missed', () => {
  it('[E2] blocks mined while the connection is cut are fetched when it is back', async () => {
    const anvil = await startAnvil();
    const proxy = await startProxy(anvil);
    start(viaProxy(proxy), { ethereumStart: 0 });
    await anvil.mine(3);
    await untilRoomHolds(anvil, 0);
    proxy.cut();
    await anvil.mine(37);
    expect(await readBlocks(log)).toHaveLength(4);
    proxy.restore();
    expect(await untilRoomHolds(anvil, 0)).toHaveLength(41);
  });

  it('[E2] a node that was stopped and started again is followed on, whatever it mined before the source was back', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'revcast-anvil-'));
    cleanups.push(() => rm(directory, { recursive: true, force: true }));
    const anvil = await startAnvil({ stateFile: join(directory, 'state.json') });
    const { lines } = start(anvil.url, { ethereumStart: 0 });
    await anvil.mine(4);
    await untilRoomHolds(anvil, 0);
    await anvil.stop();
    await vi.waitFor(() => expect(lines.some(({ msg }) => msg.includes('not reachable'))).toBe(true), WAIT);
    await anvil.start();
    await anvil.mine(5);
    const blocks = await untilRoomHolds(anvil, 0);
    expect(blocks).toHaveLength(10);
    expect(lines.filter(({ msg }) => msg.includes('not reachable'))).toHaveLength(1);
  });

  it('[E7] when more was missed than may be fetched, the next block says which heights are left out', async () => {
    const anvil = await startAnvil();
    const proxy = await startProxy(anvil);
    const { lines } = start(viaProxy(proxy), { ethereumMaxBackfill: 10 });
    await anvil.mine(2);
    await vi.waitFor(async () => expect((await readBlocks(log)).at(-1)?.height).toBe(2), WAIT);
    proxy.cut();
    await anvil.mine(50);
    proxy.restore();
    await vi.waitFor(async () => expect((await readBlocks(log)).at(-1)?.height).toBe(52), WAIT);
    const blocks = await readBlocks(log);
    chainOf(blocks);
    expect(blocks.find(({ skipped }) => skipped)).toMatchObject({ height: 43, skipped: { from: 3, to: 42 } });
    expect(lines.filter(({ skipped }) => skipped !== undefined)).toHaveLength(1);
  });

  it('[E8] a node that is silent on an open connection is given up, and followed again when it answers', async () => {
    const anvil = await startAnvil();
    const { lines } = start(anvil.url, { ethereumStart: 0, ethereumTimeoutMs: 300 });
    await anvil.mine(1);
    await untilRoomHolds(anvil, 0);
    anvil.pause();
    await vi.waitFor(() => expect(lines.some(({ msg }) => msg.includes('not reachable'))).toBe(true), WAIT);
    anvil.resume();
    await anvil.mine(2);
    await untilRoomHolds(anvil, 0);
  });
});

describe('reorganisations', () => {
  it('[E3] the blocks of the new branch are new revisions, from the fork point on, that say what they replace', async () => {
    const anvil = await startAnvil();
    start(anvil.url, { ethereumStart: 0 });
    await anvil.mine(6);
    const before = await untilRoomHolds(anvil, 0);
    await anvil.reorg(3);
    await anvil.mine(2);
    const blocks = await untilRoomHolds(anvil, 0);
    expect(blocks.slice(0, 7)).toEqual(before);
    const branch = blocks.slice(7);
    expect(heights(branch)).toEqual([4, 5, 6, 7, 8]);
    expect(branch.map(({ replaces }) => replaces)).toEqual([...hashes(before).slice(4), undefined, undefined]);
    expect(branch[0]?.reorg).toEqual({ depth: 3, forkHeight: 3, forkHash: before[3]?.hash });
    expect(branch.filter(({ reorg }) => reorg !== undefined)).toHaveLength(1);
  });

  it('[E3] a reorganisation that happens while nobody looks is found, and so are the blocks behind it', async () => {
    const anvil = await startAnvil();
    const proxy = await startProxy(anvil);
    start(viaProxy(proxy), { ethereumStart: 0 });
    await anvil.mine(30);
    await untilRoomHolds(anvil, 0);
    proxy.cut();
    await anvil.reorg(25);
    await anvil.mine(30);
    proxy.restore();
    const blocks = await untilRoomHolds(anvil, 0);
    expect(blocks).toHaveLength(31 + 25 + 30);
  });

  it('[E3] a chain that returns to a replaced branch is published again, block by block', async () => {
    const anvil = await startAnvil(GENESIS);
    const other = await startAnvil(GENESIS);
    expect((await other.block(0)).hash).toBe((await anvil.block(0)).hash);
    await anvil.mine(3);
    await other.rpc('evm_setNextBlockTimestamp', 1_800_000_000);
    await other.mine(2);
    const proxy = await startProxy(anvil);
    start(viaProxy(proxy), { ethereumStart: 0 });
    const a = hashes(await untilRoomHolds(anvil, 0));
    proxy.switchTo(other.port);
    await untilRoomHolds(other, 0);
    proxy.switchTo(anvil.port);
    const blocks = await untilRoomHolds(anvil, 0);
    const b = await other.hashes(1);
    expect(hashes(blocks)).toEqual([...a, ...b, ...a.slice(1)]);
  });

  it('[E11] another chain in the same room, or a fork deeper than what is followed, starts anew and says so', async () => {
    const anvil = await startAnvil();
    const other = await startAnvil(GENESIS);
    const proxy = await startProxy(anvil);
    const { faults } = start(viaProxy(proxy), { ethereumStart: 0, ethereumMaxReorg: 5 });
    await anvil.mine(10);
    const before = await untilRoomHolds(anvil, 0);
    await anvil.reorg(8);
    const forked = await untilRoomHolds(anvil, 0);
    expect(forked[before.length]).toMatchObject({
      height: 0,
      reorg: { depth: null, forkHeight: null, forkHash: null },
    });
    await other.mine(2);
    proxy.switchTo(other.port);
    const blocks = await untilRoomHolds(other, 0);
    expect(heights(blocks.slice(forked.length))).toEqual([0, 1, 2]);
    expect(faults).toEqual([]);
  });
});

describe('restarts and company', () => {
  it('[E4] a restarted source publishes no block twice and misses none, reorganisations included', async () => {
    const anvil = await startAnvil();
    for (let round = 0; round < 4; round += 1) {
      const { source } = start(anvil.url, { ethereumStart: 0 });
      await anvil.mine(5);
      await untilRoomHolds(anvil, 0);
      await source.stop();
      await anvil.mine(20);
      if (round === 2) await anvil.reorg(23);
    }
    start(anvil.url, { ethereumStart: 0 });
    const blocks = await untilRoomHolds(anvil, 0);
    expect(new Set(hashes(blocks)).size).toBe(blocks.length);
    expect(blocks).toHaveLength(101 + 3);
  });

  it('[E5] several sources on one room publish each block once, together', async () => {
    const anvil = await startAnvil();
    // Three producers, each with a writer of its own on one log.
    const logs = [log, ...[0, 1].map(() => new MemoryLog({ clock: systemClock, store }))];
    const started = logs.map((each) => start(anvil.url, { ethereumStart: 0 }, each));
    for (let round = 0; round < 10; round += 1) await anvil.mine(1 + round * 2);
    await untilRoomHolds(anvil, 0);
    await anvil.reorg(20);
    await anvil.mine(20);
    const blocks = await untilRoomHolds(anvil, 0);
    expect(new Set(hashes(blocks)).size).toBe(blocks.length);
    expect(blocks).toHaveLength(101 + 20 + 20);
    for (const { faults } of started) expect(faults).toEqual([]);
  });
});

describe('the log', () => {
  it('[E6] while the log fails, or leaves the outcome open, blocks wait; then each is published once', async () => {
    const anvil = await startAnvil();
    const outcomes = ['ok', 'unavailable', 'stored but unknown', 'unavailable', 'unknown and not stored'] as const;
    let appends = 0;
    const flaky: SourceLog = {
      heads: (rooms) => log.heads(rooms),
      range: (room, from, options) => log.range(room, from, options),
      append: async (room, append) => {
        const outcome = outcomes[appends % outcomes.length];
        appends += 1;
        if (outcome === 'unavailable') throw new RevcastError('log_unavailable', 'the log does not answer');
        if (outcome === 'unknown and not stored') throw new RevcastError('outcome_unknown', 'no answer');
        const appended = await log.append(room, append);
        if (outcome === 'stored but unknown') throw new RevcastError('outcome_unknown', 'no answer');
        return appended;
      },
    };
    const { faults } = start(anvil.url, { ethereumStart: 0 }, flaky);
    for (let round = 0; round < 8; round += 1) {
      await anvil.mine(7);
      if (round % 3 === 2) await anvil.reorg(4);
    }
    const blocks = await untilRoomHolds(anvil, 0);
    expect(new Set(hashes(blocks)).size).toBe(blocks.length);
    expect(faults).toEqual([]);
  });

  it('[E6] a log that is away for long is told of once, and nothing of that time is lost', async () => {
    const anvil = await startAnvil();
    let away = false;
    const leaving: SourceLog = {
      heads: (rooms) => (away ? refuse() : log.heads(rooms)),
      range: (room, from, options) => (away ? refuse() : log.range(room, from, options)),
      append: (room, append) => (away ? refuse() : log.append(room, append)),
    };
    const { lines } = start(anvil.url, { ethereumStart: 0 }, leaving);
    await anvil.mine(2);
    await untilRoomHolds(anvil, 0);
    away = true;
    await anvil.mine(30);
    await vi.waitFor(() => expect(lines.some(({ code }) => code === 'log_unavailable')).toBe(true), WAIT);
    await anvil.mine(30);
    away = false;
    expect(await untilRoomHolds(anvil, 0)).toHaveLength(63);
    await vi.waitFor(() => expect(lines.some(({ msg }) => msg === 'publishing goes on')).toBe(true), WAIT);
    expect(lines.filter(({ msg }) => msg === 'publishing waits')).toHaveLength(1);
  });

  it('[E4] a room whose history was removed is begun again as one without blocks, under a new numbering', async () => {
    const anvil = await startAnvil();
    const { faults } = start(anvil.url, { ethereumStart: 3 });
    await anvil.mine(5);
    await untilRoomHolds(anvil, 3);
    const before = (await log.heads(['eth'])).get('eth');
    store.removeHistory('eth');
    await anvil.mine(3);
    const blocks = await untilRoomHolds(anvil, 3);
    expect(heights(blocks)).toEqual([3, 4, 5, 6, 7, 8]);
    expect((await log.heads(['eth'])).get('eth')?.epoch).not.toBe(before?.epoch);
    expect(faults).toEqual([]);
  });

  it('[E4] a log that lost the end of its history and numbers anew is followed: no block is missing between the two', async () => {
    const anvil = await startAnvil();
    const fresh = new MemoryLog({ clock: systemClock });
    cleanups.push(() => fresh.close());
    let state: 'whole' | 'lost' | 'renumbered' = 'whole';
    // What is left is shown until the first append under the new numbering; that one must expect no revision.
    const lossy: SourceLog = {
      heads: (rooms) => (state === 'renumbered' ? fresh : log).heads(rooms),
      range: (room, from, options) => (state === 'renumbered' ? fresh : log).range(room, from, options),
      append: async (room, append) => {
        if (state === 'whole') return log.append(room, append);
        if (state === 'lost' && append.expectedRev !== 0) {
          const head = { epoch: '', rev: 0, tag: '', time: 0 };
          throw new RevcastError('conflict', 'another head', { details: { head } });
        }
        const appended = await fresh.append(room, append);
        state = 'renumbered';
        return appended;
      },
    };
    const { faults } = start(anvil.url, { ethereumStart: 0 }, lossy);
    await anvil.mine(5);
    await untilRoomHolds(anvil, 0);
    state = 'lost';
    await anvil.mine(5);
    await vi.waitFor(async () => expect(heights(await readBlocks(fresh))).toEqual([6, 7, 8, 9, 10]), WAIT);
    await anvil.mine(2);
    await vi.waitFor(async () => expect((await readBlocks(fresh)).at(-1)?.height).toBe(12), WAIT);
    chainOf(await readBlocks(fresh));
    expect(faults).toEqual([]);
  });

  it('[E10] an append that no retry can mend ends the source, and is told once', async () => {
    const anvil = await startAnvil();
    const broken: SourceLog = {
      heads: (rooms) => log.heads(rooms),
      range: (room, from, options) => log.range(room, from, options),
      append: () => Promise.reject(new RevcastError('too_large', 'the append has too many bytes')),
    };
    const { source, faults } = start(anvil.url, {}, broken);
    await vi.waitFor(() => expect(faults).toHaveLength(1), WAIT);
    await anvil.mine(3);
    await source.stop();
    expect(faults).toMatchObject([{ code: 'too_large' }]);
  });
});
