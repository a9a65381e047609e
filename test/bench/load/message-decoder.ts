/**
 * Decodes a server's WebSocket messages in full (fragments, permessage-deflate without the context of earlier messages),
 * for the few sockets whose messages are checked.
 */
import { constants, inflateRawSync } from 'node:zlib';

const SYNC_TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff]);

export class MessageDecoder {
  private bytes: Buffer = Buffer.alloc(0);
  private fragments: Buffer[] = [];
  private compressed = false;

  constructor(private readonly onMessage: (text: string) => void) {}

  /** Takes a copy of what was read. */
  take(chunk: Uint8Array): void {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    for (;;) {
      const used = this.frame(this.bytes);
      if (used === 0) return;
      this.bytes = this.bytes.subarray(used);
    }
  }

  /** Bytes of the first frame of `bytes`, 0 if it is not complete. */
  private frame(bytes: Buffer): number {
    if (bytes.length < 2) return 0;
    const short = bytes.readUInt8(1) & 0x7f;
    const header = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (bytes.length < header) return 0;
    const length = short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
    if (bytes.length < header + length) return 0;
    const first = bytes.readUInt8(0);
    if ((first & 0x0f) < 0x8) this.fragment(first, bytes.subarray(header, header + length));
    return header + length;
  }

  private fragment(first: number, payload: Buffer): void {
    if ((first & 0x0f) !== 0) this.compressed = (first & 0x40) !== 0;
    this.fragments.push(payload);
    if ((first & 0x80) === 0) return;
    const whole = Buffer.concat(this.fragments);
    this.fragments = [];
    this.onMessage((this.compressed ? this.inflate(whole) : whole).toString());
  }

  private inflate(message: Buffer): Buffer {
    return inflateRawSync(Buffer.concat([message, SYNC_TAIL]), { finishFlush: constants.Z_SYNC_FLUSH });
  }
}
