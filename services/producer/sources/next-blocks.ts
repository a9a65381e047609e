/**
 * Decides what to publish next: compares the node's newest block with the chain that the room tells, and answers the
 * first few blocks that the room lacks, in order, each the parent of the next.
 *
 *   room   … 7 ─ 8 ─ 9a ─ 10a            fork point 8, depth 2: answers 9b, 10b, 11b; the first says where the fork is
 *   node   … 7 ─ 8 ─ 9b ─ 10b ─ 11b
 *
 * Reads only; asked again, it decides again. Limits: BATCH_BLOCKS at a time (fetched at once), `maxReorg` steps back to
 * a fork point, `maxBackfill` blocks behind the node's newest: what is older and missing is skipped, and said so.
 */
import type { Block, Reorganisation, SkippedHeights } from './ethereum-block.js';
import type { Announced, EthereumNode } from './ethereum-node.js';
import type { EthereumStart } from './ethereum-settings.js';
import { NodeError } from './json-rpc.js';
import type { ChainBlock, PublishedChain } from './published-chain.js';

const BATCH_BLOCKS = 16;

export interface NextBlocks {
  /** At least one. */
  readonly blocks: readonly Block[];
  /** Of the first block. */
  readonly reorg?: Reorganisation;
  /** Right before the first block. */
  readonly skipped?: SkippedHeights;
}

export interface NextBlocksParts {
  readonly node: Pick<EthereumNode, 'latest' | 'blockAt' | 'blockByHash'>;
  /** Whether the room holds the block, however far back. */
  readonly holds: (block: ChainBlock) => Promise<boolean>;
  readonly start: EthereumStart;
  readonly maxBackfill: number;
  readonly maxReorg: number;
}

const CHAIN_ANEW: Reorganisation = { depth: null, forkHeight: null, forkHash: null };

/**
 * What the room lacks of the node's chain; null: nothing. `announced` is what the node last told to be its newest block.
 * Throws NodeError (also when the node's chain changes while it is read) and what `holds` throws.
 */
export async function nextBlocks(
  parts: NextBlocksParts,
  chain: PublishedChain,
  announced: Announced | undefined,
): Promise<NextBlocks | null> {
  const head = await parts.node.latest();
  if (announced !== undefined && announced.height > head.height && chain.find(announced.hash) === undefined) {
    // Several nodes behind one address: another one has told of it.
    throw new NodeError('missing_block', `the node does not have the announced block ${announced.height} yet`);
  }
  const { tip, oldest } = chain;
  if (tip === undefined || oldest === undefined) {
    const from = parts.start === 'latest' ? head.height : parts.start;
    return from > head.height ? null : fetchBlocks(parts, from, head);
  }
  // The tip itself, or a node that is a little behind what another source has published.
  if (chain.find(head.hash) !== undefined) return null;

  const { fork, lowest } = await findFork(parts, chain, { tip, oldest }, head);
  if (fork !== undefined) {
    const next = await fetchBlocks(parts, fork.height + 1, head, fork);
    if (fork === tip) return next;
    const reorg = { depth: chain.countAbove(fork.height), forkHeight: fork.height, forkHash: fork.hash };
    return { ...next, reorg };
  }
  if (head.height < oldest.height && (await parts.holds(head))) {
    throw new NodeError('behind', `the node is at height ${head.height}, the room at ${tip.height}`);
  }
  const from = parts.start === 'latest' || parts.start > head.height ? lowest.height : parts.start;
  return { ...(await fetchBlocks(parts, from, head)), reorg: CHAIN_ANEW };
}

/** Walks from the room's tip (or the node's newest block, if that is lower) back to a published block. */
async function findFork(
  { node, maxReorg }: NextBlocksParts,
  chain: PublishedChain,
  { tip, oldest }: { tip: ChainBlock; oldest: ChainBlock },
  head: Block,
): Promise<{ fork: ChainBlock | undefined; lowest: Block }> {
  let lowest = head.height > tip.height + 1 ? await node.blockAt(tip.height + 1) : head;
  for (let steps = 0; ; steps += 1) {
    const fork = chain.find(lowest.parentHash);
    if (fork !== undefined || lowest.height <= oldest.height || steps >= maxReorg) return { fork, lowest };
    lowest = await node.blockByHash(lowest.parentHash);
  }
}

/** The first blocks from height `from` on, or from as far behind the head as is allowed. */
async function fetchBlocks(
  { node, maxBackfill }: NextBlocksParts,
  from: number,
  head: Block,
  fork?: ChainBlock,
): Promise<NextBlocks> {
  const first = Math.max(from, head.height - maxBackfill + 1);
  const heights = Array.from({ length: Math.min(BATCH_BLOCKS, head.height - first + 1) }, (_, index) => first + index);
  // All are settled before any failure is told, so that attempts do not pile up requests.
  const answers = await Promise.allSettled(
    heights.map((height) => (height === head.height ? Promise.resolve(head) : node.blockAt(height))),
  );
  const fetched = answers.map((answer) => {
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  });
  const blocks = fetched.slice(0, linkedCount(fetched));
  const skipped = first > from ? { from, to: first - 1 } : undefined;
  if (fork !== undefined && skipped === undefined && blocks[0]?.parentHash !== fork.hash) {
    throw new NodeError('missing_block', `the node's chain changed at height ${first} while it was read`);
  }
  return { blocks, ...(skipped === undefined ? {} : { skipped }) };
}

/** How many of the blocks, from the first on, are each the parent of the next. */
function linkedCount(blocks: readonly Block[]): number {
  const broken = blocks.findIndex((block, index) => index > 0 && block.parentHash !== blocks[index - 1]?.hash);
  return broken === -1 ? blocks.length : broken;
}
