/**
 * Clients of one room that drop and come back with the position they had, each held against the order of revisions over
 * all its connections. Made for cheapness: raw sockets that read into one buffer, messages checked without decoding, or, of
 * those that are deflated, each decoded once for all.
 * A client is steady when it gets a revision that was published after it had subscribed: it then has everything that
 * there was, and gets what comes.
 * Whoever drops resets its connection, so that the kernel keeps nothing of it: tens of thousands of ports in TIME_WAIT
 * make every `connect` look for a free one, up to 4 ms each.
 * All connect in one go, as a herd does: were some let in when others are through, they would wait for those others'
 * reads in this one process, for seconds. Only every CONNECTS of them it rests for a moment, or some would find the edge's
 * accept queue full (it has 512 places), and try again a second later.
 * Limit: MAX_FAULTS faults told.
 */
import { connect, type Socket } from 'node:net';
import { subscriptionId } from './dialogues.js';
import { monotonicMs } from './monotonic.js';
import { KnownMessages } from './known-messages.js';
import { MessageWalker } from './message-walker.js';
import type { OrderCheck } from './order-check.js';
import { RevisionWalker, type Layout } from './revision-walker.js';
import { handshake, localAddress, textFrame } from './raw-socket.js';

const CONNECTS = 100;
const REST_MS = 2;
const MAX_FAULTS = 5;
const HANDSHAKE_END = '\r\n\r\n';
const NEVER = Number.POSITIVE_INFINITY;

/** Shared by all sockets: a chunk is used up before the next read. */
const readBuffer = Buffer.alloc(64 * 1024);

/** What nobody notifies: to rest without giving the event loop its turn. */
const never = new Int32Array(new SharedArrayBuffer(4));

export interface Position {
  readonly epoch: string;
  readonly rev: number;
  readonly tag: string;
}

export interface HerdOptions {
  readonly room: string;
  readonly port: number;
  readonly clients: number;
  /** Number of the first client: ids are made of it. */
  readonly firstClient: number;
  /** Several revisions may come in one message. */
  readonly batch: boolean;
  /** Whether they offer permessage-deflate, as browsers do. */
  readonly deflate: boolean;
  /** Of a revision's data. */
  readonly bytes: number;
}

export class HerdClient {
  order: OrderCheck;
  steadyAtMs = NEVER;
  /** When it had every revision up to the one that it was told to wait for. */
  reachedAtMs = NEVER;
  private subscribedAtMs = NEVER;
  private socket: Socket | undefined;
  private isOpen = false;
  private head = '';

  constructor(
    private readonly herd: Herd,
    private readonly index: number,
    private readonly id: string,
    private readonly newCheck: (lastRev: number) => OrderCheck,
  ) {
    this.order = newCheck(0);
  }

  /** Connects and subscribes, after `position` if there is one. */
  connect(port: number, room: string, position?: Position): void {
    const { holes, repeats } = this.order;
    this.order = this.newCheck(position?.rev ?? this.herd.headRev);
    this.order.holes = holes;
    this.order.repeats = repeats;
    this.steadyAtMs = NEVER;
    this.reachedAtMs = NEVER;
    this.subscribedAtMs = NEVER;
    this.isOpen = false;
    this.head = '';
    const socket = connect({
      host: '127.0.0.1',
      port,
      ...localAddress(this.index),
      onread: {
        buffer: readBuffer,
        callback: (length) => {
          if (this.isOpen) this.take(readBuffer, length);
          else this.open(length, room, position);
          return true;
        },
      },
    });
    this.socket = socket;
    socket.on('connect', () => socket.write(handshake({ path: '/v1/ws', deflate: this.herd.options.deflate })));
    socket.on('error', (error) => {
      this.herd.complain(`a socket failed: ${error.message}`);
    });
    socket.on('close', () => {
      if (this.socket === socket) this.herd.complain('the edge closed a socket');
    });
  }

  drop(): void {
    const { socket } = this;
    this.socket = undefined;
    socket?.resetAndDestroy();
  }

  private open(length: number, room: string, position: Position | undefined): void {
    this.head += readBuffer.toString('latin1', 0, length);
    if (!this.head.endsWith(HANDSHAKE_END)) return;
    const { batch, deflate } = this.herd.options;
    if (!this.head.startsWith('HTTP/1.1 101') || this.head.includes('permessage-deflate') !== deflate) {
      this.herd.complain(`handshake answered with ${this.head}`);
    }
    this.isOpen = true;
    const params = { room, batch, ...(position === undefined ? {} : { since: position }) };
    this.socket?.write(textFrame(JSON.stringify({ id: this.id, method: 'subscribe', params })));
  }

  private take(chunk: Buffer, length: number): void {
    const { order } = this;
    const { replied } = order;
    order.walk(chunk, length);
    if (order.fault !== undefined) this.herd.complain(`${order.fault}: ${chunk.toString('latin1', 0, 200)}`);
    if (!replied && order.replied) {
      this.subscribedAtMs = monotonicMs();
      this.herd.onSubscribed();
    }
    if (this.steadyAtMs === NEVER) {
      const publishedAtMs = order.publishedAtMs(chunk, length);
      if (publishedAtMs !== undefined && publishedAtMs >= this.subscribedAtMs) this.steadyAtMs = monotonicMs();
    }
    if (order.lastRev >= this.herd.awaitedRev && this.reachedAtMs === NEVER) {
      this.reachedAtMs = monotonicMs();
      this.herd.onReached();
    }
  }
}

/** Where revisions stand in messages that are not compressed. */
function layoutOf({ room, batch, bytes }: HerdOptions, id: string): Layout {
  const revAt = `{"id":"${id}","data":{"room":"${room}","rev":`.length;
  return batch ? { revAt: revAt + '['.length, between: between(room, bytes) } : { revAt };
}

/** Bytes, at least, from a revision's digits to the next `"rev"`, in a message of several of so many bytes. */
function between(room: string, bytes: number): number {
  const fields = ',"tag":"00000000","time":1000000000000,"timeDelta":0,"data":';
  return fields.length + bytes + `},{"room":"${room}",`.length;
}

export class Herd {
  /** The room's head when clients connect without a position. */
  headRev = 0;
  awaitedRev = NEVER;
  readonly clients: HerdClient[];
  private faults: string[] = [];
  private subscribed = 0;
  private reached = 0;
  private onProgress: () => void = () => undefined;

  constructor(readonly options: HerdOptions) {
    const { room, clients, firstClient, deflate } = options;
    const known = new KnownMessages(room);
    this.clients = Array.from({ length: clients }, (_, index) => {
      const id = subscriptionId(firstClient + index, 0);
      const idBytes = Buffer.from(id);
      const layout = layoutOf(options, id);
      return new HerdClient(this, index, id, (lastRev) =>
        deflate ? new MessageWalker(known, idBytes, lastRev) : new RevisionWalker(layout, lastRev),
      );
    });
  }

  /** Connects all clients, the first group first, each group after its position; resolves when all are subscribed. */
  async connect(positions: readonly (Position | undefined)[], timeoutMs: number): Promise<void> {
    const { port, room } = this.options;
    this.subscribed = 0;
    // Groups are mixed, so that no position has an advantage.
    for (const [index, client] of this.clients.entries()) {
      client.connect(port, room, positions[index % positions.length]);
      if ((index + 1) % CONNECTS === 0) Atomics.wait(never, 0, 0, REST_MS);
    }
    await this.progress(() => this.subscribed === this.clients.length, timeoutMs);
  }

  /** Resolves when all connected clients have every revision up to `rev`. */
  async reach(rev: number, clients: readonly HerdClient[], timeoutMs: number): Promise<void> {
    this.await(rev, clients);
    await this.progress(() => this.reached === clients.length, timeoutMs);
  }

  /** From now on it is noted when clients have `rev`. */
  await(rev: number, clients: readonly HerdClient[]): void {
    this.awaitedRev = rev;
    this.reached = 0;
    const now = monotonicMs();
    for (const client of clients) {
      client.reachedAtMs = client.order.lastRev >= rev ? now : NEVER;
      if (client.reachedAtMs !== NEVER) this.reached += 1;
    }
  }

  /** Client `index` of `groups` groups is in group index % groups. */
  group(group: number, groups: number): HerdClient[] {
    return this.clients.filter((_, index) => index % groups === group);
  }

  onSubscribed(): void {
    this.subscribed += 1;
    this.onProgress();
  }

  onReached(): void {
    this.reached += 1;
    this.onProgress();
  }

  complain(fault: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(fault);
    this.onProgress();
  }

  takeFaults(): string[] {
    const { faults } = this;
    this.faults = [];
    return faults;
  }

  /** Until it is done, something is wrong, or time is over: what is missing then shows in the clients. */
  private progress(isDone: () => boolean, timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.onProgress = () => undefined;
        resolve();
      };
      const timer = setTimeout(end, timeoutMs);
      this.onProgress = () => {
        if (isDone() || this.faults.length > 0) end();
      };
      this.onProgress();
    });
  }
}
