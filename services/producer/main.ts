/** The producer: HTTP in front of an appender in front of the log. Sources share the appender. */
import type { Clock } from '../shared/clock.js';
import type { Running } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import type { Log } from '../log/log.js';
import { PROBE_ROOM, Readiness } from '../log/readiness.js';
import { Appender, type AppenderLimits } from './appender.js';
import { createProducerHttp } from './http.js';
import type { ProducerSettings } from './settings.js';

export interface ProducerParts {
  readonly settings: ProducerSettings;
  /** The caller's to open and to close, after the producer has stopped. */
  readonly log: Pick<Log, 'append' | 'putSnapshot' | 'heads' | 'status'>;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface RunningProducer extends Running {
  /** Where it listens, without a path. */
  readonly url: string;
  readonly appender: Appender;
}

/** Starts to listen; the log need not be ready. Throws when the address cannot be listened on. */
export async function startProducer({ settings, log, logger, clock }: ProducerParts): Promise<RunningProducer> {
  const limits: AppenderLimits = {
    maxRevisions: settings.producerMaxRevisions,
    maxDataBytes: settings.producerMaxDataBytes,
    maxSnapshotBytes: settings.producerMaxSnapshotBytes,
    maxInFlight: settings.producerMaxInflight,
    maxInFlightBytes: settings.producerMaxInflightBytes,
  };
  const appender = new Appender({ log, logger, clock, limits });
  const ask = () => log.heads([PROBE_ROOM]);
  const readiness = new Readiness({ status: () => log.status(), ask, clock });
  const http = createProducerHttp({ settings, limits, appender, ready: () => readiness.check(), logger });
  const url = await http.listen();
  logger.info({ url }, 'the producer listens');

  // Requests first, so that what has arrived is still appended; then sources' appends, in what is left of the time.
  const stopAll = async () => {
    const deadline = clock.monotonic() + settings.producerDrainMs;
    await http.stop();
    await appender.stop(Math.max(0, deadline - clock.monotonic()));
    logger.info('the producer has stopped');
  };
  let stopping: Promise<void> | undefined;
  return { url, appender, stop: () => (stopping ??= stopAll()) };
}
