/** What the commands that serve are made of: the connection to NATS, the log, addresses to listen on. */
import type { Clock } from '../shared/clock.js';
import type { Metrics } from '../shared/metrics.js';
import type { Values } from '../shared/settings.js';
import { stopLimitMs } from '../edge/connection-settings.js';
import { NatsLink } from '../log/jetstream/nats-link.js';
import type { Log, WholeLog } from '../log/log.js';
import { openLog } from '../log/open-log.js';
import type { logSettings, natsSettings } from '../log/settings.js';
import type { ListenAddress } from './listen-problem.js';
import type { ServiceScope } from './run-service.js';

/** What is left of a stop for all that is no edge. */
const STOP_REST_MS = 1_000;
/** A busy edge notices late that its time is over. */
const STOP_SLACK_MS = 1_000;

interface DrainTimes {
  readonly edgeDrainWaitMs: number;
  readonly edgeDrainMs: number;
  readonly edgeCloseTimeoutMs: number;
}

/** Why `producer`, `revision` and `edge` need --nats. */
export const NEEDS_NATS = 'services in processes of their own meet there; "revcast dev" is everything in one process';

export function producerAddress(values: { producerHost: string; producerPort: number }): ListenAddress {
  const { producerHost: host, producerPort: port } = values;
  return { service: 'producer', host, port, hostSetting: 'producerHost', portSetting: 'producerPort' };
}

export function revisionAddress(values: { revisionHost: string; revisionPort: number }): ListenAddress {
  const { revisionHost: host, revisionPort: port } = values;
  return { service: 'revision service', host, port, hostSetting: 'revisionHost', portSetting: 'revisionPort' };
}

export function edgeAddress(values: { edgeHost: string; edgePort: number }): ListenAddress {
  const { edgeHost: host, edgePort: port } = values;
  return { service: 'edge', host, port, hostSetting: 'edgeHost', portSetting: 'edgePort' };
}

/** How long the stop of an edge may take: a little longer than it allows itself. */
export function edgeStopMs(values: DrainTimes): number {
  const times = {
    drainWaitMs: values.edgeDrainWaitMs,
    drainMs: values.edgeDrainMs,
    closeTimeoutMs: values.edgeCloseTimeoutMs,
  };
  return stopLimitMs(times) + STOP_SLACK_MS;
}

/** A stop that is cut short would cut clients. */
export function drainProblems(values: DrainTimes & { stopTimeoutMs: number }): string[] {
  const limitMs = edgeStopMs(values);
  const neededMs = limitMs + STOP_REST_MS;
  if (neededMs <= values.stopTimeoutMs) return [];
  const sum = '--edge-drain-wait-ms, --edge-drain-ms and --edge-close-timeout-ms';
  return [`${sum} need a --stop-timeout-ms (STOP_TIMEOUT_MS) of at least ${neededMs} (got ${values.stopTimeoutMs})`];
}

/** A client that is cut off before it is asked whether it is there would have no chance. */
function livenessProblems(values: { edgePingAfterMs: number; edgeDeadAfterMs: number }): string[] {
  const { edgePingAfterMs: pingMs, edgeDeadAfterMs: deadMs } = values;
  if (pingMs < deadMs) return [];
  return [
    `--edge-ping-after-ms (EDGE_PING_AFTER_MS, ${pingMs}) must be below --edge-dead-after-ms (EDGE_DEAD_AFTER_MS, ${deadMs})`,
  ];
}

/** What is wrong with values of an edge that are right one by one. */
export function edgeProblems(
  values: Parameters<typeof drainProblems>[0] & Parameters<typeof livenessProblems>[0],
): string[] {
  return [...drainProblems(values), ...livenessProblems(values)];
}

/** Connects in the background, for ever. */
export function startLink(
  { logger, stack, metrics }: ServiceScope,
  parts: { settings: Values<typeof natsSettings>; name: string; clock: Clock },
): NatsLink {
  const link = new NatsLink({ ...parts, logger });
  stack.add('connection to NATS', () => link.close());
  metrics.gauge('revcast_nats_connected', 'Whether there is a connection to NATS.', () => Number(link.up));
  link.start();
  return link;
}

/** On NATS where there is a link, else in memory. */
export function startLog(
  { logger, stack, metrics }: ServiceScope,
  parts: { settings: Values<typeof logSettings>; link?: NatsLink | undefined; clock: Clock },
): Log & WholeLog {
  const log = openLog({ ...parts, logger });
  stack.add('log', () => log.close());
  addLogMetrics(metrics, log);
  return log;
}

export function addLogMetrics(metrics: Metrics, log: Pick<Log, 'status'>): void {
  metrics.gauge('revcast_log_ready', 'Whether the log is known to be there.', () =>
    Number(log.status().state === 'ready'),
  );
}
