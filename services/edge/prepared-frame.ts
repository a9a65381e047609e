/**
 * A frame that all sockets of a protocol share: the body of one revision or of a range of them, serialized once, and
 * deflated at most once, when the first socket that compresses needs it. What is a member's own goes before it.
 * A body that deflate would not make smaller by at least `minSavingBytes` is sent as it is, to everyone: the fragments'
 * own cost is counted, and a body that cannot save so much is not even tried.
 */
import { deflateBody } from './compress-once.js';
import type { EdgeCounters } from './counters.js';

/**
 * What three compressed fragments cost on the wire beside the body and the member's own part, more than the two
 * uncompressed ones do: the deflated first byte, the tail and stored block around the own part, one more frame header.
 */
export const FRAGMENTS_BYTES = 13;

export class PreparedFrame {
  private compressed: Buffer | null | undefined;

  /**
   * @param body UTF-8, or the protocol's binary; never written to again
   * @param minSavingBytes EDGE_DEFLATE_MIN_SAVING
   */
  constructor(
    readonly body: Buffer,
    private readonly minSavingBytes: number,
    private readonly counters: EdgeCounters,
  ) {
    counters.framesPrepared++;
    counters.bodiesSerialized++;
  }

  /** What it holds now, in bytes. */
  get bytes(): number {
    return this.body.length + (this.compressed?.length ?? 0);
  }

  /** The body as a message's last fragment (see compress-once), or null if it is to be sent uncompressed. */
  deflated(): Buffer | null {
    if (this.compressed === undefined) this.compressed = this.deflate();
    return this.compressed;
  }

  private deflate(): Buffer | null {
    const limit = this.body.length - FRAGMENTS_BYTES - this.minSavingBytes;
    if (limit <= 0) return null;
    const deflated = deflateBody(this.body);
    this.counters.bodiesDeflated++;
    this.counters.bytesDeflated += this.body.length;
    return deflated.length <= limit ? deflated : null;
  }
}
