/** Headers of WebSocket frames that a server sends (RFC 6455, 5.2: not masked). */
export const FIN = 0x80;
export const OPCODE = 0x0f;
export const FIRST_CONTROL = 0x8;
export const LENGTH = 0x7f;
export const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** Bytes of a header whose second byte has that length. */
export function headerBytes(short: number): number {
  return short === LENGTH_64 ? 10 : short === LENGTH_16 ? 4 : 2;
}

/** Where the frame that begins at `at` ends; undefined: further on than the bytes go. */
export function frameEnd(bytes: Buffer, at: number): number | undefined {
  if (at + 2 > bytes.length) return undefined;
  const short = bytes.readUInt8(at + 1) & LENGTH;
  const payloadAt = at + headerBytes(short);
  if (payloadAt > bytes.length) return undefined;
  const size =
    short === LENGTH_64
      ? Number(bytes.readBigUInt64BE(at + 2))
      : short === LENGTH_16
        ? bytes.readUInt16BE(at + 2)
        : short;
  return payloadAt + size > bytes.length ? undefined : payloadAt + size;
}
