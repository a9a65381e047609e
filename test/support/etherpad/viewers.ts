/**
 * Viewers of a pad on an edge: etherpad-cli-client as it is, which throws on a gap, and a bare WebSocket that speaks
 * Engine.IO's packets itself. Published to a room, a pad's history is what an Etherpad source would have made of it.
 */
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { io, type Socket } from 'socket.io-client';
import { WebSocket, type ClientOptions } from 'ws';
import type { Append, Log, NewRevision } from '../../../services/log/log.js';
import { padRevisionData, padSnapshotData } from '../../../services/shared/pad-data.js';
import { waitFor } from '../wait-for.js';
import { PadText, type AttributedText, type PoolJson } from './changeset.js';
import type { PadHistory } from './pad-history.js';

interface PadState {
  atext: AttributedText;
  apool: { toJsonable(): PoolJson };
  baseRev: number;
}

type PadClient = EventEmitter & { close?: () => void; append?: (text: string) => void };
const require = createRequire(import.meta.url);
const { connect } = require('etherpad-cli-client') as { connect: (url: string) => PadClient };

/** What Etherpad's `message` events carry, as far as tests look at it. */
export interface PadMessage {
  readonly type?: string;
  readonly disconnect?: string;
  readonly accessStatus?: string;
  readonly data?: {
    readonly type?: string;
    readonly newRev?: number;
    readonly headRev?: number;
    readonly noChanges?: boolean;
    readonly timeDelta?: number;
    readonly currentTime?: number;
    readonly author?: string;
    readonly changeset?: string;
    readonly apool?: PoolJson;
    readonly collab_client_vars?: {
      readonly rev: number;
      readonly initialAttributedText: AttributedText;
      apool: PoolJson;
    };
    readonly [name: string]: unknown;
  };
}

/** etherpad-cli-client. */
export class PadViewer {
  readonly messages: PadMessage[] = [];
  readonly disconnects: unknown[] = [];
  private readonly client: PadClient;
  private state: PadState | undefined;

  constructor(url: string, pad = 'notes') {
    this.client = connect(`${url}/p/${pad}`);
    this.client.on('message', (message: PadMessage) => this.messages.push(message));
    this.client.on('connected', (state: PadState) => (this.state = state));
    this.client.on('disconnect', (reason: unknown) => this.disconnects.push(reason));
  }

  get rev(): number {
    return this.state?.baseRev ?? -1;
  }

  /** As the pad's history has it at the same revision. */
  get content(): PadText['content'] {
    if (this.state === undefined) throw new Error('not connected');
    return PadText.of(this.state.atext, this.state.apool.toJsonable()).content;
  }

  /** Types, as an author would. */
  append(text: string): void {
    this.client.append?.(text);
  }

  async upTo(rev: number, timeoutMs = 20_000): Promise<void> {
    await waitFor(() => this.rev >= rev, { timeoutMs, what: `the viewer is at ${rev}, it is at ${this.rev}` });
  }

  close(): void {
    this.client.close?.();
  }
}

/**
 * socket.io-client as Etherpad's page uses it: straight to the WebSocket, and after a lost connection CLIENT_READY with
 * `reconnect` and where it stands. Told to load the pad again, it does so by a new connection. It throws nothing: what does
 * not follow goes to `faults`.
 */
export class PadPage {
  readonly faults: string[] = [];
  /** How often it was given the whole pad, revisions as missed ones, and word that it missed none. */
  readonly told = { whole: 0, missed: 0, nothingMissed: 0, reloads: 0 };
  private readonly socket: Socket;
  private text: PadText | undefined;
  private ownRev = -1;

  constructor(url: string, pad = 'notes') {
    this.socket = io(url, {
      query: { padId: pad },
      transports: ['websocket'],
      forceNew: true,
      reconnectionDelay: 100,
      reconnectionDelayMax: 1_000,
    });
    this.socket.on('connect', () => {
      const resumes = this.text === undefined ? {} : { reconnect: true, client_rev: this.ownRev };
      const ready = { component: 'pad', type: 'CLIENT_READY', padId: pad, token: 't.abcd', protocolVersion: 2 };
      this.socket.emit('message', { ...ready, ...resumes });
    });
    this.socket.on('message', (message: PadMessage) => {
      this.hear(message);
    });
  }

  get rev(): number {
    return this.ownRev;
  }

  /** As a browser that sleeps; it keeps its text. */
  leave(): void {
    this.socket.disconnect();
  }

  comeBack(): void {
    this.socket.connect();
  }

  get content(): PadText['content'] | undefined {
    return this.text?.content;
  }

  close(): void {
    this.socket.close();
  }

  private hear({ type, disconnect, data }: PadMessage): void {
    const vars = data?.collab_client_vars;
    if (disconnect !== undefined) {
      this.told.reloads += 1;
      this.text = undefined;
    } else if (type === 'CLIENT_VARS' && vars !== undefined) {
      this.told.whole += 1;
      this.ownRev = vars.rev;
      this.text = PadText.of(vars.initialAttributedText, vars.apool);
    } else if (data?.noChanges === true) {
      this.told.nothingMissed += 1;
      if (data.newRev !== this.ownRev) this.faults.push(`nothing missed at ${data.newRev}, it is at ${this.ownRev}`);
    } else if (data?.type === 'CLIENT_RECONNECT' || data?.type === 'NEW_CHANGES') {
      if (data.type === 'CLIENT_RECONNECT') this.told.missed += 1;
      this.apply(data);
    }
  }

  private apply({ newRev, changeset, apool, timeDelta }: NonNullable<PadMessage['data']>): void {
    if (newRev !== this.ownRev + 1 || this.text === undefined) {
      this.faults.push(`revision ${newRev} at ${this.ownRev}`);
      return;
    }
    if (typeof timeDelta !== 'number') this.faults.push(`revision ${newRev} without a timeDelta`);
    this.text.apply({ changeset: changeset ?? '', apool: apool ?? { numToAttrib: {}, nextNum: 0 } });
    this.ownRev = newRev;
  }
}

/** A WebSocket, and every packet that came. */
export class RawViewer {
  readonly packets: string[] = [];
  closed: { code: number; reason: string } | undefined;
  /** Answers pings, unless told not to. */
  pongs = true;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data) => {
      const packet = (data as Buffer).toString();
      this.packets.push(packet);
      if (packet === '2' && this.pongs) socket.send('3');
    });
    socket.on('close', (code, reason) => (this.closed = { code, reason: reason.toString() }));
    socket.on('error', () => undefined);
  }

  /** Connected as far as the Socket.IO CONNECT, with what it carries. */
  static async connect(port: number, auth = '', options: ClientOptions = {}): Promise<RawViewer> {
    const viewer = await RawViewer.open(port, options);
    viewer.send(`40${auth}`);
    await viewer.next((packet) => packet.startsWith('40'));
    return viewer;
  }

  static async open(port: number, options: ClientOptions = {}): Promise<RawViewer> {
    const url = `ws://127.0.0.1:${port}/socket.io/?EIO=4&transport=websocket`;
    const viewer = new RawViewer(new WebSocket(url, { perMessageDeflate: false, ...options }));
    await viewer.next((packet) => packet.startsWith('0'));
    return viewer;
  }

  /** What the events carried. */
  get messages(): PadMessage[] {
    return this.events.map(([, message]) => message);
  }

  get events(): [string, PadMessage, string?][] {
    return this.packets
      .filter((packet) => packet.startsWith('42'))
      .map((packet) => JSON.parse(packet.slice(2)) as [string, PadMessage, string?]);
  }

  send(packet: string): void {
    this.socket.send(packet);
  }

  say(message: unknown, ack = ''): void {
    this.send(`42${ack}${JSON.stringify(['message', message])}`);
  }

  ready(more: object = {}, pad = 'notes'): void {
    this.say({ component: 'pad', type: 'CLIENT_READY', padId: pad, token: 't.abcd', protocolVersion: 2, ...more });
  }

  async next(matches: (packet: string) => boolean): Promise<void> {
    await waitFor(() => this.packets.some(matches) || this.closed !== undefined, { what: 'a packet' });
  }

  async told(count: number): Promise<PadMessage[]> {
    await waitFor(() => this.messages.length >= count, {
      what: `${count} messages, there are ${this.messages.length}`,
    });
    return this.messages;
  }

  async untilClosed(): Promise<{ code: number; reason: string }> {
    await waitFor(() => this.closed !== undefined, { what: 'the connection ends' });
    return this.closed ?? { code: 0, reason: '' };
  }

  destroy(): void {
    this.socket.terminate();
  }
}

/** Types and revisions of what was told. */
export function shortly(messages: readonly PadMessage[]): string[] {
  return messages.map(({ type, data, disconnect, accessStatus }) => {
    if (disconnect !== undefined) return `disconnect ${disconnect}`;
    if (accessStatus !== undefined) return `access ${accessStatus}`;
    if (type === 'CLIENT_VARS') return `CLIENT_VARS ${data?.collab_client_vars?.rev}`;
    const head = data?.headRev === undefined ? '' : ` of ${data.headRev}`;
    return `${data?.type} ${data?.noChanges === true ? 'none ' : ''}${data?.newRev}${head}`;
  });
}

/** Publishes the pad's revisions up to its head; where the room is empty, as a snapshot what it begins with. */
export class PadRoom {
  constructor(
    private readonly log: Pick<Log, 'append' | 'putSnapshot'>,
    readonly pad: PadHistory,
    readonly room = 'pad:notes',
    private rev = 0,
  ) {}

  /** The room begins with the pad as it is. */
  async begin(): Promise<void> {
    const { initialAttributedText, apool, rev } = this.pad.initialAttributedText();
    this.rev = rev;
    await this.log.putSnapshot(this.room, {
      rev,
      data: padSnapshotData({ initialAttributedText, apool: copy(apool) }),
    });
  }

  /** Renews the room's snapshot. */
  async snapshot(): Promise<void> {
    await this.begin();
  }

  /** All that is new, in one entry, or in entries of so many. */
  async publish(perEntry = Number.POSITIVE_INFINITY): Promise<void> {
    while (this.rev < this.pad.head) {
      const revisions: NewRevision[] = [];
      const expectedRev = this.rev;
      while (this.rev < this.pad.head && revisions.length < perEntry) {
        this.rev += 1;
        const { changeset, apool, author, currentTime } = this.pad.revision(this.rev);
        revisions.push({ author, data: padRevisionData({ changeset, apool: copy(apool), author, currentTime }) });
      }
      await this.log.append(this.room, { revisions, expectedRev } satisfies Append);
    }
  }
}

function copy({ numToAttrib, nextNum }: PoolJson): { numToAttrib: Record<string, [string, string]>; nextNum: number } {
  const pairs = Object.entries(numToAttrib).map(([num, [name, value]]) => [num, [name, value]] as const);
  return { numToAttrib: Object.fromEntries(pairs) as Record<string, [string, string]>, nextNum };
}
