/**
 * What messages say that a server sends to many: taken apart in full (fragments, inflated, parsed) when they first come,
 * and known again by their bytes, every one of them compared, wherever the receiver's own id stands apart from the rest.
 * So cheap (1 µs a message of any size up to 20 KB) that one process checks 10,000 sockets that deflate.
 * Limit: MAX_BYTES of messages; beyond it all are forgotten.
 */
import { crc32 } from 'node:zlib';
import { MessageDecoder } from './message-decoder.js';
import { lastTime } from './payload.js';

const MAX_BYTES = 256 * 1024 * 1024;
/** Bytes of a message, with frame headers, before the receiver's id at most. */
const MAX_BEFORE_ID = 64;

/** Of a message with revisions, none missing between the first and the last. */
export interface Content {
  readonly firstRev: number;
  readonly lastRev: number;
  /** When the last of them was due to be published, on the monotonic clock. */
  readonly publishedAtMs: number;
}

interface Known extends Content {
  readonly beforeId: Buffer;
  readonly afterId: Buffer;
}

export class KnownMessages {
  private readonly known = new Map<number, Known>();
  private bytes = 0;

  /** @param room what all the messages must be of */
  constructor(private readonly room: string) {}

  /** How many messages were taken apart and are kept. */
  get count(): number {
    return this.known.size;
  }

  /** The content of the message whose frames are `bytes`, for the receiver with that id. Throws what is wrong with it. */
  read(id: Buffer, bytes: Buffer): Content {
    const idAt = bytes.indexOf(id);
    if (idAt < 0 || idAt > MAX_BEFORE_ID) return this.takeApart(id, bytes);
    const afterAt = idAt + id.length;
    const sum = crc32(bytes.subarray(afterAt));
    const known = this.known.get(sum);
    if (
      known !== undefined &&
      known.beforeId.compare(bytes, 0, idAt) === 0 &&
      known.afterId.compare(bytes, afterAt, bytes.length) === 0
    ) {
      return known;
    }
    const content = this.takeApart(id, bytes);
    this.keep(sum, {
      ...content,
      beforeId: Buffer.from(bytes.subarray(0, idAt)),
      afterId: Buffer.from(bytes.subarray(afterAt)),
    });
    return content;
  }

  private keep(sum: number, known: Known): void {
    const bytes = known.beforeId.length + known.afterId.length;
    if (this.bytes + bytes > MAX_BYTES) {
      this.known.clear();
      this.bytes = 0;
    }
    this.known.set(sum, known);
    this.bytes += bytes;
  }

  private takeApart(id: Buffer, bytes: Buffer): Content {
    let text = '';
    new MessageDecoder((message) => {
      text = message;
    }).take(bytes);
    const message = JSON.parse(text) as { id?: string; data?: unknown };
    if (message.id !== id.toString()) throw new Error(`a message for ${message.id} came to ${id.toString()}`);
    const revisions = [message.data].flat() as { room?: string; rev?: number }[];
    const firstRev = revisions[0]?.rev;
    if (firstRev === undefined) throw new Error(`a message without a revision: ${text.slice(0, 200)}`);
    for (const [index, { room, rev }] of revisions.entries()) {
      if (room !== this.room) throw new Error(`a revision of the room ${room}`);
      if (rev !== firstRev + index)
        throw new Error(`${rev} at place ${index} of a message that begins with ${firstRev}`);
    }
    const whole = Buffer.from(text);
    return {
      firstRev,
      lastRev: firstRev + revisions.length - 1,
      publishedAtMs: lastTime(whole, whole.length) ?? Number.NaN,
    };
  }
}
