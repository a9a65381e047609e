/** A server under test in its process, with its load clients in theirs. */
import { Child } from './child.js';
import type { ClientApi } from './client.js';
import type { EdgeRoom, ServerKind } from './dialogues.js';
import { BATCH_ROOM, SINGLE_ROOM } from '../servers/rooms.js';
import type { Broadcast, ServerApi } from '../servers/server.js';

const SERVER_FILES: Readonly<Record<ServerKind, string>> = {
  edge: '../servers/edge.ts',
  uws: '../servers/uws.ts',
  ws: '../servers/ws.ts',
  'socket.io': '../servers/socket-io.ts',
};
const SINGLE: EdgeRoom = { room: SINGLE_ROOM, batch: false };
const BATCH: EdgeRoom = { room: BATCH_ROOM, batch: true };
const READ_EVERY_MS = 25;
const CHECKED_SOCKETS = 4;

export interface StationOptions {
  readonly server: ServerKind;
  readonly deflate: boolean;
  /** Whether the clients take several revisions in a message; of the edge. */
  readonly batch: boolean;
  readonly sockets: number;
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface Cost {
  /** CPU time of the server's process, in microseconds. */
  readonly cpuUs: number;
  /** From the publication until the last client had read the last message. */
  readonly lastByteMs: number;
  /** Bytes of frames that came, at all clients. */
  readonly wireBytes: number;
}

/** What tells stations apart. */
export function stationName({ server, deflate, batch }: Pick<StationOptions, 'server' | 'deflate' | 'batch'>): string {
  return `${server}${deflate ? ' deflated' : ''}${batch ? ' batched' : ''}`;
}

export class Station {
  private constructor(
    private readonly server: Child<ServerApi>,
    private readonly client: Child<ClientApi>,
    private readonly group: string,
    private readonly options: StationOptions,
  ) {}

  /** Starts the server and connects its clients, in the process `client`. */
  static async start(client: Child<ClientApi>, options: StationOptions): Promise<Station> {
    const { server: kind, deflate, batch, sockets, settings } = options;
    const group = stationName(options);
    const server = Child.start<ServerApi>(new URL(SERVER_FILES[kind], import.meta.url));
    const { port } = await server.call('start', { deflate, ...(settings === undefined ? {} : { settings }) });
    await client.call('connect', {
      group,
      server: kind,
      port,
      sockets,
      deflate,
      firstSocket: 0,
      rooms: kind === 'edge' ? [batch ? BATCH : SINGLE] : [],
      checked: CHECKED_SOCKETS,
      timed: false,
    });
    return new Station(server, client, group, options);
  }

  /** One broadcast to all clients. Throws if anything but what was expected came. */
  async broadcast(bytes: number, count: number, timeoutMs: number): Promise<Cost> {
    const { client, server, group } = this;
    const { batch, sockets } = this.options;
    const broadcast: Broadcast = { bytes, count, batch };
    const messages = batch ? 1 : count;
    await client.call('arm', { group, messages, readEveryMs: READ_EVERY_MS });
    const before = await server.call('publish', broadcast, timeoutMs);
    const {
      completeAtMs,
      faults,
      bytes: wireBytes,
    } = await client.call('received', { group, timeoutMs }, timeoutMs * 2);
    const after = await server.call('usage', undefined);
    if (completeAtMs === null || faults.length > 0) {
      throw new Error(`${group}, ${sockets} sockets: ${faults.join('; ')}`);
    }
    return { cpuUs: after.cpuUs - before.cpuUs, lastByteMs: completeAtMs - before.atMs, wireBytes };
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}
