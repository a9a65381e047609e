/** A client of the plain protocol over `ws`. It keeps every message as it came, and answers what a test asks of them. */
import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';
import { waitFor } from './wait-for.js';

export interface Message {
  readonly id: unknown;
  readonly data: Data | readonly Data[];
}

export interface Data {
  readonly subscribed?: boolean;
  readonly published?: boolean;
  readonly firstRev?: number;
  readonly duplicate?: boolean;
  readonly room?: string;
  readonly epoch?: string;
  readonly rev?: number;
  readonly tag?: string;
  readonly time?: number;
  readonly timeDelta?: number | null;
  readonly author?: string;
  readonly data?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly [detail: string]: unknown };
}

export class PlainClient {
  readonly texts: string[] = [];
  readonly messages: Message[] = [];
  closed: { code: number; reason: string } | undefined;
  private ids = 0;

  private constructor(readonly ws: WebSocket) {
    ws.on('message', (data: Buffer) => {
      const text = data.toString();
      this.texts.push(text);
      this.messages.push(JSON.parse(text) as Message);
    });
    ws.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() };
    });
    // What an error leads to is a close, which is what tests look at.
    ws.on('error', () => undefined);
  }

  static async connect(url: string, options: ClientOptions = {}): Promise<PlainClient> {
    const ws = new WebSocket(url, { perMessageDeflate: false, ...options });
    const client = new PlainClient(ws);
    await once(ws, 'open');
    return client;
  }

  send(message: unknown): void {
    this.ws.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Sends a request and gives the first message under its id. */
  async request(method: string, params?: unknown, id: string | number = this.newId()): Promise<Data> {
    this.send({ id, method, params });
    return this.answer(id);
  }

  subscribe(room: string, params: object = {}, id?: string | number): Promise<Data> {
    return this.request('subscribe', { room, ...params }, id);
  }

  /** The first message under the id. */
  async answer(id: unknown): Promise<Data> {
    const find = () => this.messages.find((message) => message.id === id);
    await waitFor(() => find() !== undefined || this.closed !== undefined, { what: `an answer to ${String(id)}` });
    const data = find()?.data;
    if (data === undefined) throw new Error(`closed without an answer to ${String(id)}`);
    if (Array.isArray(data)) throw new Error('a batch is no answer');
    return data as Data;
  }

  /** All revisions of a room, in the order they came. */
  revisions(room: string): Data[] {
    return this.messages
      .flatMap(({ data }) => data)
      .filter((data) => data.room === room && data.rev !== undefined)
      .filter(({ subscribed, published }) => subscribed === undefined && published === undefined);
  }

  revs(room: string): number[] {
    return this.revisions(room).map(({ rev }) => rev ?? 0);
  }

  /** Waits until the room's last revision is `rev`. */
  async upTo(room: string, rev: number, timeoutMs = 30_000): Promise<number[]> {
    await waitFor(() => this.revisions(room).at(-1)?.rev === rev, {
      timeoutMs,
      what: `revision ${rev} of ${room}; last is ${this.revisions(room).at(-1)?.rev}, closed: ${JSON.stringify(this.closed)}`,
    });
    return this.revs(room);
  }

  /** Error codes, in the order they came. */
  get codes(): string[] {
    return this.messages.flatMap(({ data }) => data).flatMap(({ error }) => (error === undefined ? [] : [error.code]));
  }

  async untilClosed(): Promise<{ code: number; reason: string }> {
    await waitFor(() => this.closed !== undefined, { what: 'the connection is closed' });
    return this.closed ?? { code: 0, reason: '' };
  }

  close(): void {
    this.ws.terminate();
  }

  private newId(): string {
    this.ids += 1;
    return `r${this.ids}`;
  }
}
