/**
 * One client of a fleet: subscribes to rooms over the plain protocol, tells the checker everything it is given, and
 * when its connection ends connects again, to any of the edges, with the positions it has. It takes the text of each
 * revision's data from the message without parsing and writing it again, so that bytes are compared.
 *
 *   connecting ──open──▶ connected ──lost, or dropped──▶ waiting ──▶ connecting     any ──▶ away, stopped
 */
import { WebSocket } from 'ws';
import type { Random } from '../support/random.js';
import type { Checker } from './checker.js';
import { elementTexts, revisionOf } from './log-copy.js';

const RECONNECT_MIN_MS = 50;
const RECONNECT_SPREAD_MS = 250;
const HANDSHAKE_MS = 5_000;
const PLAIN_PATH = '/v1/ws';

export interface FleetClientOptions {
  readonly name: string;
  /** Base addresses (http://…) of the edges, asked for at each connect: an edge may come back elsewhere. */
  readonly edges: () => readonly [string, ...string[]];
  readonly rooms: readonly string[];
  readonly checker: Checker;
  readonly random: Random;
  /** Whether several revisions may come in one message. */
  readonly batch?: boolean;
  /** Whether it offers compression; absent: by chance, at each connect. */
  readonly deflate?: boolean;
  /** Where it begins in each room, if it says so. */
  readonly since?: (room: string) => unknown;
  /** Told that a room's history ended, it begins that room anew, at revision 1. Absent: it stays out of the room. */
  readonly beginsAnew?: boolean;
  /** Told of each end of a connection. */
  readonly onClosed?: (code: number) => void;
  /** At least so long after a lost connection; absent: 50 ms and more. */
  readonly reconnectMs?: number;
}

interface RoomPosition {
  epoch: string;
  rev: number;
  tag: string;
}

/** What ended a subscription, with where the room stands now. */
interface Refusal {
  readonly room: string;
  readonly code: string;
}

/** Codes after which the subscription is simply asked for again. */
const RETRY_CODES: ReadonlySet<string> = new Set(['log_unavailable', 'overloaded', 'shutting_down']);
const HISTORY_CODES: ReadonlySet<string> = new Set(['epoch_changed', 'history_truncated']);

export class FleetClient {
  /** Answers that ended a subscription, with their room. */
  readonly refusals: Refusal[] = [];
  /** Codes after which it asked for a subscription again. */
  readonly retries: string[] = [];
  reconnects = 0;
  private socket: WebSocket | undefined;
  private readonly positions = new Map<string, RoomPosition>();
  /** Rooms that have answered on this connection. */
  private readonly answered = new Set<string>();
  private state: 'here' | 'away' | 'stopped' = 'here';
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(private readonly options: FleetClientOptions) {}

  get name(): string {
    return this.options.name;
  }

  get rooms(): readonly string[] {
    return this.options.rooms;
  }

  get connected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Whether every room was joined at least once. */
  get joined(): boolean {
    return this.options.rooms.every((room) => this.positions.has(room));
  }

  positionIn(room: string): Readonly<RoomPosition> | undefined {
    return this.positions.get(room);
  }

  /** Whether it stands at the head of each of its rooms. */
  isAt(heads: ReadonlyMap<string, number>): boolean {
    return this.options.rooms.every((room) => this.positions.get(room)?.rev === heads.get(room));
  }

  start(): void {
    const edge = this.options.random.pick(this.options.edges());
    const socket = new WebSocket(edge.replace('http', 'ws') + PLAIN_PATH, {
      perMessageDeflate: this.options.deflate ?? this.options.random.chance(0.5),
      handshakeTimeout: HANDSHAKE_MS,
    });
    this.socket = socket;
    this.answered.clear();
    socket.on('open', () => {
      for (const room of this.options.rooms) this.subscribe(room);
    });
    socket.on('message', (message: Buffer) => {
      if (this.socket === socket) this.onMessage(message.toString());
    });
    // 'close' follows every error.
    socket.on('error', () => undefined);
    socket.on('close', (code) => {
      this.options.onClosed?.(code);
      if (this.socket === socket) this.onClose();
    });
  }

  /** Ends the connection as a lost network does; it comes back by itself. */
  drop(): void {
    this.socket?.terminate();
  }

  /** Leaves, until `comeBack`. */
  goAway(): void {
    this.state = 'away';
    this.cancelTimers();
    this.socket?.terminate();
  }

  comeBack(): void {
    this.state = 'here';
    this.start();
  }

  /** Reads nothing, until `wake`; the connection stays. */
  sleep(): void {
    this.socket?.pause();
  }

  wake(): void {
    this.socket?.resume();
  }

  stop(): void {
    this.state = 'stopped';
    this.cancelTimers();
    this.socket?.terminate();
  }

  private subscribe(room: string): void {
    const { since, batch } = this.options;
    const from: unknown = this.positions.get(room) ?? since?.(room);
    const params = { room, ...(from === undefined ? {} : { since: from }), ...(batch === true ? { batch } : {}) };
    this.socket?.send(JSON.stringify({ id: room, method: 'subscribe', params }));
  }

  private onMessage(text: string): void {
    const { id, data } = JSON.parse(text) as { id: string; data: Record<string, unknown> };
    const { checker, name } = this.options;
    if (Array.isArray(data)) {
      for (const element of elementTexts(text.slice(text.indexOf('['), -1))) this.onRevision(id, element);
    } else if ('error' in data) {
      this.onRefusal(id, (data['error'] as { code: string }).code);
    } else if ('subscribed' in data) {
      const { epoch, rev, tag = '' } = data as unknown as { epoch: string; rev: number; tag?: string };
      checker.began(name, id, epoch, rev);
      this.positions.set(id, { epoch, rev, tag });
      this.answered.add(id);
      if (this.answered.size === this.options.rooms.length) checker.returned(name);
    } else {
      this.onRevision(id, text.slice(text.indexOf(',"data":') + ',"data":'.length, -1));
    }
  }

  private onRevision(room: string, text: string): void {
    const { epoch, ...seen } = revisionOf(text);
    this.options.checker.saw(this.name, room, seen, epoch);
    const position = this.positions.get(room);
    if (position === undefined) return;
    position.epoch = epoch ?? position.epoch;
    position.rev = seen.rev;
    position.tag = seen.tag;
  }

  private onRefusal(room: string, code: string): void {
    const socket = this.socket;
    if (RETRY_CODES.has(code)) {
      this.retries.push(code);
      this.later(() => {
        if (this.socket === socket) this.subscribe(room);
      });
      return;
    }
    this.refusals.push({ room, code });
    if (this.options.beginsAnew !== true || !HISTORY_CODES.has(code)) return;
    this.options.checker.broke(this.name, room);
    this.positions.set(room, { epoch: '', rev: 0, tag: '' });
    this.subscribe(room);
  }

  private onClose(): void {
    this.socket = undefined;
    if (this.state === 'stopped') return;
    this.options.checker.left(this.name);
    if (this.state === 'away') return;
    this.reconnects += 1;
    this.later(() => {
      this.start();
    });
  }

  private later(action: () => void): void {
    const { reconnectMs, random } = this.options;
    const wait = reconnectMs ?? RECONNECT_MIN_MS + random.next() * RECONNECT_SPREAD_MS;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      if (this.state === 'here') action();
    }, wait);
    this.timers.add(timer);
  }

  private cancelTimers(): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
  }
}
