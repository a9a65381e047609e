/** Composes an edge from its parts and runs it. Everything comes from the caller; nothing here reads the environment. */
import type { Clock } from '../shared/clock.js';
import type { Running } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import type { Metrics } from '../shared/metrics.js';
import { maxOpenFiles } from '../shared/open-files.js';
import type { LiveLog } from '../log/log.js';
import { PROBE_ROOM, Readiness } from '../log/readiness.js';
import type { Publisher } from '../producer/contract.js';
import type { RevisionReader } from '../revision/contract.js';
import { socketsWithin } from './accept-limits.js';
import { compressOnceWorks } from './compress-check.js';
import { Commands } from './commands.js';
import { composeEdge } from './compose.js';
import type { CounterSnapshot } from './counters.js';
import { addEdgeMetrics } from './metrics.js';
import { Server } from './server.js';
import type { EdgeSettings } from './settings.js';

export interface EdgeOptions {
  readonly settings: EdgeSettings;
  /** Stays the caller's to close. */
  readonly live: LiveLog;
  readonly reader: RevisionReader;
  /** What clients publish goes there; absent: they may not, whatever the settings say. */
  readonly publisher?: Publisher | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Whether this build of uWebSockets.js can send a frame that was compressed once; asked at start. */
  readonly compressOnce?: () => Promise<boolean>;
  /** How many files this process may have open. */
  readonly openFiles?: number;
  /** Is told what the edge measures. */
  readonly metrics?: Metrics | undefined;
}

export interface Edge extends Running {
  /** http://host:port */
  readonly url: string;
  counters(): CounterSnapshot & { readonly sockets: number; readonly rooms: number };
}

/** Starts an edge. Throws when its port cannot be had. It listens whether or not the log can be reached. */
export async function startEdge(options: EdgeOptions): Promise<Edge> {
  const { live, reader, publisher, logger, clock, metrics } = options;
  const settings = withPossibleSockets(await withPossibleDeflate(options), options);
  const parts = composeEdge({ settings, live, reader, publisher, logger, clock });
  const { counters, rooms } = parts;
  const ask = () => reader.heads([{ room: PROBE_ROOM, position: null }]);
  const readiness = new Readiness({ status: () => live.status(), ask, clock });
  const server = new Server(parts, new Commands(parts), readiness);
  if (metrics !== undefined) addEdgeMetrics(metrics, parts, () => server.socketCount);
  let port: number;
  try {
    port = await server.listen(settings.host, settings.port, settings.sharePort);
  } catch (error) {
    rooms.close();
    throw error;
  }
  const url = `http://${settings.host}:${port}`;
  logger.info({ url }, 'edge: listening');
  return {
    url,
    counters: () => ({ ...counters.snapshot(), sockets: server.socketCount, rooms: rooms.count }),
    async stop() {
      await server.close();
      rooms.close();
    },
  };
}

/** The settings, with no more sockets than this process may open: an edge that cannot accept answers nobody. */
function withPossibleSockets(settings: EdgeSettings, { logger, openFiles = maxOpenFiles() }: EdgeOptions) {
  const most = socketsWithin(openFiles);
  if (settings.maxSockets <= most) return settings;
  logger.info({ openFiles, maxSockets: most }, 'edge: fewer sockets, because of how many files may be open');
  return { ...settings, maxSockets: most };
}

/** The settings, without compression where this build cannot compress once for all sockets. */
async function withPossibleDeflate(options: EdgeOptions): Promise<EdgeSettings> {
  const { settings, compressOnce = compressOnceWorks, logger } = options;
  if (settings.deflate !== 'once' || (await compressOnce())) return settings;
  logger.warn('edge: this build of uWebSockets.js cannot send what was compressed once; sending uncompressed');
  return { ...settings, deflate: 'off' };
}
