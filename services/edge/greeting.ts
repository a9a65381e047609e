/**
 * The answer to a subscribe that asked for a snapshot. Its body is shared by all who join, and may be large; so it is
 * sent as revisions are, by the flusher: on an empty socket only, large ones alone and without a cork, and whoever does
 * not take it at once is sent nothing more until it has. It is the first that its member is sent.
 */
import { storedBlock } from './compress-once.js';
import { inWords, type Opened } from './message-run.js';
import type { PreparedFrame } from './prepared-frame.js';
import type { Encoding, RequestId } from './protocols/protocol.js';

export class Greeting implements Opened {
  readonly opening: Buffer;
  readonly openingBytes: number;
  readonly openingWords: Int32Array;

  constructor(
    readonly encoding: Encoding,
    id: RequestId,
    readonly frame: PreparedFrame,
  ) {
    this.opening = Buffer.concat([encoding.first, Buffer.from(encoding.own(id, false))]);
    this.openingBytes = this.opening.length;
    this.openingWords = inWords(this.opening);
  }

  /** The request's own part as a stored deflate block: sent once, so not kept. */
  get stored(): Buffer {
    return storedBlock(this.opening.subarray(this.encoding.first.length));
  }
}
