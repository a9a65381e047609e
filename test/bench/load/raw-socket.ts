/**
 * One WebSocket client as a raw TCP socket, made for cheapness: the handshake is written by hand, all sockets read into
 * one buffer, and messages are counted by their frame headers.
 */
import { connect, type Socket } from 'node:net';
import { FrameWalker } from './frame-walker.js';

/** What a socket asks for, and what it says before it is ready. */
export interface Dialogue {
  readonly path: string;
  readonly deflate: boolean;
  /** Text messages, each sent when the server has sent as many messages as `after` says. */
  readonly says: readonly { readonly after: number; readonly text: string }[];
  /** Messages of the server after which the socket is ready. */
  readonly readyAfter: number;
}

export interface Endpoint {
  readonly port: number;
  /** Absent: the system's choice. */
  readonly localAddress?: string;
}

/** How a slow client reads: so many bytes at a time, and then a rest. */
export interface Pace {
  readonly bytes: number;
  readonly everyMs: number;
}

export interface SocketListener {
  onReady(socket: RawSocket): void;
  /** Bytes of frames, with which so many messages are complete. The chunk is used again for the next read. */
  onChunk(socket: RawSocket, chunk: Buffer, messages: number): void;
  /** Also when it never became ready. */
  onClosed(socket: RawSocket, reason: string): void;
}

const READ_BUFFER_BYTES = 64 * 1024;
/** Shared by all sockets: a chunk is used up before the next read. */
const readBuffer = Buffer.alloc(READ_BUFFER_BYTES);
const HANDSHAKE_END = '\r\n\r\n';
/** Sockets that one address has ports for, with some to spare. */
const SOCKETS_PER_ADDRESS = 20_000;
const KEY = Buffer.alloc(16).toString('base64');

/**
 * Where a process's socket of that number connects from. The system chooses, as long as it has ports: to a socket that is
 * bound to an address first it gives none that is in use there, or was lately, and looks for a free one for milliseconds.
 */
export function localAddress(socket: number): Pick<Endpoint, 'localAddress'> {
  const address = Math.floor(socket / SOCKETS_PER_ADDRESS);
  return address === 0 ? {} : { localAddress: `127.0.0.${1 + address}` };
}

export class RawSocket {
  /** Complete messages that came. */
  messages = 0;
  /** Bytes of frames that came. */
  bytes = 0;
  private readonly socket: Socket;
  private readonly walker = new FrameWalker();
  private head: string | undefined = '';
  private said = 0;
  private ready = false;
  private closing = false;
  private readonly buffer: Buffer;

  /** @param pace how it reads, until `speedUp`; absent: as fast as it can */
  constructor(
    endpoint: Endpoint,
    private readonly dialogue: Dialogue,
    private readonly listener: SocketListener,
    private pace?: Pace,
  ) {
    this.buffer = pace === undefined ? readBuffer : Buffer.alloc(pace.bytes);
    this.socket = connect({
      host: '127.0.0.1',
      ...endpoint,
      onread: {
        buffer: this.buffer,
        callback: (length) => {
          this.onRead(length);
          return !this.rests();
        },
      },
    });
    this.socket.on('connect', () => this.socket.write(handshake(dialogue)));
    this.socket.on('error', (error) => {
      this.closed(error.message);
    });
    this.socket.on('close', () => {
      this.closed('the server closed it');
    });
  }

  /** Whether the last chunk ended within a message. */
  get inMessage(): boolean {
    return this.walker.inMessage;
  }

  /** From now on it reads as fast as it can. */
  speedUp(): void {
    this.pace = undefined;
    this.socket.resume();
  }

  /** Closes it without a word, and so that the kernel keeps nothing of it. */
  destroy(): void {
    this.closing = true;
    this.socket.resetAndDestroy();
  }

  /** Whether it reads no more for a while. */
  private rests(): boolean {
    if (this.pace === undefined || !this.ready) return false;
    setTimeout(() => this.socket.resume(), this.pace.everyMs);
    return true;
  }

  private onRead(length: number): void {
    if (this.head === undefined) {
      this.take(this.buffer, length);
      return;
    }
    this.head += this.buffer.toString('latin1', 0, length);
    const end = this.head.indexOf(HANDSHAKE_END);
    if (end < 0) return;
    const head = this.head.slice(0, end);
    const rest = Buffer.from(this.head.slice(end + HANDSHAKE_END.length), 'latin1');
    this.head = undefined;
    if (!head.startsWith('HTTP/1.1 101') || /permessage-deflate/iu.test(head) !== this.dialogue.deflate) {
      this.closed(`handshake answered with ${head}`);
      this.socket.destroy();
      return;
    }
    this.take(rest, rest.length);
  }

  private take(chunk: Buffer, length: number): void {
    this.bytes += length;
    const messages = this.walker.walk(chunk, length);
    this.messages += messages;
    this.listener.onChunk(this, length === chunk.length ? chunk : chunk.subarray(0, length), messages);
    if (!this.ready) this.converse();
  }

  private converse(): void {
    for (const { after, text } of this.dialogue.says.slice(this.said)) {
      if (this.messages < after) return;
      this.said += 1;
      this.socket.write(textFrame(text));
    }
    if (this.messages < this.dialogue.readyAfter) return;
    this.ready = true;
    this.listener.onReady(this);
  }

  private closed(reason: string): void {
    if (this.closing) return;
    this.closing = true;
    this.listener.onClosed(this, reason);
  }
}

export function handshake({ path, deflate }: Pick<Dialogue, 'path' | 'deflate'>): string {
  const lines = [
    `GET ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${KEY}`,
    'Sec-WebSocket-Version: 13',
  ];
  if (deflate) lines.push('Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover');
  return `${lines.join('\r\n')}${HANDSHAKE_END}`;
}

/** A text message of a client: masked, with a mask of zeros. */
export function textFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const header =
    payload.length < 126
      ? Buffer.from([0x81, 0x80 | payload.length])
      : Buffer.from([0x81, 0x80 | 126, payload.length >> 8, payload.length & 0xff]);
  return Buffer.concat([header, Buffer.alloc(4), payload]);
}
