/**
 * The producer: HTTP, and publications of edges' clients over NATS where there is a link, in front of an appender in
 * front of the log. Sources share the appender.
 */
import type { Clock } from '../shared/clock.js';
import type { Running } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import type { Metrics } from '../shared/metrics.js';
import type { NatsLink } from '../log/jetstream/nats-link.js';
import type { Log } from '../log/log.js';
import { PROBE_ROOM, Readiness } from '../log/readiness.js';
import { Appender, type AppenderLimits } from './appender.js';
import type { Publisher } from './contract.js';
import { createProducerHttp } from './http.js';
import { addProducerMetrics } from './metrics.js';
import { Publications } from './publications.js';
import { ProducerRpcServer } from './rpc-server.js';
import type { ProducerSettings } from './settings.js';

export interface ProducerParts {
  readonly settings: ProducerSettings;
  /** The caller's to open and to close, after the producer has stopped. */
  readonly log: Pick<Log, 'append' | 'putSnapshot' | 'heads' | 'status'>;
  /** The caller's too. Without one nothing is published over NATS. */
  readonly link?: NatsLink | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Is told what the producer measures. */
  readonly metrics?: Metrics | undefined;
}

export interface RunningProducer extends Running {
  /** Where it listens, without a path. */
  readonly url: string;
  readonly appender: Appender;
  /** For an edge in the same process. */
  readonly publisher: Publisher;
}

/** Starts to listen; the log need not be ready. Throws when the address cannot be listened on. */
export async function startProducer({
  settings,
  log,
  link,
  logger,
  clock,
  metrics,
}: ProducerParts): Promise<RunningProducer> {
  const limits: AppenderLimits = {
    maxRevisions: settings.producerMaxRevisions,
    maxDataBytes: settings.producerMaxDataBytes,
    maxSnapshotBytes: settings.producerMaxSnapshotBytes,
    maxInFlight: settings.producerMaxInflight,
    maxInFlightBytes: settings.producerMaxInflightBytes,
  };
  const appender = new Appender({ log, logger, clock, limits });
  if (metrics !== undefined) addProducerMetrics(metrics, appender);
  const ask = () => log.heads([PROBE_ROOM]);
  const readiness = new Readiness({ status: () => log.status(), ask, clock });
  const http = createProducerHttp({ settings, limits, appender, ready: () => readiness.check(), logger });
  const url = await http.listen();
  const publisher = new Publications(appender);
  const rpc = link === undefined ? undefined : new ProducerRpcServer({ link, publications: publisher, logger });
  logger.info({ url }, 'the producer listens');

  // Requests first, so that what has arrived is still appended; then sources' appends, in what is left of the time.
  const stopAll = async () => {
    const deadline = clock.monotonic() + settings.producerDrainMs;
    await Promise.all([http.stop(), rpc?.stop(settings.producerDrainMs)]);
    await appender.stop(Math.max(0, deadline - clock.monotonic()));
    logger.info('the producer has stopped');
  };
  let stopping: Promise<void> | undefined;
  return { url, appender, publisher, stop: () => (stopping ??= stopAll()) };
}
