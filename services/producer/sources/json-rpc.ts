/**
 * One JSON-RPC 2.0 connection over a WebSocket that comes back by itself.
 *
 *   connecting ──open──▶ up ──close, silence──▶ waiting ──backoff──▶ connecting ...      close() ─▶ closed
 *
 * Invariant: a request is settled exactly once: by its answer, by its timeout, or at once when the connection goes down.
 * Nothing is sent again: what to do after a failure is the caller's decision.
 * Limits: MAX_PENDING requests, MAX_MESSAGE_BYTES a message, `timeoutMs` for an answer; a peer that is silent, pings
 * included, is given up after one to two times `timeoutMs`. The address may hold a secret: only its host is ever logged.
 */
import { WebSocket, type RawData } from 'ws';
import { z } from 'zod';
import type { Clock } from '../../shared/clock.js';
import { assert } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { Backoff, type BackoffLimits } from './backoff.js';

const MAX_PENDING = 64;
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

export type NodeErrorCode =
  /** The connection went down before the answer, or is down. */
  | 'disconnected'
  | 'timeout'
  /** The node answered with an error. */
  | 'refused'
  /** The answer is not what the method promises. */
  | 'malformed'
  /** The node does not have a block that it, or another node behind the same address, has told of. */
  | 'missing_block'
  /** The node's newest block is an old one of the room's: it has yet to catch up. */
  | 'behind';

/** What a node did not do. Always worth another attempt. */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  constructor(
    readonly code: NodeErrorCode,
    message: string,
  ) {
    super(message);
  }
}

const answerMessage = z.object({ id: z.number(), result: z.unknown() });
const errorMessage = z.object({ id: z.number(), error: z.object({ code: z.number(), message: z.string() }) });
const notificationMessage = z.object({ method: z.string(), params: z.unknown().optional() });

export interface JsonRpcParts {
  readonly url: string;
  readonly timeoutMs: number;
  readonly backoff: BackoffLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** At each connect. */
  readonly onUp: () => void;
  readonly onNotification: (method: string, params: unknown) => void;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: NodeError) => void;
  readonly cancelTimeout: () => void;
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'connecting'; readonly socket: WebSocket }
  | { readonly kind: 'up'; readonly socket: WebSocket; readonly cancelLiveness: () => void }
  | { readonly kind: 'waiting'; readonly cancelRetry: () => void }
  | { readonly kind: 'closed' };

export class JsonRpcConnection {
  private state: State = { kind: 'idle' };
  private readonly pending = new Map<number, Pending>();
  private readonly backoff: Backoff;
  private readonly host: string;
  private lastId = 0;
  /** When anything arrived, on the monotonic clock. */
  private heardAt = 0;
  /** Whether the log's last word was that the node is connected; undefined before the first word. */
  private saidUp: boolean | undefined;

  constructor(private readonly parts: JsonRpcParts) {
    this.backoff = new Backoff(parts.backoff);
    this.host = new URL(parts.url).host;
  }

  get up(): boolean {
    return this.state.kind === 'up';
  }

  /** Connects, and again whenever the connection is lost, until `close`. */
  start(): void {
    if (this.state.kind === 'idle') this.connect();
  }

  /** The result, of any shape. Throws NodeError. */
  request(method: string, params: readonly unknown[]): Promise<unknown> {
    const { state } = this;
    if (state.kind !== 'up') return Promise.reject(new NodeError('disconnected', 'the node is not connected'));
    assert(this.pending.size < MAX_PENDING, 'requests to the node are bounded by their caller');
    this.lastId += 1;
    const id = this.lastId;
    return new Promise((resolve, reject) => {
      const cancelTimeout = this.parts.clock.after(this.parts.timeoutMs, () => {
        this.pending.delete(id);
        reject(new NodeError('timeout', `${method} was not answered within ${this.parts.timeoutMs} ms`));
      });
      this.pending.set(id, { resolve, reject, cancelTimeout });
      state.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** Gives this connection up and makes a new one. */
  drop(reason: string): void {
    if (this.state.kind === 'up') this.lost(this.state.socket, reason);
  }

  /** Ends it for good; requests under way fail. Idempotent. */
  close(): void {
    const { state } = this;
    this.state = { kind: 'closed' };
    if (state.kind === 'connecting' || state.kind === 'up') state.socket.terminate();
    if (state.kind === 'up') state.cancelLiveness();
    if (state.kind === 'waiting') state.cancelRetry();
    this.failPending(new NodeError('disconnected', 'the connection was closed'));
  }

  private connect(): void {
    const socket = new WebSocket(this.parts.url, {
      handshakeTimeout: this.parts.timeoutMs,
      maxPayload: MAX_MESSAGE_BYTES,
      perMessageDeflate: false,
    });
    this.state = { kind: 'connecting', socket };
    socket.on('open', () => {
      if (this.state.kind === 'connecting' && this.state.socket === socket) this.opened(socket);
    });
    socket.on('message', (data) => {
      if (this.state.kind === 'up' && this.state.socket === socket) this.received(data);
    });
    for (const sign of ['ping', 'pong'] as const) socket.on(sign, () => this.heard());
    // 'close' follows every error; terminate() is idempotent.
    let reason = '';
    socket.on('error', (error) => {
      reason = error.message;
    });
    socket.on('close', (code, text) => {
      this.lost(socket, reason || `closed by the node with code ${code} ${text.toString()}`.trimEnd());
    });
  }

  private opened(socket: WebSocket): void {
    this.heard();
    this.state = { kind: 'up', socket, cancelLiveness: this.watchLiveness(socket) };
    this.parts.onUp();
  }

  /** Also called for a socket that is given up before its 'close' comes: the first call counts. */
  private lost(socket: WebSocket, reason: string): void {
    const { state } = this;
    if ((state.kind !== 'connecting' && state.kind !== 'up') || state.socket !== socket) return;
    if (state.kind === 'up') state.cancelLiveness();
    const delayMs = this.backoff.next();
    const cancelRetry = this.parts.clock.after(delayMs, () => {
      this.connect();
    });
    this.state = { kind: 'waiting', cancelRetry };
    socket.terminate();
    if (this.saidUp !== false) {
      this.parts.logger.warn({ node: this.host, reason }, 'the node is not reachable, connecting again');
    }
    this.saidUp = false;
    this.failPending(new NodeError('disconnected', reason));
  }

  private heard(): void {
    this.heardAt = this.parts.clock.monotonic();
  }

  /** Pings, and gives the socket up when nothing at all has arrived for `timeoutMs`: a dead peer sends no FIN. */
  private watchLiveness(socket: WebSocket): () => void {
    const { clock, timeoutMs } = this.parts;
    const look = () => {
      if (clock.monotonic() - this.heardAt >= timeoutMs) {
        this.lost(socket, `no sign of life for ${timeoutMs} ms`);
        return;
      }
      socket.ping();
      cancel = clock.after(timeoutMs / 2, look);
    };
    let cancel = clock.after(timeoutMs / 2, look);
    return () => {
      cancel();
    };
  }

  private received(data: RawData): void {
    this.heard();
    const message = parseJson(data);
    const failure = errorMessage.safeParse(message);
    if (failure.success) {
      const { code, message: text } = failure.data.error;
      this.take(failure.data.id)?.reject(new NodeError('refused', `the node answered with error ${code}: ${text}`));
      return;
    }
    const answer = answerMessage.safeParse(message);
    if (answer.success) {
      this.works();
      this.take(answer.data.id)?.resolve(answer.data.result);
      return;
    }
    const notification = notificationMessage.safeParse(message);
    if (notification.success) {
      this.parts.onNotification(notification.data.method, notification.data.params);
      return;
    }
    // Which request it was meant for cannot be known, so each of them is to be made again.
    this.failPending(new NodeError('malformed', 'the node sent what is not JSON-RPC'));
  }

  /** Only an answer shows that the node works: one that hangs up after opening is neither praised nor called faster. */
  private works(): void {
    this.backoff.reset();
    if (this.saidUp !== true) this.parts.logger.info({ node: this.host }, 'connected to the node');
    this.saidUp = true;
  }

  private take(id: number): Pending | undefined {
    const pending = this.pending.get(id);
    this.pending.delete(id);
    pending?.cancelTimeout();
    return pending;
  }

  private failPending(error: NodeError): void {
    for (const id of this.pending.keys()) this.take(id)?.reject(error);
  }
}

function parseJson(data: RawData): unknown {
  try {
    return JSON.parse((Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString());
  } catch {
    return undefined;
  }
}
