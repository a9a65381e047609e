/** An edge without a listener: its real parts over doubles of its three ports, on a clock that the test moves. */
import { Commands } from '../../services/edge/commands.js';
import { composeEdge } from '../../services/edge/compose.js';
import type { EdgeParts } from '../../services/edge/edge-parts.js';
import { plain } from '../../services/edge/protocols/plain.js';
import type { Protocol, Since } from '../../services/edge/protocols/protocol.js';
import { Session } from '../../services/edge/session.js';
import { edgeSettings, type EdgeSettings } from '../../services/edge/settings.js';
import { lastRev } from '../../services/log/log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { silentLogger, type Logger } from '../../services/shared/logger.js';
import { readSettings } from '../../services/shared/settings.js';
import { History, LiveDouble, ReaderDouble } from './edge-doubles.js';
import { ManualClock, settle } from './manual-clock.js';
import { SocketDouble } from './socket-double.js';

/** The edge's defaults, on any free port. */
export const defaultEdgeSettings: EdgeSettings = { ...readSettings(edgeSettings, {}, {}), port: 0 };

export interface Client {
  readonly session: Session;
  readonly socket: SocketDouble;
}

export class EdgeHarness {
  readonly clock = new ManualClock();
  readonly live = new LiveDouble();
  readonly store: MemoryStore;
  readonly reader: ReaderDouble;
  readonly parts: EdgeParts;
  readonly commands: Commands;
  private ids = 0;

  constructor(
    overrides: Partial<EdgeSettings> = {},
    { keep, logger = silentLogger }: { keep?: number; logger?: Logger } = {},
  ) {
    const settings = { ...defaultEdgeSettings, ...overrides };
    this.store = new MemoryStore(keep);
    this.reader = new ReaderDouble(this.store);
    const { clock, live, reader } = this;
    this.parts = composeEdge({ settings, live, reader, logger, clock });
    this.commands = new Commands(this.parts);
  }

  history(room = 'doc-1', epoch = 'e1'): History {
    return new History(this.store, room, epoch);
  }

  /** Adds to the history and delivers it at once. */
  async publish(history: History, count = 1, data?: (rev: number) => string): Promise<number> {
    const entry = await history.add(count, data);
    this.live.deliver(entry);
    return lastRev(entry);
  }

  connect({ deflates = false, protocol = plain }: { deflates?: boolean; protocol?: Protocol } = {}): Client {
    const socket = new SocketDouble();
    const session = new Session(socket.asSocket, { protocol, deflates }, this.parts);
    socket.onClosed = () => {
      session.onClose();
    };
    socket.onDrain = () => {
      session.onDrain();
    };
    return { session, socket };
  }

  /** Asks to subscribe; the answer may take the clock to move. The id that was used. */
  subscribe({ session }: Client, { room = 'doc-1', since = 'now', batch = false, id }: SubscribeOptions = {}): string {
    this.ids += 1;
    const used = id ?? JSON.stringify(`s${this.ids}`);
    this.commands.run(session, { kind: 'subscribe', id: used, room, since, batch });
    return used;
  }

  unsubscribe({ session }: Client, room = 'doc-1', id = '"u"'): void {
    this.commands.run(session, { kind: 'unsubscribe', id, room });
  }

  /** A client that is subscribed. */
  async subscriber(options: SubscribeOptions & { deflates?: boolean } = {}): Promise<Client> {
    const client = this.connect(options);
    this.subscribe(client, options);
    await this.clock.advance(10);
    return client;
  }

  settle = settle;
}

export interface SubscribeOptions {
  readonly room?: string;
  readonly since?: Since;
  readonly batch?: boolean;
  /** JSON text. */
  readonly id?: string;
}

/** What a client was told, message by message, in short: answers by their words, revisions by their numbers. */
export function told({ socket }: Client): string[] {
  return socket.messages.flatMap((message) => {
    const { data } = JSON.parse(message) as { data: Data | Data[] };
    return (Array.isArray(data) ? data : [data]).map(inShort);
  });
}

interface Data {
  readonly subscribed?: boolean;
  readonly rev?: number;
  readonly room?: string;
  readonly error?: { readonly code: string };
}

function inShort({ subscribed, rev, room, error }: Data): string {
  if (error !== undefined) return error.code;
  if (subscribed !== undefined) return subscribed ? `subscribed ${room} at ${rev}` : `unsubscribed ${room}`;
  return rev === undefined ? 'pong' : `${room}/${rev}`;
}

/** The revisions of a room that a client was given. */
export function revsTold(client: Client, room = 'doc-1'): number[] {
  return told(client)
    .filter((each) => each.startsWith(`${room}/`))
    .map((each) => Number(each.slice(room.length + 1)));
}
