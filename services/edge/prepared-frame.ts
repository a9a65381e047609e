/**
 * A frame that all sockets of a protocol share: the body of one revision or of a range of them, serialized once, and
 * deflated at most once, when the first socket that compresses needs it. What is a member's own goes before it.
 * A body that deflate would not make smaller by at least `minSavingBytes` is sent as it is, to everyone: the fragments'
 * own cost is counted, and a body that cannot save so much is not even tried.
 */
import type { RevcastError } from '../shared/errors.js';
import { deflateBody } from './compress-once.js';
import type { EdgeCounters } from './counters.js';
import { MessageRun, OPENING_BYTES, type Opened } from './message-run.js';

/**
 * What three compressed fragments cost on the wire beside the body and the member's own part, more than the two
 * uncompressed ones do: the deflated first byte, the tail and stored block around the own part, one more frame header.
 */
export const FRAGMENTS_BYTES = 13;

export class PreparedFrame {
  readonly bodyBytes: number;
  private compressed: Buffer | null | undefined;
  /** The body with room for an opening, made when it is first sent so. */
  private alone: MessageRun | undefined;

  /**
   * @param shared the body: UTF-8, or the protocol's binary; never written to again
   * @param lastRev the revision that it ends with
   * @param minSavingBytes EDGE_DEFLATE_MIN_SAVING
   */
  constructor(
    private shared: Buffer,
    readonly lastRev: number,
    private readonly minSavingBytes: number,
    private readonly counters: EdgeCounters,
    /** Why there is none: whoever comes to it is told that, and its subscription ends. */
    readonly problem?: RevcastError,
  ) {
    this.bodyBytes = shared.length;
    counters.framesPrepared++;
    counters.bodiesSerialized++;
  }

  get body(): Buffer {
    return this.shared;
  }

  /** What it holds now, in bytes. */
  get bytes(): number {
    return this.body.length + (this.compressed?.length ?? 0);
  }

  /** A member's whole message, uncompressed. Written over by the next call, so it is sent before that. */
  message({ opening, openingBytes, openingWords }: Opened): Buffer {
    const alone = this.alone ?? this.makeAlone();
    const message = openingBytes > OPENING_BYTES ? undefined : alone.messages(openingBytes)[0];
    if (message === undefined) return Buffer.concat([opening, this.body]);
    alone.open(0, openingWords, openingBytes);
    return message;
  }

  /** The body as a message's last fragment (see compress-once), or null if it is to be sent uncompressed. */
  deflated(): Buffer | null {
    if (this.compressed === undefined) this.compressed = this.deflate();
    return this.compressed;
  }

  private makeAlone(): MessageRun {
    this.alone = new MessageRun([this.body]);
    // One copy is enough.
    this.shared = this.alone.bodies[0] ?? this.shared;
    return this.alone;
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
