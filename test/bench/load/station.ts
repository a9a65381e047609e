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
const EDGE_ROOMS: readonly EdgeRoom[] = [
  { room: SINGLE_ROOM, batch: false },
  { room: BATCH_ROOM, batch: true },
];
const READ_EVERY_MS = 25;
const CHECKED_SOCKETS = 4;

export interface StationOptions {
  readonly server: ServerKind;
  readonly deflate: boolean;
  readonly sockets: number;
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface Cost {
  /** CPU time of the server's process, in microseconds. */
  readonly cpuUs: number;
  /** From the publication until the last client had read the last message. */
  readonly lastByteMs: number;
  /** Bytes of frames that came, at all clients. */
  readonly bytes: number;
}

export class Station {
  private constructor(
    private readonly server: Child<ServerApi>,
    private readonly client: Child<ClientApi>,
    private readonly group: string,
    private readonly sockets: number,
  ) {}

  /** Starts the server and connects its clients, in the process `client`. */
  static async start(client: Child<ClientApi>, options: StationOptions): Promise<Station> {
    const { server: kind, deflate, sockets, settings } = options;
    const group = `${kind} ${deflate}`;
    const server = Child.start<ServerApi>(new URL(SERVER_FILES[kind], import.meta.url));
    const { port } = await server.call('start', { deflate, ...(settings === undefined ? {} : { settings }) });
    await client.call('connect', {
      group,
      server: kind,
      port,
      sockets,
      deflate,
      firstSocket: 0,
      rooms: kind === 'edge' ? EDGE_ROOMS : [],
      checked: CHECKED_SOCKETS,
      timed: false,
    });
    return new Station(server, client, group, sockets);
  }

  /** One broadcast to all clients. Throws if anything but what was expected came. */
  async broadcast(broadcast: Broadcast, timeoutMs: number): Promise<Cost> {
    const { client, server, group } = this;
    const messages = broadcast.batch ? 1 : broadcast.count;
    await client.call('arm', { group, messages, readEveryMs: READ_EVERY_MS });
    const before = await server.call('publish', broadcast, timeoutMs);
    const { completeAtMs, bytes, faults } = await client.call('received', { group, timeoutMs }, timeoutMs * 2);
    const after = await server.call('usage', undefined);
    if (completeAtMs === null || faults.length > 0) {
      throw new Error(`${group}, ${this.sockets} sockets: ${faults.join('; ')}`);
    }
    return { cpuUs: after.cpuUs - before.cpuUs, lastByteMs: completeAtMs - before.atMs, bytes };
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}
