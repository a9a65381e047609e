/**
 * Blocks: as a node answers them (checked here, nothing behind trusts the node again), as they are published, and as
 * they are read back from the room.
 *
 * Published data, in this order:
 *   {"height":21000000,"hash":"0x…","parentHash":"0x…","timestamp":1732865000,"transactions":153,"gasUsed":12345678,
 *    "gasLimit":30000000,"baseFeePerGas":8123456789,"blobGasUsed":393216,"withdrawals":16,"size":76543,"miner":"0x…",
 *    "replaces":"0x…","reorg":{"depth":2,"forkHeight":20999998,"forkHash":"0x…"},"skipped":{"from":1,"to":20999999}}
 * - timestamp: seconds since 1970, as the chain has it. transactions, withdrawals: how many. size: bytes.
 *   baseFeePerGas: wei. A quantity above 2^53 - 1 is a string of decimal digits instead of a number.
 * - gasLimit, baseFeePerGas, blobGasUsed, withdrawals, size, miner are left out where the chain does not have them.
 * - reorg: this block is the first of another branch. Published blocks above forkHeight, `depth` of them, are no part of
 *   the chain any more. All three are null when the fork point was not found: then no earlier block of the room is known
 *   to be part of the chain.
 * - replaces: the hash that was last published at this height, where there was one.
 * - skipped: blocks of these heights, both included, were left out right before this one (more were missed than the
 *   source may fetch). parentHash is then the hash of a block that was not published.
 */
import { z } from 'zod';
import { NodeError } from './json-rpc.js';

/** A number where that is exact, else decimal digits. */
type Quantity = number | string;

const quantity = z
  .string()
  .regex(/^0x[\da-f]{1,64}$/iu)
  .transform((hex): Quantity => {
    const value = BigInt(hex);
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString();
  });
const height = quantity.refine((value) => typeof value === 'number').transform(Number);
const hash = z
  .string()
  .regex(/^0x[\da-f]{64}$/iu)
  .transform((hex) => hex.toLowerCase());
const accountAddress = z
  .string()
  .regex(/^0x[\da-f]{40}$/iu)
  .transform((hex) => hex.toLowerCase());

/** What some chains, or older blocks of a chain, do not have. */
function absent<T>(schema: z.ZodType<T>): z.ZodType<T | undefined> {
  return schema.nullish().transform((value) => value ?? undefined);
}

const nodeBlock = z.object({
  number: height,
  hash,
  parentHash: hash,
  timestamp: quantity,
  transactions: z.array(z.unknown()),
  gasUsed: quantity,
  gasLimit: absent(quantity),
  baseFeePerGas: absent(quantity),
  blobGasUsed: absent(quantity),
  withdrawals: absent(z.array(z.unknown())),
  size: absent(quantity),
  miner: absent(accountAddress),
});

/** A block of the node's, as it is published but for what depends on the room. */
export interface Block {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: Quantity;
  readonly transactions: number;
  readonly gasUsed: Quantity;
  readonly gasLimit: Quantity | undefined;
  readonly baseFeePerGas: Quantity | undefined;
  readonly blobGasUsed: Quantity | undefined;
  readonly withdrawals: number | undefined;
  readonly size: Quantity | undefined;
  readonly miner: string | undefined;
}

export interface Reorganisation {
  /** How many published blocks are no part of the chain any more; null: all of them, as far as is known. */
  readonly depth: number | null;
  readonly forkHeight: number | null;
  readonly forkHash: string | null;
}

/** Heights that were left out, both included. */
export interface SkippedHeights {
  readonly from: number;
  readonly to: number;
}

/** What the room's history adds to a block. */
export interface BlockNotes {
  readonly replaces?: string;
  readonly reorg?: Reorganisation;
  readonly skipped?: SkippedHeights;
}

/** What is read back of a published block. */
export interface PublishedBlock {
  readonly height: number;
  readonly hash: string;
  /** On the first block of another branch: published blocks above it are no part of the chain any more; null: none is. */
  readonly forkHeight?: number | null;
}

/** The block in a node's answer. Throws NodeError when it is none. */
export function parseNodeBlock(answer: unknown): Block {
  const parsed = nodeBlock.safeParse(answer);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue === undefined || issue.path.length === 0 ? 'the answer' : `"${issue.path.join('.')}"`;
    throw new NodeError('malformed', `the node answered what is not a block: ${where} is not as it must be`);
  }
  const block = parsed.data;
  return {
    height: block.number,
    hash: block.hash,
    parentHash: block.parentHash,
    timestamp: block.timestamp,
    transactions: block.transactions.length,
    gasUsed: block.gasUsed,
    gasLimit: block.gasLimit,
    baseFeePerGas: block.baseFeePerGas,
    blobGasUsed: block.blobGasUsed,
    withdrawals: block.withdrawals?.length,
    size: block.size,
    miner: block.miner,
  };
}

/** The revision's data, as UTF-8 JSON text. What is undefined is left out. */
export function blockData(block: Block, notes: BlockNotes): Uint8Array {
  return Buffer.from(JSON.stringify({ ...block, ...notes }));
}

const publishedBlock = z.object({
  height: z.int().min(0),
  hash,
  parentHash: hash,
  reorg: z.object({ forkHeight: z.int().nullable() }).optional(),
});

/** The block that a revision's data is, or null when it is something else. */
export function parsePublishedBlock(data: Uint8Array): PublishedBlock | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
  } catch {
    return null;
  }
  const parsed = publishedBlock.safeParse(value);
  if (!parsed.success) return null;
  const { height, hash, reorg } = parsed.data;
  return { height, hash, ...(reorg === undefined ? {} : { forkHeight: reorg.forkHeight }) };
}
