/**
 * A client of an event stream over Node's HTTP, that reads it by the letter of the HTML standard and keeps everything:
 * events, comments, retry times, and how the stream ended. But it takes an id as soon as it has its line, as libraries do
 * that are older than the standard. It does not come back by itself.
 */
import { get, type ClientRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { Data } from './plain-client.js';
import { waitFor } from './wait-for.js';

export interface StreamEvent {
  readonly type: string;
  readonly data: string;
  readonly lastEventId: string;
}

/** What an event stream says, piece by piece. */
export class EventReader {
  readonly events: StreamEvent[] = [];
  readonly retries: number[] = [];
  comments = 0;
  private readonly parsed: { readonly type: string; readonly data: Data | Data[] }[] = [];
  private text = '';
  private type = '';
  private data: string[] = [];

  constructor(public lastEventId: string) {}

  /** What events of a type say. */
  told(type: string): Data[] {
    return this.parsed.filter((event) => event.type === type).map(({ data }) => data as Data);
  }

  /** Revisions of a room, in the order they came, batches taken apart. */
  revisions(room: string): Data[] {
    return this.told('message')
      .flat()
      .filter((data) => data.room === room);
  }

  revs(room: string): number[] {
    return this.revisions(room).map(({ rev }) => rev ?? 0);
  }

  async upTo(room: string, rev: number): Promise<number[]> {
    await waitFor(() => this.revisions(room).at(-1)?.rev === rev, { timeoutMs: 30_000, what: `${room} up to ${rev}` });
    return this.revs(room);
  }

  /** Waits until so many events of the type came. */
  async toldOf(type: string, count = 1): Promise<Data[]> {
    await waitFor(() => this.told(type).length >= count, { what: `${count} events ${type}` });
    return this.told(type);
  }

  read(chunk: string): void {
    this.text += chunk;
    const lines = this.text.split(/\r\n|\n|\r/u);
    this.text = lines.pop() ?? '';
    for (const line of lines) this.readLine(line);
  }

  private readLine(line: string): void {
    if (line === '') {
      if (this.data.length > 0) {
        const type = this.type === '' ? 'message' : this.type;
        const data = this.data.join('\n');
        this.events.push({ type, data, lastEventId: this.lastEventId });
        this.parsed.push({ type, data: JSON.parse(data) as Data | Data[] });
      }
      this.type = '';
      this.data = [];
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /u, '');
    if (field === '') this.comments += 1;
    else if (field === 'data') this.data.push(value);
    else if (field === 'event') this.type = value;
    else if (field === 'id') this.lastEventId = value;
    else if (field === 'retry') this.retries.push(Number(value));
    else throw new Error(`no field of the standard: ${line.slice(0, 200)}`);
  }
}

export class SseClient extends EventReader {
  /** undefined: it goes on. */
  ended: 'whole' | 'cut' | undefined;

  private constructor(
    private readonly request: ClientRequest,
    readonly response: IncomingMessage,
    lastEventId: string,
  ) {
    super(lastEventId);
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      this.read(chunk);
    });
    response.on('close', () => {
      this.ended = response.complete ? 'whole' : 'cut';
    });
    // What an error leads to is a close, which is what tests look at.
    response.on('error', () => undefined);
    request.on('error', () => undefined);
  }

  static async open(url: string, lastEventId = ''): Promise<SseClient> {
    const headers = lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId };
    const request = get(url, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return new SseClient(request, response, lastEventId);
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  pause(): void {
    this.response.pause();
  }

  resume(): void {
    this.response.resume();
  }

  async untilEnded(timeoutMs = 10_000): Promise<'whole' | 'cut'> {
    await waitFor(() => this.ended !== undefined, { timeoutMs, what: 'the end of the stream' });
    return this.ended ?? 'cut';
  }

  destroy(): void {
    this.request.destroy();
  }
}
