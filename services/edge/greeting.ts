/**
 * The answer to a subscribe: the first that its member is sent, in one cork with the revisions that follow. Of thousands
 * who come back at once, each is then one system call here and one chunk there, not two.
 *
 * Where a snapshot was asked for, the answer's body is shared by all who join, and may be large; so it is sent as
 * revisions are: on an empty socket only, large ones alone and without a cork, and whoever does not take it at once is
 * sent nothing more until it has.
 */
import { storedBlock } from './compress-once.js';
import { inWords, type Opened } from './message-run.js';
import type { PreparedFrame } from './prepared-frame.js';
import type { Encoding, RequestId } from './protocols/protocol.js';

const MAX_BYTES_PER_UNIT = 3;

/** An answer that is the member's own, or several, where it asked several times. */
export class Answers {
  readonly texts: string[];

  constructor(texts: readonly string[]) {
    this.texts = texts.filter((text) => text !== '');
  }

  /** What they are at most in UTF-8. */
  get maxBytes(): number {
    return this.texts.reduce((sum, { length }) => sum + length * MAX_BYTES_PER_UNIT, 0);
  }
}

/** An answer that carries a snapshot, or says that there is none. */
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
