/**
 * One compressed message made of parts that are made once (RFC 7692 lets a compressed message be fragmented; the
 * deflate data of its fragments is one stream):
 *
 *   first   the message's first byte, which uWebSockets.js deflates itself: the only fragment it marks as compressed
 *   stored  00 00 ff ff, which ends that deflate block, and what is the member's own, uncompressed, in stored blocks:
 *           made once per member
 *   body    what all members share, deflated once, from a byte boundary to a byte boundary
 *
 * The receiver adds the 00 00 ff ff that ends the body. Every deflate of ours starts with an empty window, so nothing
 * refers to what came before it, whatever the receiver has kept.
 */
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { assert } from '../shared/errors.js';

/** The end of a sync flush: what uWebSockets.js cut from the first fragment, and the receiver adds to a message. */
const SYNC_TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff]);
/** A stored block's header: its kind, its length, and the length's complement. */
const STORED_HEADER_BYTES = 5;
const STORED_MAX_BYTES = 0xffff;

/** Raw deflate takes windows of 2^9 to 2^15 bytes, and zlib's tables for 2^n bytes fit memLevel n - 6. */
const MIN_WINDOW_BITS = 9;
const MAX_WINDOW_BITS = 15;
const MAX_MEM_LEVEL = 8;
/** Output grows by chunks of this, or of the body if that is less: deflate never adds more than DEFLATE_SLACK_BYTES. */
const MAX_CHUNK_BYTES = 16 * 1024;
const DEFLATE_SLACK_BYTES = 64;

/** What goes between the first fragment and the body: the member's own part of a message, behind its first byte. */
export function storedBlock(own: string | Uint8Array): Buffer {
  const bytes = typeof own === 'string' ? Buffer.from(own) : own;
  const blocks = Math.ceil(bytes.length / STORED_MAX_BYTES);
  const out = Buffer.allocUnsafe(SYNC_TAIL.length + blocks * STORED_HEADER_BYTES + bytes.length);
  out.set(SYNC_TAIL, 0);
  let at = SYNC_TAIL.length;
  for (let block = 0; block < blocks; block++) {
    const part = bytes.subarray(block * STORED_MAX_BYTES, (block + 1) * STORED_MAX_BYTES);
    out.writeUInt8(0, at);
    out.writeUInt16LE(part.length, at + 1);
    out.writeUInt16LE(part.length ^ STORED_MAX_BYTES, at + 3);
    out.set(part, at + STORED_HEADER_BYTES);
    at += STORED_HEADER_BYTES + part.length;
  }
  return out;
}

/**
 * The last fragment: `body` deflated, without the four bytes that the receiver adds. In a buffer of its own length.
 *
 * Level 1: level 3 takes as long up to 4 KB and saves 1 % more, at 64 KB it takes 1.6 times as long; level 6 takes 1.8
 * times as long at 4 KB (45 µs for 25) and 4.5 times at 64 KB, for 5 to 10 % fewer bytes. A window and tables no larger
 * than the body make a call cost 10 µs at 300 bytes and 24 at 4 KB instead of 15 and 27. A zlib stream that is kept
 * and reset would cost 7 and 18, but has no synchronous call in Node's interface.
 */
export function deflateBody(body: Uint8Array): Buffer {
  const windowBits = Math.min(MAX_WINDOW_BITS, Math.max(MIN_WINDOW_BITS, Math.ceil(Math.log2(body.length + 1))));
  const deflated = deflateRawSync(body, {
    level: 1,
    windowBits,
    memLevel: Math.min(MAX_MEM_LEVEL, windowBits - 6),
    chunkSize: Math.min(MAX_CHUNK_BYTES, body.length + DEFLATE_SLACK_BYTES),
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  const end = deflated.length - SYNC_TAIL.length;
  assert(SYNC_TAIL.equals(deflated.subarray(end)), 'a sync flush ends with an empty stored block');
  const out = Buffer.allocUnsafeSlow(end);
  deflated.copy(out, 0, 0, end);
  return out;
}

/** What a receiver makes of a compressed message's fragments (their payloads, in order). Throws if they are no stream. */
export function inflateFragments(fragments: readonly Uint8Array[]): Buffer {
  return inflateRawSync(Buffer.concat([...fragments, SYNC_TAIL]), { finishFlush: constants.Z_SYNC_FLUSH });
}
