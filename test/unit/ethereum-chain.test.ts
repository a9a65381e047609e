/**
 * The decisions of the Ethereum source, without sockets: a node that grows and reorganises at random, a room in the
 * memory log, several readers of it. The oracle is block-room, which reads the room by the rules of its data only.
 */
import {
  array,
  assert,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  oneof,
  record,
  type Arbitrary,
} from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MemoryLog } from '../../services/log/memory-log.js';
import { blockData, parseNodeBlock, type Block } from '../../services/producer/sources/ethereum-block.js';
import { nextBlocks, type NextBlocks, type NextBlocksParts } from '../../services/producer/sources/next-blocks.js';
import { PublishedChain } from '../../services/producer/sources/published-chain.js';
import { PublishedRoom } from '../../services/producer/sources/published-room.js';
import { systemClock } from '../../services/shared/clock.js';
import { chainOf, readBlocks } from '../support/block-room.js';
import { scriptedChain } from '../support/scripted-node.js';

/** A node in memory, whose chain a test sets; it keeps the blocks of every branch. */
class ListedNode {
  private readonly byHash = new Map<string, Block>();
  private chain: Block[] = [];

  set(blocks: Block[]): void {
    this.chain = blocks;
    for (const block of blocks) this.byHash.set(block.hash, block);
  }

  latest = () => this.blockAt(this.chain.length - 1);
  blockAt = (height: number) => answer(this.chain[height]);
  blockByHash = (hash: string) => answer(this.byHash.get(hash));
}

function answer(block: Block | undefined): Promise<Block> {
  return block === undefined ? Promise.reject(new Error('no such block')) : Promise.resolve(block);
}

const blocksOf = (...args: Parameters<typeof scriptedChain>) => scriptedChain(...args).map(parseNodeBlock);

function chainAt(blocks: readonly Block[], maxBlocks = 100): PublishedChain {
  const chain = new PublishedChain('epoch', 0, maxBlocks);
  blocks.forEach(({ height, hash }, index) => chain.apply(index + 1, { height, hash }));
  return chain;
}

function parts(node: ListedNode, other: Partial<NextBlocksParts> = {}): NextBlocksParts {
  return { node, holds: () => Promise.resolve(false), start: 0, maxBackfill: 1_000, maxReorg: 50, ...other };
}

async function next(node: ListedNode, chain: PublishedChain, other: Partial<NextBlocksParts> = {}) {
  const found = await nextBlocks(parts(node, other), chain, undefined);
  return found === null ? null : { ...found, blocks: found.blocks.map(({ height }) => height) };
}

describe('what is published next', () => {
  it('[E1] an empty room begins at the newest block, or at the height that is set', async () => {
    const node = new ListedNode();
    node.set(blocksOf(10));
    expect(await next(node, chainAt([]), { start: 'latest' })).toEqual({ blocks: [9] });
    expect(await next(node, chainAt([]), { start: 7 })).toEqual({ blocks: [7, 8, 9] });
    expect(await next(node, chainAt([]), { start: 10 })).toBeNull();
  });

  it('[E2] a room that lacks many blocks gets the first few of them', async () => {
    const node = new ListedNode();
    node.set(blocksOf(100));
    const { blocks } = (await next(node, chainAt(blocksOf(10)))) ?? { blocks: [] };
    expect(blocks).toEqual(Array.from({ length: 16 }, (_, index) => 10 + index));
  });

  it('[E7] what is further behind than may be fetched is skipped, and named', async () => {
    const node = new ListedNode();
    node.set(blocksOf(100));
    expect(await next(node, chainAt(blocksOf(10)), { maxBackfill: 2 })).toEqual({
      blocks: [98, 99],
      skipped: { from: 10, to: 97 },
    });
    expect(await next(node, chainAt([]), { maxBackfill: 1 })).toEqual({ blocks: [99], skipped: { from: 0, to: 98 } });
  });

  it('[E3] [E7] a fork point is named even where blocks behind it are skipped', async () => {
    const node = new ListedNode();
    node.set(blocksOf(100, 'other', 6));
    const forkHash = blocksOf(6).at(-1)?.hash;
    expect(await next(node, chainAt(blocksOf(10)), { maxBackfill: 2 })).toEqual({
      blocks: [98, 99],
      skipped: { from: 6, to: 97 },
      reorg: { depth: 4, forkHeight: 5, forkHash },
    });
  });

  it('[E11] a fork point further back than is looked is told as unknown', async () => {
    const node = new ListedNode();
    node.set(blocksOf(32, 'other', 1));
    const unknown = { depth: null, forkHeight: null, forkHash: null };
    const chain = chainAt(blocksOf(30));
    expect(await next(node, chain, { start: 'latest', maxReorg: 3 })).toMatchObject({ reorg: unknown });
    expect((await next(node, chain, { start: 'latest', maxReorg: 3 }))?.blocks[0]).toBe(27);
    expect((await next(node, chain, { maxReorg: 3 }))?.blocks[0]).toBe(0);
  });

  it('[E11] a node whose newest block the room holds far back is behind, not on another chain', async () => {
    const node = new ListedNode();
    node.set(blocksOf(5));
    const chain = chainAt(blocksOf(40), 10);
    await expect(next(node, chain, { holds: () => Promise.resolve(true) })).rejects.toMatchObject({ code: 'behind' });
    expect((await next(node, chain))?.reorg?.forkHeight).toBeNull();
  });

  it('[E9] an announced block that the node does not have yet is waited for', async () => {
    const node = new ListedNode();
    node.set(blocksOf(5));
    const announced = { height: 5, hash: blocksOf(6).at(-1)?.hash ?? '' };
    await expect(nextBlocks(parts(node), chainAt(blocksOf(5)), announced)).rejects.toMatchObject({
      code: 'missing_block',
    });
    expect(await nextBlocks(parts(node), chainAt(blocksOf(6)), announced)).toBeNull();
  });
});

describe('a room far back', () => {
  it('[E11] is searched for a block by its height, other revisions and reorganisations on the way included', async () => {
    const log = new MemoryLog({ clock: systemClock });
    const main = blocksOf(3_000);
    const data = main.flatMap((block, index) => {
      const noted = blockData(block, {});
      return index % 97 === 0 ? [Buffer.from('"a remark"'), noted] : [noted];
    });
    for (let from = 0; from < data.length; from += 500) {
      await log.append('eth', { revisions: data.slice(from, from + 500).map((each) => ({ data: each })) });
    }
    const room = new PublishedRoom('eth', log, { tailRevisions: 100, maxBlocks: 50 });
    for (const height of [0, 1, 776, 777, 1_500, 2_400, 2_999]) {
      expect(await room.holds({ height, hash: main[height]?.hash ?? '' })).toBe(true);
      expect(await room.holds({ height, hash: `0x${'0'.repeat(64)}` })).toBe(false);
    }
    expect(
      await new PublishedRoom('none', log, { tailRevisions: 10, maxBlocks: 5 }).holds({ height: 1, hash: '' }),
    ).toBe(false);
    expect((await room.load()).tip).toEqual({ height: 2_999, hash: main[2_999]?.hash });
  });
});

type Step = { kind: 'grow'; blocks: number } | { kind: 'fork'; depth: number; blocks: number } | { kind: 'restart' };

const step: Arbitrary<Step> = oneof(
  record({ kind: constant('grow' as const), blocks: integer({ min: 1, max: 40 }) }),
  record({
    kind: constant('fork' as const),
    depth: integer({ min: 1, max: 12 }),
    blocks: integer({ min: 1, max: 15 }),
  }),
  record({ kind: constant('restart' as const) }),
);

describe('any history', () => {
  it('[E2] [E3] [E4] a reader of the room always holds the node’s chain, told without a hole', async () => {
    await assert(
      asyncProperty(
        array(step, { minLength: 1, maxLength: 12 }),
        constantFrom(4, 8, 50),
        constantFrom(5, 20, 1_000),
        async (steps, maxReorg, maxBackfill) => {
          const log = new MemoryLog({ clock: systemClock });
          const node = new ListedNode();
          const room = new PublishedRoom('eth', log, { tailRevisions: 2 * maxReorg + 16, maxBlocks: maxReorg + 1 });
          let blocks = blocksOf(3);
          let branch = 0;
          let chain = await room.load();
          for (const each of steps) {
            if (each.kind === 'restart') chain = await room.load();
            else {
              const fork = each.kind === 'grow' ? blocks.length : Math.max(0, blocks.length - each.depth);
              branch += 1;
              blocks = extend(blocks.slice(0, fork), each.blocks, `branch ${branch}`);
            }
            node.set(blocks);
            for (;;) {
              const found = await nextBlocks(
                parts(node, { holds: (block) => room.holds(block), maxBackfill, maxReorg }),
                chain,
                undefined,
              );
              if (found === null) break;
              chain = await publish(log, chain, found, maxReorg);
            }
            const held = chainOf(await readBlocks(log));
            const byHeight = new Map(blocks.map(({ height, hash }) => [height, hash]));
            expect(held.at(-1)?.hash).toBe(blocks.at(-1)?.hash);
            for (const { height, hash } of held) expect(byHeight.get(height)).toBe(hash);
          }
        },
      ),
      { numRuns: 150 },
    );
  }, 60_000);
});

function extend(base: Block[], count: number, branch: string): Block[] {
  const grown = [...base];
  const names = scriptedChain(count, branch);
  for (const { hash } of names) {
    const parent = grown.at(-1);
    const template = parseNodeBlock(names[0]);
    grown.push({ ...template, height: grown.length, hash, parentHash: parent?.hash ?? `0x${'0'.repeat(64)}` });
  }
  return grown;
}

async function publish(
  log: MemoryLog,
  chain: PublishedChain,
  found: NextBlocks,
  maxReorg: number,
): Promise<PublishedChain> {
  const revisions = found.blocks.map((block, index) => ({
    data: blockData(block, index === 0 ? { ...pick(found) } : {}),
  }));
  await log.append('eth', { revisions, expectedRev: chain.rev });
  const room = new PublishedRoom('eth', log, { tailRevisions: 2 * maxReorg + 16, maxBlocks: maxReorg + 1 });
  return room.refresh(chain);
}

function pick({ reorg, skipped }: NextBlocks) {
  return { ...(reorg === undefined ? {} : { reorg }), ...(skipped === undefined ? {} : { skipped }) };
}
