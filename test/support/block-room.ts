/**
 * The oracle of the Ethereum source's tests: reads a room as a block explorer does, by the rules of the published data
 * only, and fails on the first hole, wrong parent or wrong note.
 */
import type { Log } from '../../services/log/log.js';

export interface RoomBlock {
  readonly rev: number;
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: number;
  readonly transactions: number;
  readonly replaces?: string;
  readonly reorg?: { depth: number | null; forkHeight: number | null; forkHash: string | null };
  readonly skipped?: { from: number; to: number };
}

/** Every revision of the room's present numbering, oldest first. */
export async function readBlocks(log: Pick<Log, 'range'>, room = 'eth'): Promise<RoomBlock[]> {
  const blocks: RoomBlock[] = [];
  for (;;) {
    const from = blocks.length === 0 ? 'first' : (blocks.at(-1)?.rev ?? 0) + 1;
    const range = await log.range(room, from, { limit: 1_000, maxBytes: 1024 * 1024 });
    if (range.kind !== 'entries' || range.entries.length === 0) return blocks;
    for (const entry of range.entries) {
      entry.revisions.forEach(({ data }, index) => {
        const block = JSON.parse(Buffer.from(data).toString()) as RoomBlock;
        blocks.push({ ...block, rev: entry.firstRev + index });
      });
    }
  }
}

/** The chain that a reader holds after the blocks, oldest first. Throws when a block cannot stand where it stands. */
export function chainOf(blocks: readonly RoomBlock[]): RoomBlock[] {
  let chain: RoomBlock[] = [];
  for (const block of blocks) {
    if (block.reorg !== undefined) chain = takeBack(chain, block);
    const tip = chain.at(-1);
    if (tip === undefined) {
      if (block.reorg === undefined && block !== blocks[0]) throw new Error(`rev ${block.rev} has no parent`);
    } else if (block.skipped === undefined) {
      const follows = block.parentHash === tip.hash && block.height === tip.height + 1;
      if (!follows) throw new Error(`rev ${block.rev} (height ${block.height}) does not follow height ${tip.height}`);
    } else if (block.skipped.from !== tip.height + 1 || block.skipped.to !== block.height - 1) {
      throw new Error(`rev ${block.rev} says that ${JSON.stringify(block.skipped)} is left out after ${tip.height}`);
    }
    chain.push(block);
  }
  return chain;
}

function takeBack(chain: readonly RoomBlock[], block: RoomBlock): RoomBlock[] {
  const { depth, forkHeight, forkHash } = block.reorg ?? {};
  if (forkHeight === null || forkHeight === undefined) return [];
  const kept = chain.filter(({ height }) => height <= forkHeight);
  if (kept.at(-1)?.hash !== forkHash) throw new Error(`rev ${block.rev} names a fork point that the reader lacks`);
  if (chain.length - kept.length !== depth) {
    throw new Error(`rev ${block.rev} says depth ${depth}, it is ${chain.length - kept.length}`);
  }
  return kept;
}
