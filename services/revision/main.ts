/** The revision service: what the log knows of rooms, over HTTP, and over NATS request/reply where there is a link. */
import type { NatsLink } from '../log/jetstream/nats-link.js';
import type { Log, LogStatus, WholeLog } from '../log/log.js';
import { PROBE_ROOM, Readiness } from '../log/readiness.js';
import type { Clock } from '../shared/clock.js';
import { StopStack, type Running } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import type { Metrics } from '../shared/metrics.js';
import type { Values } from '../shared/settings.js';
import { CachedLog } from './cached-log.js';
import type { RevisionReader } from './contract.js';
import { RevisionCounters } from './counters.js';
import { createRevisionHttp } from './http.js';
import { addRevisionMetrics } from './metrics.js';
import { RevisionRpcServer } from './rpc-server.js';
import { RevisionService } from './service.js';
import type { revisionSettings } from './settings.js';

export interface RevisionParts {
  readonly settings: Values<typeof revisionSettings>;
  /** The caller's to open and to close, after the service has stopped. */
  readonly log: Pick<Log, 'range' | 'heads' | 'snapshot' | 'status'>;
  /** The same log, to keep its end and pages of it in memory; absent where it is in this process's memory anyway. */
  readonly whole?: WholeLog | undefined;
  /** The caller's too. Without one there is no service over NATS. */
  readonly link?: NatsLink | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Is told what the service measures. */
  readonly metrics?: Metrics | undefined;
}

export interface RunningRevision extends Running {
  /** Where it listens, without a path. */
  readonly url: string;
  /** The service itself, for an edge in the same process. */
  readonly reader: RevisionReader;
  counters(): ReturnType<RevisionCounters['snapshot']>;
}

/** Starts to listen; the log need not be ready. Throws when the address cannot be listened on. */
export async function startRevision(given: RevisionParts): Promise<RunningRevision> {
  const { settings, log, whole, link, logger, clock, metrics } = given;
  const readiness = new Readiness({ status: () => statusOf(log, link), ask: () => log.heads([PROBE_ROOM]), clock });
  const counters = new RevisionCounters();
  if (metrics !== undefined) addRevisionMetrics(metrics, counters);
  const parts = new StopStack(logger, settings.revisionDrainMs + 1_000);
  const cached = whole === undefined ? undefined : new CachedLog({ log, whole, clock, counters, settings });
  if (cached !== undefined) parts.add('revision cache', () => cached.stop());
  const reader = new RevisionService({ log: cached ?? log, clock, settings });
  const http = createRevisionHttp({ settings, reader, logger, ready: () => readiness.check() });
  const url = await http.listen();
  parts.add('revision http', () => http.stop());
  if (link !== undefined) {
    const rpc = new RevisionRpcServer({ link, reader, settings, logger });
    parts.add('revision rpc', () => rpc.stop());
  }
  logger.info({ url }, 'the revision service listens');
  return { url, reader, counters: () => counters.snapshot(), stop: () => parts.stop() };
}

/** Ready: the log is, and requests over NATS can come. */
function statusOf(log: Pick<Log, 'status'>, link: NatsLink | undefined): LogStatus {
  const status = log.status();
  if (status.state !== 'ready' || link === undefined || link.up) return status;
  return { state: 'unavailable', detail: 'not connected to NATS' };
}
