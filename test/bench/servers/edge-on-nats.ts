/** The edge as it is started in production: the log's live half and the revision service are on a real nats-server. */
import { answerParent } from '../load/child.js';
import { resetPeak, resident } from '../load/peak-memory.js';
import { startEdge, type Edge } from '../../../services/edge/main.js';
import { edgeSettings, type EdgeSettings } from '../../../services/edge/settings.js';
import { openLiveLog } from '../../../services/log/open-log.js';
import { RevisionClient, revisionClientSettings } from '../../../services/revision/rpc-client.js';
import { systemClock } from '../../../services/shared/clock.js';
import { silentLogger } from '../../../services/shared/logger.js';
import { readSettings } from '../../../services/shared/settings.js';
import { testLink } from '../../support/jetstream.js';
import { usage } from './server.js';

interface EdgeOnNatsOptions {
  readonly nats: string;
  readonly name?: string;
  readonly settings?: Partial<EdgeSettings>;
}

let edge: Edge | undefined;

const api = {
  /** @param name begins the name of its connection to NATS */
  async start({ nats, name = 'bench', settings = {} }: EdgeOnNatsOptions) {
    const link = testLink(nats, { nats: { natsName: name } });
    link.start();
    const logger = silentLogger;
    const clock = systemClock;
    edge = await startEdge({
      settings: {
        ...readSettings(edgeSettings, {}, {}),
        port: 0,
        // The load clients only read: nobody pings them, nobody answers.
        pingAfterMs: 600_000,
        deadAfterMs: 900_000,
        ...settings,
      },
      live: openLiveLog({ link, logger, clock }),
      reader: new RevisionClient({ link, settings: readSettings(revisionClientSettings, {}, {}), clock }),
      logger,
      clock,
    });
    return { port: Number(new URL(edge.url).port) };
  },

  pageSize: () => ({ pageRevisions: readSettings(edgeSettings, {}, {}).pageRevisions }),
  counters: () => edge?.counters(),
  usage,
  resetPeak,
  resident,
};

export type EdgeOnNatsApi = typeof api;

answerParent<EdgeOnNatsApi>(api);
