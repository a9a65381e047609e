/**
 * Decodes a server's WebSocket messages in full (fragments, permessage-deflate without the context of earlier messages),
 * for the few sockets whose messages are checked.
 */
import { constants, inflateRawSync } from 'node:zlib';
import { FIN, FIRST_CONTROL, frameEnd, headerBytes, LENGTH, OPCODE } from './frame-header.js';

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
    const end = frameEnd(bytes, 0);
    if (end === undefined) return 0;
    const first = bytes.readUInt8(0);
    const header = headerBytes(bytes.readUInt8(1) & LENGTH);
    if ((first & OPCODE) < FIRST_CONTROL) this.fragment(first, bytes.subarray(header, end));
    return end;
  }

  private fragment(first: number, payload: Buffer): void {
    if ((first & OPCODE) !== 0) this.compressed = (first & 0x40) !== 0;
    this.fragments.push(payload);
    if ((first & FIN) === 0) return;
    const whole = Buffer.concat(this.fragments);
    this.fragments = [];
    this.onMessage((this.compressed ? this.inflate(whole) : whole).toString());
  }

  private inflate(message: Buffer): Buffer {
    return inflateRawSync(Buffer.concat([message, SYNC_TAIL]), { finishFlush: constants.Z_SYNC_FLUSH });
  }
}
