/**
 * One client of a fleet: subscribes to rooms over the plain protocol, tells the checker everything it is given, and
 * when its connection ends connects again, to any of the edges, with the positions it has. It takes the text of each
 * revision's data from the message without parsing and writing it again, so that bytes are compared.
 */
import { WebSocket } from 'ws';
import type { Random } from '../support/random.js';
import type { Checker } from './checker.js';

const RECONNECT_MIN_MS = 50;
const RECONNECT_SPREAD_MS = 250;
const PLAIN_PATH = '/v1/ws';

export interface FleetClientOptions {
  readonly name: string;
  /** Base addresses (http://…) of the edges, asked for at each connect: an edge may come back elsewhere. */
  readonly edges: () => readonly [string, ...string[]];
  readonly rooms: readonly string[];
  readonly checker: Checker;
  readonly random: Random;
}

interface RoomPosition {
  epoch: string;
  rev: number;
  tag: string;
}

/** Codes after which the subscription is simply asked for again. */
const RETRY_CODES: ReadonlySet<string> = new Set(['log_unavailable', 'overloaded', 'shutting_down']);

export class FleetClient {
  /** Answers that ended a subscription for good, with their room. */
  readonly refusals: { room: string; code: string }[] = [];
  reconnects = 0;
  private socket: WebSocket | undefined;
  private readonly positions = new Map<string, RoomPosition>();
  private stopped = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: FleetClientOptions) {}

  get connected(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Whether every room was joined at least once. */
  get joined(): boolean {
    return this.options.rooms.every((room) => this.positions.has(room));
  }

  /** Whether it stands at the head of each of its rooms. */
  isAt(heads: ReadonlyMap<string, number>): boolean {
    return this.options.rooms.every((room) => this.positions.get(room)?.rev === heads.get(room));
  }

  start(): void {
    const edge = this.options.random.pick(this.options.edges());
    const socket = new WebSocket(edge.replace('http', 'ws') + PLAIN_PATH, {
      perMessageDeflate: this.options.random.chance(0.5),
    });
    this.socket = socket;
    socket.on('open', () => {
      for (const room of this.options.rooms) this.subscribe(room);
    });
    socket.on('message', (message: Buffer) => {
      if (this.socket === socket) this.onMessage(message.toString());
    });
    // 'close' follows every error.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.socket === socket) this.onClose();
    });
  }

  /** Ends the connection as a lost network does; it comes back by itself. */
  drop(): void {
    this.socket?.terminate();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.socket?.terminate();
  }

  private subscribe(room: string): void {
    const position = this.positions.get(room);
    const params = { room, ...(position === undefined ? {} : { since: position }) };
    this.socket?.send(JSON.stringify({ id: room, method: 'subscribe', params }));
  }

  private onMessage(text: string): void {
    const { id, data } = JSON.parse(text) as { id: string; data: Record<string, unknown> };
    const { checker, name } = this.options;
    if ('error' in data) {
      this.onRefusal(id, (data['error'] as { code: string }).code);
    } else if ('subscribed' in data) {
      const { epoch, rev, tag = '' } = data as unknown as { epoch: string; rev: number; tag?: string };
      checker.began(name, id, epoch, rev);
      this.positions.set(id, { epoch, rev, tag });
    } else {
      const { rev, tag, epoch } = data as unknown as { rev: number; tag: string; epoch?: string };
      checker.saw(name, id, { rev, tag, data: dataText(text) });
      const position = this.positions.get(id);
      if (position !== undefined) {
        position.epoch = epoch ?? position.epoch;
        position.rev = rev;
        position.tag = tag;
      }
    }
  }

  private onRefusal(room: string, code: string): void {
    if (RETRY_CODES.has(code)) this.later(() => this.subscribe(room));
    else this.refusals.push({ room, code });
  }

  private onClose(): void {
    this.socket = undefined;
    if (this.stopped) return;
    this.reconnects += 1;
    this.later(() => {
      this.start();
    });
  }

  private later(action: () => void): void {
    const wait = RECONNECT_MIN_MS + this.options.random.next() * RECONNECT_SPREAD_MS;
    this.timer = setTimeout(() => {
      if (!this.stopped) action();
    }, wait);
  }
}

/** The text of `data` in `{"id":…,"data":{…,"data":TEXT}}`: everything after the last field's name, less two braces. */
function dataText(message: string): string {
  const begin = message.indexOf(',"data":', message.indexOf('"timeDelta":'));
  return message.slice(begin + ',"data":'.length, -2);
}
