/**
 * Follows rooms through one edge, over the plain protocol (SPEC.md), and goes on where it stood when the connection
 * breaks: each room's position says what to ask for, and every revision is checked against it before it is passed on.
 *
 *   connecting ──open──▶ connected ──close, silence──▶ waiting ──backoff──▶ connecting       any ──stop──▶ ended
 */
import { WebSocket } from 'ws';
import type { Clock } from '../shared/clock.js';
import { ERROR_STATUS, RevcastError, type ErrorCode } from '../shared/errors.js';
import { Backoff } from '../producer/sources/backoff.js';
import type { ClientPosition } from '../revision/contract.js';
import type { TailedRevision, TailedSnapshot } from './tail-format.js';
import type { TailPosition } from './tail-position.js';

const BACKOFF = { firstMs: 100, maxMs: 5_000 };
const CONNECT_TIMEOUT_MS = 10_000;
/** Larger than any revision that a producer takes. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

export interface TailListener {
  /** The next revision of its room, and its JSON text as the edge sent it. */
  onRevision(room: string, revision: TailedRevision, text: string): void;
  /** What follows the room's position cannot be had; the room begins again with what is kept unless this throws. */
  onDiscontinued(room: string, reason: string): void;
  /** The subscription was answered with the room's snapshot, where one was asked for; `text` is the answer's JSON. */
  onSnapshot(room: string, snapshot: TailedSnapshot, text: string): void;
  /** A subscription was answered: the room's revisions come from this position on. */
  onSubscribed(room: string, position: ClientPosition): void;
  /** Told when it begins to wait for the edge or for a room, with the reason. */
  onWaiting(reason: string): void;
  /** No retry can help. It has ended. */
  onFailed(reason: string): void;
}

export interface TailClientOptions {
  /** Of the edge, with path. */
  readonly url: string;
  readonly rooms: ReadonlyMap<string, TailPosition>;
  /** Silence after which the edge is asked for a sign of life, and silence after that which ends the connection: half each. */
  readonly silenceMs: number;
  readonly clock: Clock;
  readonly listener: TailListener;
}

interface Reply {
  readonly id: string | null;
  readonly data: {
    readonly subscribed?: boolean;
    readonly snapshot?: TailedSnapshot | null;
    readonly error?: { readonly code: string; readonly message: string };
  } & Partial<ClientPosition> &
    Partial<TailedRevision>;
}

export class TailClient {
  private socket: WebSocket | undefined;
  private ended = false;
  private cancelWait: (() => void) | undefined;
  private cancelSilence: (() => void) | undefined;
  private readonly cancelRoomWaits = new Set<() => void>();
  private readonly backoff = new Backoff(BACKOFF);
  /** By the id of the newest subscription request of each room. Answers to older ones are not listened to. */
  private roomsById = new Map<string, string>();
  private requests = 0;

  constructor(private readonly options: TailClientOptions) {}

  start(): void {
    this.connect();
  }

  stop(): void {
    if (this.ended) return;
    this.ended = true;
    this.cancelAll();
    this.socket?.close(1000);
  }

  private connect(): void {
    const socket = new WebSocket(this.options.url, {
      handshakeTimeout: CONNECT_TIMEOUT_MS,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    this.socket = socket;
    let problem = '';
    socket.on('open', () => {
      this.onOpen();
    });
    socket.on('message', (message: Buffer) => {
      if (this.socket === socket && !this.ended) this.onMessage(message.toString());
    });
    socket.on('pong', () => {
      this.watchSilence();
    });
    socket.on('unexpected-response', (request, response) => {
      const status = response.statusCode ?? 0;
      problem = `it answered ${status} instead of a WebSocket`;
      request.destroy();
      if (isFinal(status)) this.fail(`${this.options.url}: ${problem}; is this the address of an edge?`);
      else this.onClosed(socket, problem);
    });
    socket.on('error', (error) => {
      problem ||= (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'connection refused' : error.message;
    });
    socket.on('close', (code, reason) => {
      const text = reason.toString();
      this.onClosed(socket, problem || `closed with code ${code}${text === '' ? '' : ` (${text})`}`);
    });
  }

  private onOpen(): void {
    this.roomsById = new Map();
    for (const room of this.options.rooms.keys()) this.subscribe(room);
    this.watchSilence();
  }

  /** Connects anew, after a wait. Called once for each socket. */
  private onClosed(socket: WebSocket, reason: string): void {
    if (this.ended || this.socket !== socket) return;
    this.socket = undefined;
    this.cancelAll();
    this.options.listener.onWaiting(`no connection to the edge at ${this.options.url}: ${reason}`);
    this.cancelWait = this.options.clock.after(this.backoff.next(), () => {
      this.connect();
    });
  }

  private subscribe(room: string): void {
    const position = this.options.rooms.get(room);
    if (position === undefined || this.socket?.readyState !== WebSocket.OPEN) return;
    this.requests += 1;
    const id = String(this.requests);
    this.roomsById.set(id, room);
    this.socket.send(JSON.stringify({ id, method: 'subscribe', params: { room, since: position.since() } }));
  }

  private onMessage(text: string): void {
    this.watchSilence();
    const reply = parseReply(text);
    if (reply === undefined) {
      this.fail(`${this.options.url} does not speak revcast's plain protocol`);
      return;
    }
    const room = reply.id === null ? undefined : this.roomsById.get(reply.id);
    if (room === undefined || reply.id === null) {
      if (reply.id === null && reply.data.error !== undefined) this.fail(describe(reply.data.error));
      return;
    }
    const { data } = reply;
    if (data.error !== undefined) this.onError(room, reply.id, data.error);
    else if (data.subscribed === true) this.onSubscribed(room, reply.id, data, text);
    else if (data.rev !== undefined) this.onRevision(room, reply.id, data as TailedRevision, text);
  }

  private onSubscribed(room: string, id: string, data: Reply['data'], text: string): void {
    this.backoff.reset();
    const { epoch = '', rev = 0, tag, snapshot } = data;
    const position = { epoch, rev, ...(tag === undefined ? {} : { tag }) };
    this.options.rooms.get(room)?.onSubscribed(position);
    this.options.listener.onSubscribed(room, position);
    if (snapshot) this.options.listener.onSnapshot(room, snapshot, answerText(text, id));
  }

  private onRevision(room: string, id: string, revision: TailedRevision, text: string): void {
    const position = this.options.rooms.get(room);
    const placed = position?.place(revision);
    switch (placed) {
      case 'next':
        this.options.listener.onRevision(room, revision, answerText(text, id));
        return;
      case 'rewritten':
        this.options.listener.onDiscontinued(room, `revision ${revision.rev} is not the one that was there before`);
        position?.restart();
        this.breakOff('history was rewritten');
        return;
      case 'hole':
        // The edge promises that there is none. On a new connection it is asked for what is missing.
        this.breakOff(`revision ${revision.rev} of ${room} came where an earlier one follows`);
        return;
      case 'known':
      case undefined:
    }
  }

  private onError(room: string, id: string, error: { code: string; message: string }): void {
    if (error.code === 'epoch_changed' || error.code === 'history_truncated') {
      this.restart(room, id, describe(error));
      return;
    }
    this.roomsById.delete(id);
    const known = error.code in ERROR_STATUS ? new RevcastError(error.code as ErrorCode, error.message) : undefined;
    if (known?.retryable !== true) {
      this.fail(`${room}: ${describe(error)}`);
      return;
    }
    this.options.listener.onWaiting(`${room}: ${describe(error)}`);
    const cancel = this.options.clock.after(this.backoff.next(), () => {
      this.cancelRoomWaits.delete(cancel);
      this.subscribe(room);
    });
    this.cancelRoomWaits.add(cancel);
  }

  private restart(room: string, id: string, reason: string): void {
    this.roomsById.delete(id);
    this.options.listener.onDiscontinued(room, reason);
    if (this.ended) return;
    this.options.rooms.get(room)?.restart();
    this.subscribe(room);
  }

  /** Ends the connection, and makes a new one. */
  private breakOff(reason: string): void {
    const { socket } = this;
    if (socket === undefined) return;
    this.onClosed(socket, reason);
    socket.terminate();
  }

  private fail(reason: string): void {
    this.stop();
    this.options.listener.onFailed(reason);
  }

  /** Any message or pong is a sign of life. */
  private watchSilence(): void {
    const { clock, silenceMs } = this.options;
    this.cancelSilence?.();
    this.cancelSilence = clock.after(silenceMs / 2, () => {
      if (this.socket?.readyState === WebSocket.OPEN) this.socket.ping();
      this.cancelSilence = clock.after(silenceMs / 2, () => {
        this.breakOff(`no sign of life for ${silenceMs} ms`);
      });
    });
  }

  private cancelAll(): void {
    this.cancelWait?.();
    this.cancelSilence?.();
    for (const cancel of this.cancelRoomWaits) cancel();
    this.cancelRoomWaits.clear();
  }
}

/** Answers to the upgrade that no later attempt will change. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function parseReply(text: string): Reply | undefined {
  try {
    const reply = JSON.parse(text) as Partial<Reply> | null;
    return typeof reply?.data === 'object' ? (reply as Reply) : undefined;
  } catch {
    return undefined;
  }
}

function describe({ code, message }: { code: string; message: string }): string {
  return `${code}: ${message}`;
}

/** The data of `{"id":"…","data":DATA}`, byte for byte where the message is written as an edge writes it. */
function answerText(message: string, id: string): string {
  const before = `{"id":${JSON.stringify(id)},"data":`;
  if (message.startsWith(before)) return message.slice(before.length, -1);
  return JSON.stringify((JSON.parse(message) as { data: unknown }).data);
}
