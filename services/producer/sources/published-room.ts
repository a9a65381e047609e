/**
 * Reads the room that a chain is published to: its tail at start, what others appended since, and, far back, whether a
 * block was ever published. The room is the only memory of what was published.
 *
 * Limits: the last `tailRevisions` at start, PAGE_REVISIONS and PAGE_BYTES a read. A room whose tail holds no block is
 * taken for a room without blocks.
 */
import { RevcastError } from '../../shared/errors.js';
import { parsePublishedBlock } from './ethereum-block.js';
import { PublishedChain, type ChainBlock } from './published-chain.js';
import type { SourceLog } from './source.js';

const PAGE_REVISIONS = 256;
const PAGE_BYTES = 1024 * 1024;
/** A bisection looks at so many revisions for one that is a block. */
const PROBE_REVISIONS = 16;

export class PublishedRoom {
  constructor(
    private readonly room: string,
    private readonly log: Pick<SourceLog, 'heads' | 'range'>,
    private readonly limits: { readonly tailRevisions: number; readonly maxBlocks: number },
  ) {}

  /** The chain that the room's tail tells. Throws `log_unavailable`. */
  async load(): Promise<PublishedChain> {
    const head = (await this.log.heads([this.room])).get(this.room) ?? null;
    if (head === null) return new PublishedChain('', 0, this.limits.maxBlocks);
    const from = Math.max(1, head.rev - this.limits.tailRevisions + 1);
    const first = await this.log.range(this.room, from, { limit: 1, maxBytes: PAGE_BYTES });
    // Retention may have removed where the tail would begin.
    const firstRev = first.kind === 'truncated' ? first.firstRev : from;
    const chain = new PublishedChain(head.epoch, firstRev - 1, this.limits.maxBlocks);
    if (await this.readOn(chain)) return chain;
    throw new RevcastError('log_unavailable', `the history of room ${this.room} changed while it was read`);
  }

  /** Takes in what the room has after the chain; loads anew when its history is another. Throws `log_unavailable`. */
  async refresh(chain: PublishedChain): Promise<PublishedChain> {
    return (await this.readOn(chain)) ? chain : this.load();
  }

  /**
   * Whether the room holds the block, however far back. Heights grow with rev but for reorganisations, so this bisects;
   * in a room where the chain was started anew at lower heights it may miss a block.
   */
  async holds(block: ChainBlock): Promise<boolean> {
    const first = await this.log.range(this.room, 'first', { limit: 1, maxBytes: PAGE_BYTES });
    if (first.kind !== 'entries') return false;
    const firstRev = first.entries[0]?.firstRev ?? first.head.rev;
    let low = firstRev;
    let high = first.head.rev;
    while (high - low > PAGE_REVISIONS) {
      const middle = low + Math.floor((high - low) / 2);
      const height = await this.heightAround(middle);
      if (height === undefined || height > block.height) high = middle;
      else low = middle;
    }
    return this.holdsBetween(block, Math.max(firstRev, low - this.limits.maxBlocks), high + this.limits.maxBlocks);
  }

  /** False when the chain's position is no part of the room's history. */
  private async readOn(chain: PublishedChain): Promise<boolean> {
    for (;;) {
      const range = await this.log.range(this.room, chain.rev + 1, { limit: PAGE_REVISIONS, maxBytes: PAGE_BYTES });
      if (range.kind === 'empty') return chain.epoch === '';
      // A room that was empty has got its first revisions: another numbering than none.
      if (range.kind === 'truncated' || range.head.epoch !== chain.epoch || range.head.rev < chain.rev) return false;
      for (const entry of range.entries) {
        entry.revisions.forEach((revision, index) => {
          chain.apply(entry.firstRev + index, parsePublishedBlock(revision.data));
        });
      }
      if (range.entries.length === 0 || chain.rev >= range.head.rev) return true;
    }
  }

  private async heightAround(rev: number): Promise<number | undefined> {
    const range = await this.log.range(this.room, rev, { limit: PROBE_REVISIONS, maxBytes: PAGE_BYTES });
    const entries = range.kind === 'entries' ? range.entries : [];
    for (const { revisions } of entries) {
      for (const { data } of revisions) {
        const block = parsePublishedBlock(data);
        if (block !== null) return block.height;
      }
    }
    return undefined;
  }

  private async holdsBetween(block: ChainBlock, fromRev: number, toRev: number): Promise<boolean> {
    let rev = fromRev;
    while (rev <= toRev) {
      const range = await this.log.range(this.room, rev, { limit: PAGE_REVISIONS, maxBytes: PAGE_BYTES });
      const entries = range.kind === 'entries' ? range.entries : [];
      if (entries.length === 0) return false;
      for (const { revisions } of entries) {
        if (revisions.some(({ data }) => parsePublishedBlock(data)?.hash === block.hash)) return true;
        rev += revisions.length;
      }
    }
    return false;
  }
}
