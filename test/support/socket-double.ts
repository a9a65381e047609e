/**
 * A socket of uWebSockets.js as the edge's rules know it (services/edge/uws.ts): one cork, fragments, bytes that the
 * kernel does not take, drain. It puts messages together as a client does, and writes down every breach of the rules.
 */
import { constants, deflateRawSync } from 'node:zlib';
import { inflateFragments } from '../../services/edge/compress-once.js';
import type { EdgeSocket } from '../../services/edge/uws.js';

const DROPPED = 2;
const SYNC_TAIL_BYTES = 4;
const CORK_BUFFER_BYTES = 16 * 1024;
const MAX_BACKPRESSURE_BYTES = 1024 * 1024;
/** A header of a frame to the client, at most. */
const FRAME_HEADER_BYTES = 10;

interface Fragment {
  readonly bytes: Buffer;
  readonly compress: boolean;
}

export class SocketDouble {
  /** Every whole message, as text. */
  readonly messages: string[] = [];
  /** Bytes of every write call. */
  readonly writes: number[] = [];
  /** Breaches of the rules. */
  readonly faults: string[] = [];
  /** Largest output of one cork. */
  largestCork = 0;
  /** What the kernel still takes. */
  kernelFree = Infinity;
  pings = 0;
  closed: { code: number; reason: string } | 'cut' | undefined;
  compressedMessages = 0;
  /** Called before each write call: time passes, or it throws. */
  beforeWrite: () => void = () => undefined;
  onClosed: () => void = () => undefined;
  onDrain: () => void = () => undefined;
  private buffered = 0;
  private corkedBytes: number | undefined;
  private fragments: Fragment[] | undefined;

  /** As the session takes it: what the edge does not use of uWebSockets.js is not there. */
  get asSocket(): EdgeSocket<never> {
    return this as unknown as EdgeSocket<never>;
  }

  getBufferedAmount(): number {
    this.checkOpen();
    return this.buffered;
  }

  cork(write: () => void): this {
    this.checkOpen();
    if (this.corkedBytes !== undefined) this.faults.push('a cork in a cork');
    this.corkedBytes = 0;
    try {
      write();
    } finally {
      const bytes = this.corkedBytes;
      this.corkedBytes = undefined;
      this.largestCork = Math.max(this.largestCork, bytes);
      if (bytes > CORK_BUFFER_BYTES) this.faults.push(`a cork of ${bytes} bytes`);
      if (bytes > 0) this.write(bytes);
    }
    return this;
  }

  send(message: string | Uint8Array, _isBinary: boolean, compress = false): number {
    this.checkOpen();
    if (this.buffered > MAX_BACKPRESSURE_BYTES) return DROPPED;
    if (this.fragments !== undefined) this.faults.push('a message between fragments');
    const bytes = Buffer.from(message as Uint8Array);
    if (compress) this.compressedMessages += 1;
    this.messages.push(bytes.toString());
    return this.output(compress ? deflated(bytes).length : bytes.length);
  }

  sendFirstFragment(fragment: Uint8Array, _isBinary: boolean, compress: boolean): number {
    this.checkOpen();
    if (this.buffered > 0) this.faults.push('fragments begin on a socket that is not empty');
    if (this.fragments !== undefined) this.faults.push('a message begins before the last has ended');
    this.fragments = [];
    if (compress) this.compressedMessages += 1;
    return this.fragment(fragment, compress);
  }

  sendFragment(fragment: Uint8Array): number {
    return this.fragment(fragment, false);
  }

  sendLastFragment(fragment: Uint8Array): number {
    const answer = this.fragment(fragment, false);
    const fragments = this.fragments ?? [];
    this.fragments = undefined;
    this.messages.push(whole(fragments));
    return answer;
  }

  ping(): number {
    this.checkOpen();
    this.pings += 1;
    return 1;
  }

  end(code: number, reason: string): void {
    this.checkOpen();
    if (this.corkedBytes !== undefined) this.faults.push('end in a cork');
    this.closed = { code, reason };
    this.onClosed();
  }

  close(): void {
    this.checkOpen();
    this.closed = 'cut';
    this.onClosed();
  }

  /** The client takes so many bytes. */
  take(bytes: number): void {
    const free = this.kernelFree + bytes;
    const moved = Math.min(free, this.buffered);
    const before = this.buffered;
    this.kernelFree = free - moved;
    this.buffered -= moved;
    if (before > 0 && moved > 0) this.onDrain();
  }

  private fragment(fragment: Uint8Array, compress: boolean): number {
    this.checkOpen();
    if (this.fragments === undefined) this.faults.push('a fragment of no message');
    this.fragments?.push({ bytes: Buffer.from(fragment), compress });
    return this.output(fragment.length);
  }

  private output(bytes: number): number {
    const total = bytes + FRAME_HEADER_BYTES;
    if (this.corkedBytes === undefined) this.write(total);
    else this.corkedBytes += total;
    return 1;
  }

  private write(bytes: number): void {
    this.beforeWrite();
    this.writes.push(bytes);
    const taken = this.buffered > 0 ? 0 : Math.min(this.kernelFree, bytes);
    this.kernelFree -= taken;
    this.buffered += bytes - taken;
  }

  private checkOpen(): void {
    if (this.closed !== undefined) throw new Error('Invalid access of closed uWS.WebSocket/SSLWebSocket.');
  }
}

/** The fragments' text: if the first is compressed they are one deflate stream, and uWebSockets.js deflates the first. */
function whole(fragments: readonly Fragment[]): string {
  if (fragments[0]?.compress !== true) return Buffer.concat(fragments.map(({ bytes }) => bytes)).toString();
  const payloads = fragments.map(({ bytes, compress }) => (compress ? deflated(bytes) : bytes));
  return inflateFragments(payloads).toString();
}

/** As uWebSockets.js deflates what it is told to compress. */
function deflated(bytes: Buffer): Buffer {
  const whole = deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH });
  return whole.subarray(0, whole.length - SYNC_TAIL_BYTES);
}
