import { describe, expect, it } from 'vitest';
import { readBlock, type BlockData } from '../../services/edge/block-data.js';
import { BlockHeights } from '../../services/edge/block-heights.js';
import { blockText, hashOf, heights, type TestBlock } from '../support/block-viewers.js';
import { Random, testSeed } from '../support/random.js';

const NO_BLOCK = '{"text":"no block"}';

function read(text: string): BlockData | undefined {
  return readBlock(Buffer.from(text));
}

/** The chain as SPEC's "data of a block" tells it, read from the beginning. */
function chainOf(revisions: readonly (TestBlock | undefined)[]): Map<number, string> {
  let chain: TestBlock[] = [];
  for (const block of revisions) {
    if (block === undefined) continue;
    const fork = block.reorg === undefined ? block.height - 1 : (block.reorg.forkHeight ?? -1);
    chain = [...chain.filter(({ height }) => height <= fork && height < block.height), block];
  }
  return new Map(chain.map((block) => [block.height, hashOf(block)]));
}

/** A room's history with reorganisations, heights that were left out, chains that start anew, and what is no block. */
function someHistory(random: Random, length: number): (TestBlock | undefined)[] {
  const revisions: (TestBlock | undefined)[] = [];
  let height = random.whole(0, 5);
  for (let n = 0; n < length; n += 1) {
    const branch = String(n);
    if (random.chance(0.05)) {
      revisions.push(undefined);
    } else if (random.chance(0.1)) {
      const forkHeight = Math.max(-1, height - random.whole(1, 6));
      height = forkHeight + 1 + (random.chance(0.2) ? random.whole(1, 3) : 0);
      revisions.push({ height, branch, reorg: { forkHeight } });
    } else if (random.chance(0.02)) {
      height = random.whole(0, 20);
      revisions.push({ height, branch, reorg: { forkHeight: null } });
    } else {
      height += random.chance(0.1) ? random.whole(2, 4) : 1;
      revisions.push({ height, branch });
    }
  }
  return revisions;
}

function dataOf(block: TestBlock | undefined): BlockData | undefined {
  return read(block === undefined ? NO_BLOCK : blockText(block));
}

describe('a block in a revision', () => {
  const HASH = `0x${'ab'.repeat(32)}`;
  const READ: [string, object, Partial<BlockData> | undefined][] = [
    ['height and hash are enough', { height: 7, hash: HASH }, { height: 7, hash: HASH, cutHeight: 7, gas: undefined }],
    ['a reorganisation', { height: 7, hash: HASH, reorg: { depth: 2, forkHeight: 4 } }, { height: 7, cutHeight: 5 }],
    ['a chain that starts anew', { height: 7, hash: HASH, reorg: { forkHeight: null } }, { height: 7, cutHeight: 0 }],
    [
      'gas, also where no number is exact',
      { height: 7, hash: HASH, baseFeePerGas: '18446744073709551616', gasUsed: 21_000, gasLimit: 30_000_000 },
      { gas: { baseFeePerGas: '18446744073709551616', used: '21000', limit: '30000000' } },
    ],
    ['without a base fee', { height: 7, hash: HASH, gasUsed: 21_000, gasLimit: 30_000_000 }, { gas: undefined }],
    ['odd additions', { height: 7, hash: HASH, reorg: 'yes', gasUsed: {} }, { cutHeight: 7, gas: undefined }],
    ['no hash', { height: 7 }, undefined],
    ['an empty hash', { height: 7, hash: '' }, undefined],
    ['no height', { hash: HASH }, undefined],
    ['a height below 0', { height: -1, hash: HASH }, undefined],
    ['a height as text', { height: '7', hash: HASH }, undefined],
    ['a list', [7, HASH], undefined],
  ];
  it.each(READ)('[B1] %s', (_what, data, block) => {
    const found = read(JSON.stringify(data));
    if (block === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(block);
  });
});

describe('the chain by height', () => {
  const seed = testSeed();

  it(`[B4] is what the room tells from its beginning, read from any place on in both directions (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 200; round += 1) {
      const revisions = someHistory(random, random.whole(1, 120));
      const begin = random.whole(0, revisions.length);
      const known = new BlockHeights(begin, 10_000);
      while (known.lastRev < revisions.length || !known.isWhole) {
        if (known.lastRev < revisions.length && random.chance(0.5)) {
          known.addNewer(dataOf(revisions[known.lastRev]));
        } else if (!known.isWhole) {
          const count = random.whole(1, Math.min(20, known.firstRev - 1));
          const older = revisions.slice(known.firstRev - 1 - count, known.firstRev - 1).reverse();
          known.addOlder(older.map(dataOf));
        }
      }
      const chain = chainOf(revisions);
      const top = Math.max(-1, ...chain.keys());
      expect(known.newest?.height ?? -1).toBe(top);
      for (let height = 0; height <= top + 2; height += 1) expect(known.find(height)).toBe(chain.get(height));
    }
  });

  it('[B4] says when older revisions may tell, and when nothing will', () => {
    const known = new BlockHeights(5_000, 100);
    expect([known.newest, known.isWhole, known.find(7)]).toEqual([undefined, false, null]);
    known.addOlder(heights(4_991, 5_000).map(dataOf).reverse());
    expect(known.find(5_000)).toBe('0xa5000');
    expect([known.find(5_001), known.find(4_990), known.find(4_901), known.find(4_900), known.find(1)]).toEqual([
      undefined,
      null,
      null,
      undefined,
      undefined,
    ]);
    known.end();
    expect([known.isWhole, known.find(4_990)]).toEqual([true, undefined]);
  });

  it('[B4] keeps no more than so many blocks, the newest', () => {
    const known = new BlockHeights(0, 100);
    for (const block of heights(0, 1_000)) known.addNewer(dataOf(block));
    expect([known.find(1_000), known.find(901), known.find(900), known.find(0)]).toEqual([
      '0xa1000',
      '0xa901',
      undefined,
      undefined,
    ]);
    const backwards = new BlockHeights(1_001, 100);
    while (!backwards.isWhole) {
      const rev = backwards.firstRev - 1;
      backwards.addOlder(
        heights(rev - 50, rev - 1)
          .map(dataOf)
          .reverse(),
      );
    }
    expect([backwards.find(1_000), backwards.find(901), backwards.find(900)]).toEqual(['0xa1000', '0xa901', undefined]);
  });
});
