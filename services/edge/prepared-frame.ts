/**
 * A frame that all sockets of a protocol share: the body of one revision or of a range of them, serialized once, and
 * deflated at most once, when the first socket that compresses needs it. What is a member's own goes before it; for
 * uncompressed messages there is room for that in front of the body, so that a message is one piece and one call:
 * in a burst of 20, two fragments a message cost 1.27 of `publish`, one piece 1.16.
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

/** Room in front of the body, in bytes, a multiple of WORD_BYTES. A longer opening is put together with each body. */
const ROOM_BYTES = 64;
const WORD_BYTES = Int32Array.BYTES_PER_ELEMENT;
const ROOM_WORDS = ROOM_BYTES / WORD_BYTES;

/** What a member's uncompressed messages begin with: the protocol's first byte and the member's own part. */
export interface Opened {
  readonly opening: Buffer;
  readonly openingBytes: number;
  /** The same by words (see `inWords`): copied in front of a body in 13 ns, byte by byte it would be 60. */
  readonly openingWords: Int32Array;
}

/** The bytes as words, with zeros in front where they do not fill the first. */
export function inWords(bytes: Buffer): Int32Array {
  const count = Math.ceil(bytes.length / WORD_BYTES);
  const padded = Buffer.from(new ArrayBuffer(count * WORD_BYTES));
  bytes.copy(padded, padded.length - bytes.length);
  return Int32Array.from(new Int32Array(padded.buffer, padded.byteOffset, count));
}

export class PreparedFrame {
  readonly body: Buffer;
  readonly bodyBytes: number;
  private compressed: Buffer | null | undefined;
  /** The room and the body behind it, … */
  private readonly whole: Buffer;
  /** … the room in words, and the messages in it: the body with so many bytes in front. */
  private readonly room: Int32Array;
  private readonly messages: Buffer[] = [];

  /**
   * @param body UTF-8, or the protocol's binary; copied
   * @param lastRev the revision that it ends with
   * @param minSavingBytes EDGE_DEFLATE_MIN_SAVING
   */
  constructor(
    body: Buffer,
    readonly lastRev: number,
    private readonly minSavingBytes: number,
    private readonly counters: EdgeCounters,
  ) {
    this.whole = Buffer.allocUnsafeSlow(ROOM_BYTES + body.length);
    body.copy(this.whole, ROOM_BYTES);
    this.room = new Int32Array(this.whole.buffer, this.whole.byteOffset, ROOM_WORDS);
    this.body = this.whole.subarray(ROOM_BYTES);
    this.bodyBytes = body.length;
    counters.framesPrepared++;
    counters.bodiesSerialized++;
  }

  /** What it holds now, in bytes. */
  get bytes(): number {
    return this.body.length + (this.compressed?.length ?? 0);
  }

  /** A member's whole message, uncompressed. Written over by the next call, so it is sent before that. */
  message({ opening, openingBytes, openingWords }: Opened): Buffer {
    if (openingBytes > ROOM_BYTES) return Buffer.concat([opening, this.body]);
    const { room } = this;
    const words = (openingBytes + WORD_BYTES - 1) >> 2;
    for (let i = 0, at = ROOM_WORDS - words; i < words; i += 1, at += 1) room[at] = openingWords[i] ?? 0;
    return this.messages[openingBytes] ?? this.messageBehind(openingBytes);
  }

  /** The body as a message's last fragment (see compress-once), or null if it is to be sent uncompressed. */
  deflated(): Buffer | null {
    if (this.compressed === undefined) this.compressed = this.deflate();
    return this.compressed;
  }

  private messageBehind(bytes: number): Buffer {
    const message = this.whole.subarray(ROOM_BYTES - bytes);
    this.messages[bytes] = message;
    return message;
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
