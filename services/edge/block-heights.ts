/**
 * The chain as a room tells it, by height. A revision's number is no height: a reorganisation adds revisions, and of
 * several blocks of one height the newest is in the chain, unless a later one cut it off. So revisions are taken in
 * newer and newer from the head on, as they come, and older and older as far as somebody asked.
 *
 * Invariant: of the revisions from `firstRev` to `lastRev` exactly the blocks are known that the latest of them left in
 * the chain. Limit: the last `maxBlocks` blocks, and as many revisions back; what is lower is not known.
 */
import type { BlockData, KnownBlock } from './block-data.js';

export class BlockHeights {
  /** The oldest revision that was taken in, … */
  firstRev: number;
  /** … and the newest. */
  lastRev: number;
  /** By rising height. */
  private blocks: KnownBlock[] = [];
  private readonly hashes = new Map<number, string>();
  /** Blocks of revisions before firstRev are in the chain only below this height. */
  private ceiling = Number.POSITIVE_INFINITY;

  /** @param rev the revision to begin behind, in both directions */
  constructor(
    rev: number,
    private readonly maxBlocks: number,
  ) {
    this.firstRev = rev + 1;
    this.lastRev = rev;
  }

  /** The newest block; undefined where it is not known yet. */
  get newest(): KnownBlock | undefined {
    return this.blocks.at(-1);
  }

  /** Whether older revisions would tell nothing more, or are too old. */
  get isWhole(): boolean {
    return this.firstRev <= 1 || this.ceiling <= 0 || this.lastRev - this.firstRev >= this.maxBlocks;
  }

  /** The hash at a height; null: revisions before firstRev may have it; undefined: there is no such block. */
  find(height: number): string | null | undefined {
    const hash = this.hashes.get(height);
    if (hash !== undefined) return hash;
    const { newest } = this;
    if (this.isWhole) return undefined;
    if (newest === undefined) return null;
    const oldest = this.blocks[0] ?? newest;
    return height < oldest.height && height > newest.height - this.maxBlocks ? null : undefined;
  }

  /** Takes in the revision after lastRev; undefined: it is no block. */
  addNewer(block: BlockData | undefined): void {
    this.lastRev += 1;
    if (block === undefined) return;
    this.ceiling = Math.min(this.ceiling, block.cutHeight);
    for (let last = this.newest; last !== undefined && last.height >= block.cutHeight; last = this.newest) {
      this.blocks.pop();
      this.hashes.delete(last.height);
    }
    this.blocks.push({ height: block.height, hash: block.hash });
    this.hashes.set(block.height, block.hash);
    if (this.blocks.length > this.maxBlocks) this.forgetOldest();
  }

  /** Takes in the revisions before firstRev, the newest first; undefined: one is no block. */
  addOlder(revisions: readonly (BlockData | undefined)[]): void {
    const older: KnownBlock[] = [];
    for (const block of revisions) {
      this.firstRev -= 1;
      if (block === undefined) continue;
      if (block.height < this.ceiling) {
        older.push({ height: block.height, hash: block.hash });
        this.hashes.set(block.height, block.hash);
      }
      this.ceiling = Math.min(this.ceiling, block.cutHeight);
    }
    this.blocks = [...older.reverse(), ...this.blocks];
    while (this.blocks.length > this.maxBlocks) this.forgetOldest();
  }

  /** Older revisions are no longer kept. */
  end(): void {
    this.ceiling = 0;
  }

  private forgetOldest(): void {
    const oldest = this.blocks.shift();
    if (oldest !== undefined) this.hashes.delete(oldest.height);
    this.end();
  }
}
