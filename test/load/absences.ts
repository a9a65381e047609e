/**
 * How long clients were away, and behind. Away: from the end of a connection until, on another, all rooms have
 * answered. Behind: from when a revision was acknowledged to its publisher, or the client joined if that was later, until
 * the client has it.
 */
export interface Absence {
  /** The longest single time. */
  readonly awayMs: number;
  readonly behindMs: number;
}

interface Client {
  leftAt: number | undefined;
  awayMs: number;
  behindMs: number;
  /** room → when it joined */
  readonly joinedAt: Map<string, number>;
}

export class Absences {
  private readonly clients = new Map<string, Client>();
  /** room → epoch/rev → when */
  private readonly committedAt = new Map<string, Map<string, number>>();

  constructor(private readonly now: () => number) {}

  joined(name: string, room: string): void {
    const { joinedAt } = this.client(name);
    if (!joinedAt.has(room)) joinedAt.set(room, this.now());
  }

  broke(name: string, room: string): void {
    this.client(name).joinedAt.delete(room);
  }

  left(name: string): void {
    this.client(name).leftAt ??= this.now();
  }

  returned(name: string): void {
    const client = this.client(name);
    if (client.leftAt === undefined) return;
    client.awayMs = Math.max(client.awayMs, this.now() - client.leftAt);
    client.leftAt = undefined;
  }

  committed(room: string, epoch: string, rev: number): void {
    const times = this.committedAt.get(room) ?? new Map<string, number>();
    this.committedAt.set(room, times);
    times.set(`${epoch}/${rev}`, this.now());
  }

  /** What comes before its publisher is told of it is not behind. */
  saw(name: string, room: string, epoch: string, rev: number): void {
    const at = this.committedAt.get(room)?.get(`${epoch}/${rev}`);
    if (at === undefined) return;
    const client = this.client(name);
    const since = Math.max(at, client.joinedAt.get(room) ?? at);
    client.behindMs = Math.max(client.behindMs, this.now() - since);
  }

  of(name: string): Absence {
    const { awayMs, behindMs, leftAt } = this.client(name);
    return { awayMs: leftAt === undefined ? awayMs : Math.max(awayMs, this.now() - leftAt), behindMs };
  }

  longest(): Absence {
    const all = [...this.clients.keys()].map((name) => this.of(name));
    return {
      awayMs: Math.max(0, ...all.map(({ awayMs }) => awayMs)),
      behindMs: Math.max(0, ...all.map(({ behindMs }) => behindMs)),
    };
  }

  private client(name: string): Client {
    const known = this.clients.get(name);
    if (known !== undefined) return known;
    const client: Client = { leftAt: undefined, awayMs: 0, behindMs: 0, joinedAt: new Map() };
    this.clients.set(name, client);
    return client;
  }
}
