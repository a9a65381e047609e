/** The revision service as it is started in production, on a real nats-server. Its reads of the log are counted. */
import { answerParent } from '../load/child.js';
import { resetPeak, resident } from '../load/peak-memory.js';
import { startRevision } from '../../../services/revision/main.js';
import { revisionSettings } from '../../../services/revision/settings.js';
import { systemClock } from '../../../services/shared/clock.js';
import { silentLogger } from '../../../services/shared/logger.js';
import { readSettings } from '../../../services/shared/settings.js';
import { openJetStreamLog } from '../../support/jetstream.js';
import { usage } from './server.js';

let logReads = 0;
let sent = (): number => 0;

const api = {
  async start({ nats }: { nats: string }): Promise<void> {
    const { log, link } = await openJetStreamLog(nats);
    sent = () => link.connection?.stats().outMsgs ?? 0;
    const range = log.range.bind(log);
    log.range = (...call) => {
      logReads += 1;
      return range(...call);
    };
    await startRevision({
      settings: { ...readSettings(revisionSettings, {}, {}), revisionPort: 0 },
      log,
      whole: log,
      link,
      logger: silentLogger,
      clock: systemClock,
    });
  },

  /** Ranges that were read from the log, since the start. */
  logReads: () => logReads,
  /** Messages that it sent to NATS, answers too, since the start. */
  sentToNats: () => sent(),
  usage,
  resetPeak,
  resident,
};

export type RevisionApi = typeof api;

answerParent<RevisionApi>(api);
