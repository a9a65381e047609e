/**
 * The edge as it is started in production, on a log in memory in the same process: what appending costs is counted
 * too. One room for clients that take one revision a message, one for those that take several.
 */
import { answerParent } from '../load/child.js';
import { payload } from '../load/payload.js';
import { startEdge, type Edge } from '../../../services/edge/main.js';
import { edgeSettings, type EdgeSettings } from '../../../services/edge/settings.js';
import { MemoryLog } from '../../../services/log/memory-log.js';
import { RevisionService } from '../../../services/revision/service.js';
import { revisionSettings } from '../../../services/revision/settings.js';
import { systemClock } from '../../../services/shared/clock.js';
import { silentLogger } from '../../../services/shared/logger.js';
import { readSettings } from '../../../services/shared/settings.js';
import { BATCH_ROOM, SINGLE_ROOM } from './rooms.js';
import { usage, type Broadcast, type ServerOptions } from './server.js';

const clock = systemClock;
const log = new MemoryLog({ clock });
const reader = new RevisionService({ log, clock, settings: readSettings(revisionSettings, {}, {}) });
let edge: Edge | undefined;

const api = {
  async start({ deflate, settings = {} }: ServerOptions & { settings?: Partial<EdgeSettings> }) {
    edge = await startEdge({
      settings: {
        ...readSettings(edgeSettings, {}, {}),
        port: 0,
        deflate: deflate ? 'once' : 'off',
        // The load clients only read: nobody pings them, nobody answers.
        pingAfterMs: 600_000,
        deadAfterMs: 900_000,
        ...settings,
      },
      live: log,
      reader,
      logger: silentLogger,
      clock,
    });
    return { port: Number(new URL(edge.url).port) };
  },

  async publish({ bytes, count, batch }: Broadcast) {
    const room = batch ? BATCH_ROOM : SINGLE_ROOM;
    const data = Array.from({ length: count }, () => payload(bytes));
    const before = usage();
    // Each is an entry of its own, all of one turn, as entries come from the network.
    for (const each of data) await log.append(room, { revisions: [{ data: each }] });
    return before;
  },

  usage,
};

export type EdgeApi = typeof api;

answerParent<EdgeApi>(api);
