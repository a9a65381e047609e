/**
 * One client connection to a Socket.IO server, over WebSocket only, for both protocols that servers of this kind speak:
 *
 *   Engine.IO 3 (Socket.IO 1, 2)   ◀ 0{…}  ◀ 40                  the client pings "2", the server answers "3"
 *   Engine.IO 4 (Socket.IO 3, 4)   ◀ 0{…}  ▶ 40  ◀ 40{"sid":…}   the server pings "2", the client answers "3"
 *
 * It asks for 4. A server of the older kind does not look at that and sends its "40" unasked, right behind the open
 * packet: who has not done so after GREETING_MS is of the newer kind. No client package speaks both.
 *
 * Invariant: `onEnd` is called exactly once, nothing after it; the connection does not come back by itself.
 * Limits: MAX_MESSAGE_BYTES a message; `timeoutMs` until it is connected; a server that is silent, WebSocket pings
 * included, is given up after one to two times `timeoutMs`, and one that stops Engine.IO's own pings after its interval.
 */
import { WebSocket, type RawData } from 'ws';
import { z } from 'zod';
import type { Clock } from '../../shared/clock.js';

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
const GREETING_MS = 300;
/** Bounds of what a server may ask for as its ping interval. */
const MIN_PING_MS = 50;
const MAX_PING_MS = 600_000;

const pingTime = z.number().transform((ms) => Math.min(Math.max(ms, MIN_PING_MS), MAX_PING_MS));
const openPacket = z.object({ pingInterval: pingTime, pingTimeout: pingTime });
const eventPacket = z.tuple([z.string()]).rest(z.unknown());

export type EngineVersion = 3 | 4;

export interface SocketIoParts {
  /** With path and query, without EIO and transport. */
  readonly url: URL;
  /** As it was found before; undefined: find out. */
  readonly version: EngineVersion | undefined;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly onConnected: (version: EngineVersion) => void;
  /** The payload of an event "message". */
  readonly onMessage: (payload: unknown) => void;
  /** In words, without the address. */
  readonly onEnd: (reason: string) => void;
}

type State =
  | { readonly kind: 'opening' }
  /** The open packet came. */
  | { readonly kind: 'greeting'; readonly pings: z.output<typeof openPacket> }
  | { readonly kind: 'connected' }
  | { readonly kind: 'ended' };

export class SocketIoConnection {
  private state: State = { kind: 'opening' };
  private readonly socket: WebSocket;
  /** Each cancels a timer. */
  private readonly timers = new Map<string, () => void>();
  /** When anything arrived, on the monotonic clock. */
  private heardAt = 0;
  /** A ping or pong of Engine.IO's own arrived; set once it is connected. */
  private engineHeard: (() => void) | undefined;

  constructor(private readonly parts: SocketIoParts) {
    const url = new URL(parts.url);
    url.searchParams.set('EIO', '4');
    url.searchParams.set('transport', 'websocket');
    this.socket = new WebSocket(url, {
      handshakeTimeout: parts.timeoutMs,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    });
    this.socket.on('message', (data, isBinary) => {
      if (!isBinary && this.state.kind !== 'ended') this.received(textOf(data));
    });
    this.socket.on('open', () => {
      this.heard();
      this.watch();
    });
    for (const sign of ['ping', 'pong'] as const) this.socket.on(sign, () => this.heard());
    // 'close' follows every error; terminate() is idempotent.
    let failure = '';
    this.socket.on('error', (error) => {
      failure = error.message;
    });
    this.socket.on('close', (code) => {
      this.end(failure || `closed by the server with code ${code}`);
    });
    this.timer('connect', parts.timeoutMs, () => {
      this.end(`not connected within ${parts.timeoutMs} ms`);
    });
  }

  /** Sends an event "message". Nothing, when the connection has ended. */
  send(payload: unknown): void {
    if (this.state.kind === 'connected') this.socket.send(`42${JSON.stringify(['message', payload])}`);
  }

  /** Ends it without a call of `onEnd`. Idempotent. */
  close(): void {
    this.state = { kind: 'ended' };
    for (const cancel of this.timers.values()) cancel();
    this.timers.clear();
    this.socket.terminate();
  }

  private end(reason: string): void {
    if (this.state.kind === 'ended') return;
    this.close();
    this.parts.onEnd(reason);
  }

  private timer(name: string, delayMs: number, action: () => void): void {
    this.timers.get(name)?.();
    this.timers.set(name, this.parts.clock.after(delayMs, action));
  }

  private heard(): void {
    this.heardAt = this.parts.clock.monotonic();
  }

  /** A dead peer sends no FIN. */
  private watch(): void {
    const { clock, timeoutMs } = this.parts;
    this.timer('silence', timeoutMs / 2, () => {
      if (clock.monotonic() - this.heardAt >= timeoutMs) {
        this.end(`no sign of life for ${timeoutMs} ms`);
        return;
      }
      this.socket.ping();
      this.watch();
    });
  }

  private received(packet: string): void {
    this.heard();
    switch (packet.charAt(0)) {
      case '0':
        this.opened(packet.slice(1));
        return;
      case '1':
        this.end('closed by the server');
        return;
      case '2':
        this.socket.send(`3${packet.slice(1)}`);
        this.engineHeard?.();
        return;
      case '3':
        this.engineHeard?.();
        return;
      case '4':
        this.message(packet.slice(1));
        return;
      case '6':
        return;
      default:
        this.end('the server sent what is no Engine.IO packet');
    }
  }

  private opened(json: string): void {
    const pings = openPacket.safeParse(parseJson(json));
    if (this.state.kind !== 'opening' || !pings.success) {
      this.end('the server sent an open packet that is none');
      return;
    }
    this.state = { kind: 'greeting', pings: pings.data };
    const greet = () => {
      this.socket.send('40');
    };
    if (this.parts.version === 4) greet();
    else if (this.parts.version === undefined)
      this.timer('greeting', Math.min(GREETING_MS, this.parts.timeoutMs / 4), greet);
  }

  private message(packet: string): void {
    switch (packet.charAt(0)) {
      case '0':
        this.connected(packet.slice(1));
        return;
      case '1':
        this.end('disconnected by the server');
        return;
      case '2':
        this.event(packet.slice(1));
        return;
      case '4':
        this.end(`refused by the server: ${packet.slice(1, 200)}`);
        return;
      default:
        // Acknowledgements and binary events: nothing that is asked for here.
        return;
    }
  }

  /** Only the newer protocol names the session here. */
  private connected(session: string): void {
    const { state } = this;
    if (state.kind !== 'greeting') return;
    this.state = { kind: 'connected' };
    for (const name of ['connect', 'greeting']) this.timers.get(name)?.();
    const version = session.startsWith('{') ? 4 : 3;
    const { pingInterval, pingTimeout } = state.pings;
    this.engineHeard = () => {
      this.timer('engine', pingInterval + pingTimeout, () => {
        this.end('the server no longer pings');
      });
    };
    this.engineHeard();
    if (version === 3) this.pingEvery(pingInterval);
    this.parts.onConnected(version);
  }

  private pingEvery(intervalMs: number): void {
    this.timer('ping', intervalMs, () => {
      this.socket.send('2');
      this.pingEvery(intervalMs);
    });
  }

  private event(packet: string): void {
    // An id of an acknowledgement may stand in front.
    const event = eventPacket.safeParse(parseJson(packet.replace(/^\d+/u, '')));
    if (!event.success) {
      this.end('the server sent an event that is none');
      return;
    }
    const [name, payload] = event.data;
    if (name === 'message' && this.state.kind === 'connected') this.parts.onMessage(payload);
  }
}

function textOf(data: RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString();
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
