/**
 * A block as a room has it: what a revision's data tells of it, whoever published it. Of the data only `height` and `hash`
 * are needed; `reorg` and the gas figures are those of the Ethereum source (SPEC.md, "The data of a block").
 */
import { z } from 'zod';

const MAX_HASH_CHARS = 200;

export interface KnownBlock {
  readonly height: number;
  readonly hash: string;
}

export interface BlockData extends KnownBlock {
  /** Blocks of earlier revisions at this height and above are not part of the chain any more. */
  readonly cutHeight: number;
  /** In wei and gas; chains before London have no base fee. */
  readonly gas: { readonly baseFeePerGas: string; readonly used: string; readonly limit: string } | undefined;
}

/** A number where that is exact, else decimal digits. */
const quantity = z.union([z.int().min(0), z.string().regex(/^\d{1,80}$/u)]).transform(String);

const blockData = z.object({
  height: z.int().min(0),
  hash: z.string().min(1).max(MAX_HASH_CHARS),
  // Null: no earlier block is known to be part of the chain.
  reorg: z
    .object({ forkHeight: z.int().min(-1).nullable() })
    .optional()
    .catch(undefined),
  baseFeePerGas: quantity.optional().catch(undefined),
  gasUsed: quantity.optional().catch(undefined),
  gasLimit: quantity.optional().catch(undefined),
});

/** The block in a revision's data; undefined: it is something else. */
export function readBlock(data: Uint8Array): BlockData | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
  } catch {
    return undefined;
  }
  const parsed = blockData.safeParse(value);
  if (!parsed.success) return undefined;
  const { height, hash, reorg, baseFeePerGas, gasUsed, gasLimit } = parsed.data;
  const hasGas = baseFeePerGas !== undefined && gasUsed !== undefined && gasLimit !== undefined;
  return {
    height,
    hash,
    cutHeight: reorg === undefined ? height : Math.min(height, (reorg.forkHeight ?? -1) + 1),
    gas: hasGas ? { baseFeePerGas, used: gasUsed, limit: gasLimit } : undefined,
  };
}
