/**
 * The chain as the room tells it: what a reader holds to be the chain after the room's revisions up to `rev`. A block
 * ends everything at and above its height, and with a fork point everything above that.
 *
 * Pure state, the same for everyone who reads the same revisions, so that a restarted source and a second one at the
 * same room reach the same conclusions. Limit: the last `maxBlocks` blocks are remembered.
 */
import type { PublishedBlock } from './ethereum-block.js';

export interface ChainBlock {
  readonly height: number;
  readonly hash: string;
}

export class PublishedChain {
  /** In order of height, oldest first; heights that were skipped are missing. */
  private blocks: ChainBlock[] = [];
  private byHash = new Map<string, ChainBlock>();
  /** The hash last published at a height, on whatever branch. */
  private lastAt = new Map<number, string>();
  private lastRev: number;

  /** Epoch and rev: the position after which revisions will be taken in; '' and 0 in a room without revisions. */
  constructor(
    private currentEpoch: string,
    rev: number,
    private readonly maxBlocks: number,
  ) {
    this.lastRev = rev;
  }

  get epoch(): string {
    return this.currentEpoch;
  }

  /** The room has got its first revision, and with it its numbering. */
  adopt(epoch: string): void {
    this.currentEpoch = epoch;
  }

  /** The room's newest revision that was taken in. */
  get rev(): number {
    return this.lastRev;
  }

  get tip(): ChainBlock | undefined {
    return this.blocks.at(-1);
  }

  get oldest(): ChainBlock | undefined {
    return this.blocks[0];
  }

  /** The block, if it is part of the chain as the room tells it now. */
  find(hash: string): ChainBlock | undefined {
    return this.byHash.get(hash);
  }

  countAbove(height: number): number {
    let count = 0;
    while (count < this.blocks.length && (this.blocks.at(-1 - count)?.height ?? 0) > height) count += 1;
    return count;
  }

  /** The hash that was last published at the height, if it is remembered. */
  lastPublishedAt(height: number): string | undefined {
    return this.lastAt.get(height);
  }

  /** The same blocks, for a room whose numbering is about to begin again: the next revision is its first. */
  renumbered(): PublishedChain {
    const chain = new PublishedChain('', 0, this.maxBlocks);
    for (const block of this.blocks) chain.add(block);
    chain.lastAt = new Map(this.lastAt);
    return chain;
  }

  /** Takes the room's next revision in; null: it is not a block. */
  apply(rev: number, block: PublishedBlock | null): void {
    this.lastRev = rev;
    if (block === null) return;
    if (block.forkHeight === null) {
      this.blocks = [];
      this.byHash.clear();
      this.lastAt.clear();
    }
    // A branch may begin above its fork point, where blocks between the two were skipped.
    const parentHeight = block.forkHeight ?? block.height - 1;
    for (let tip = this.tip; tip !== undefined && tip.height > parentHeight; tip = this.tip) {
      this.blocks.pop();
      this.byHash.delete(tip.hash);
    }
    this.add({ height: block.height, hash: block.hash });
    this.forgetOld();
  }

  private add(block: ChainBlock): void {
    this.blocks.push(block);
    this.byHash.set(block.hash, block);
    this.lastAt.set(block.height, block.hash);
  }

  private forgetOld(): void {
    while (this.blocks.length > this.maxBlocks) {
      const gone = this.blocks.shift();
      if (gone === undefined) return;
      this.byHash.delete(gone.hash);
      this.lastAt.delete(gone.height);
    }
    // Heights of abandoned branches whose neighbours are long forgotten; Map keeps the order of first insertion.
    for (const height of this.lastAt.keys()) {
      if (this.lastAt.size <= 2 * this.maxBlocks) return;
      this.lastAt.delete(height);
    }
  }
}
