/** Opens the log that the settings name: JetStream where there is a link to NATS, else the one in memory. */
import type { Clock } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import type { Values } from '../shared/settings.js';
import { JetStreamLog } from './jetstream/jetstream-log.js';
import { LiveFollower } from './jetstream/live-follower.js';
import type { NatsLink } from './jetstream/nats-link.js';
import type { LiveLog, Log, WholeLog } from './log.js';
import { MemoryLog } from './memory-log.js';
import type { logSettings } from './settings.js';

const MS_PER_MINUTE = 60_000;

export interface OpenLogParts {
  readonly settings: Values<typeof logSettings>;
  /** The process's connection to NATS, which the caller starts and closes; absent: the log is in memory. */
  readonly link?: NatsLink | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** The whole log, for producers and the revision service. Usable when its status is ready. */
export function openLog({ settings, link, logger, clock }: OpenLogParts): Log & WholeLog {
  if (link !== undefined) return new JetStreamLog({ settings, link, logger, clock });
  logger.warn('the log is in memory: nothing survives this process');
  return new MemoryLog({ clock, settings: { ...settings, keyWindowMs: settings.keyWindowMinutes * MS_PER_MINUTE } });
}

/** The live half, for an edge: needs no more than to subscribe. */
export function openLiveLog(parts: { link: NatsLink; logger: Logger; clock: Clock }): LiveLog {
  return new LiveFollower({ ...parts, tellsReconnects: true });
}
