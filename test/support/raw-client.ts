/**
 * A WebSocket client on a bare TCP socket, for what libraries hide: handshakes that are none, frames as they are on the
 * wire, a client that does not read, and how many segments the server's writes made.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { waitFor } from './wait-for.js';

const run = promisify(execFile);
const MASK_BIT = 0x80;
const LENGTH_16 = 126;
const LENGTH_64 = 127;

export interface Frame {
  readonly fin: boolean;
  readonly compressed: boolean;
  /** 0 continuation, 1 text, 2 binary, 8 close, 9 ping, 10 pong. */
  readonly opcode: number;
  readonly payload: Buffer;
}

export class RawClient {
  readonly frames: Frame[] = [];
  /** Status line and headers of the answer. */
  head = '';
  /** What came after the head and is no whole frame yet; the body, where the answer is not a handshake. */
  rest: Buffer = Buffer.alloc(0);
  ended = false;
  receivedBytes = 0;

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => {
      this.onData(chunk);
    });
    socket.on('close', () => {
      this.ended = true;
    });
    socket.on('error', () => {
      this.ended = true;
    });
  }

  /** Connects and sends `request` as it is. */
  static async open(port: number, request: string): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const client = new RawClient(socket);
    await once(socket, 'connect');
    socket.write(request);
    return client;
  }

  /** Connects with a sound handshake, with more headers if given. */
  static async upgraded(port: number, headers: Record<string, string> = {}): Promise<RawClient> {
    const client = await RawClient.open(port, handshake({ headers }));
    await waitFor(() => client.head !== '' || client.ended, { what: 'the answer to a handshake' });
    if (client.status !== 101) throw new Error(`not upgraded: ${client.head}`);
    return client;
  }

  /** Waits for the answer to a request that is no handshake, with its body. */
  async answer(): Promise<{ status: number; body: string; head: string }> {
    const length = () => Number(/^content-length: *(\d+)/imu.exec(this.head)?.[1] ?? 0);
    await waitFor(() => this.ended || (this.head !== '' && this.rest.length >= length()), { what: 'an answer' });
    return { status: this.status, body: this.rest.toString(), head: this.head };
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/u.exec(this.head)?.[1] ?? 0);
  }

  /** Value of a header of the answer; undefined if it is not there. */
  header(name: string): string | undefined {
    return new RegExp(`^${name}: *(.*)$`, 'imu').exec(this.head)?.[1]?.trim();
  }

  sendText(text: string): void {
    this.sendFrame(1, Buffer.from(text));
  }

  sendFrame(opcode: number, payload: Buffer, { fin = true, rsv1 = false } = {}): void {
    this.socket.write(clientFrame(opcode, payload, { fin, rsv1 }));
  }

  /** Text messages that are not compressed, whole, in order. */
  get texts(): string[] {
    const texts: string[] = [];
    let parts: Buffer[] = [];
    for (const { opcode, payload, fin } of this.frames) {
      if (opcode > 2) continue;
      parts.push(payload);
      if (!fin) continue;
      texts.push(Buffer.concat(parts).toString());
      parts = [];
    }
    return texts;
  }

  /** The close frame that came. */
  get close(): { code: number; reason: string } | undefined {
    const payload = this.frames.find(({ opcode }) => opcode === 8)?.payload;
    return payload === undefined
      ? undefined
      : { code: payload.length < 2 ? 0 : payload.readUInt16BE(0), reason: payload.subarray(2).toString() };
  }

  /** Its own port, by which the server's side of the connection can be found. */
  get localPort(): number {
    return this.socket.localPort ?? 0;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private onData(chunk: Buffer): void {
    this.receivedBytes += chunk.length;
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    if (this.head === '') {
      const end = this.rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.head = this.rest.subarray(0, end).toString();
      this.rest = this.rest.subarray(end + 4);
    }
    if (this.status === 101) this.readFrames();
  }

  private readFrames(): void {
    for (let frame = firstFrame(this.rest); frame !== undefined; frame = firstFrame(this.rest)) {
      this.frames.push(frame.frame);
      this.rest = this.rest.subarray(frame.bytes);
    }
  }
}

export interface HandshakeParts {
  readonly method?: string;
  readonly path?: string;
  readonly version?: string;
  /** Replace or add to the sound ones; an empty one is left out. */
  readonly headers?: Record<string, string>;
}

export function handshake({
  method = 'GET',
  path = '/v1/ws',
  version = '1.1',
  headers = {},
}: HandshakeParts = {}): string {
  const all: Record<string, string> = {
    Host: '127.0.0.1',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    'Sec-WebSocket-Version': '13',
    ...headers,
  };
  const lines = Object.entries(all).filter(([, value]) => value !== '');
  return `${method} ${path} HTTP/${version}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

function clientFrame(opcode: number, payload: Buffer, { fin = true, rsv1 = false } = {}): Buffer {
  const first = (fin ? 0x80 : 0) | (rsv1 ? 0x40 : 0) | opcode;
  const mask = randomBytes(4);
  const { length } = payload;
  let head: Buffer;
  if (length < LENGTH_16) head = Buffer.from([first, MASK_BIT | length]);
  else if (length <= 0xffff) {
    head = Buffer.from([first, MASK_BIT | LENGTH_16, 0, 0]);
    head.writeUInt16BE(length, 2);
  } else {
    head = Buffer.alloc(10);
    head[0] = first;
    head[1] = MASK_BIT | LENGTH_64;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  const masked = Buffer.from(payload);
  for (let i = 0; i < length; i += 1) masked[i] = (masked[i] ?? 0) ^ (mask[i % 4] ?? 0);
  return Buffer.concat([head, mask, masked]);
}

/** The first whole frame (of a server: unmasked) and its length; undefined while it is not whole. */
function firstFrame(bytes: Buffer): { frame: Frame; bytes: number } | undefined {
  if (bytes.length < 2) return undefined;
  const first = bytes[0] ?? 0;
  const short = bytes[1] ?? 0;
  const headerBytes = short === LENGTH_16 ? 4 : short === LENGTH_64 ? 10 : 2;
  if (bytes.length < headerBytes) return undefined;
  const length =
    short === LENGTH_16 ? bytes.readUInt16BE(2) : short === LENGTH_64 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < headerBytes + length) return undefined;
  return {
    frame: {
      fin: (first & 0x80) !== 0,
      compressed: (first & 0x40) !== 0,
      opcode: first & 0x0f,
      payload: Buffer.from(bytes.subarray(headerBytes, headerBytes + length)),
    },
    bytes: headerBytes + length,
  };
}

/**
 * Segments with data that the server at `port` has sent, by its clients' ports, each once: on loopback, without delay
 * and up to 64 KB, one write call is one segment, or a part of one where the kernel joined it with the next.
 */
export async function segmentsOut(port: number): Promise<Map<number, number>> {
  const { stdout } = await run('ss', ['-tinOH', 'state', 'established', 'src', `127.0.0.1:${port}`]);
  const segments = new Map<number, number>();
  for (const line of stdout.split('\n')) {
    const peer = /\s\S+:\d+\s+\S+:(\d+)\s/u.exec(line)?.[1];
    if (peer !== undefined)
      segments.set(Number(peer), counted(line, /data_segs_out:(\d+)/u) - counted(line, RETRANSMITTED));
  }
  return segments;
}

const RETRANSMITTED = /retrans:\d+\/(\d+)/u;

function counted(line: string, pattern: RegExp): number {
  return Number(pattern.exec(line)?.[1] ?? 0);
}
