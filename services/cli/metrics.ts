/** Starts /metrics where a port was given for it. */
import { createMetricsServer, type MetricsServerParts } from '../shared/metrics-server.js';
import type { Running } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import type { Values } from '../shared/settings.js';
import { listening } from './listen-problem.js';
import type { processSettings } from './process-settings.js';

/** Throws CommandFailure where the port cannot be had. */
export async function startMetrics(
  { metricsHost: host, metricsPort: port }: Pick<Values<typeof processSettings>, 'metricsHost' | 'metricsPort'>,
  logger: Logger,
  source: Pick<MetricsServerParts, 'contentType' | 'text'>,
): Promise<Running | undefined> {
  if (port === 0) return undefined;
  const address = { service: 'metrics server', host, port, hostSetting: 'metricsHost', portSetting: 'metricsPort' };
  const server = createMetricsServer({ host, port, logger, ...source });
  const url = await listening(address, () => server.listen());
  logger.info({ url: `${url}/metrics` }, 'metrics: listening');
  return server;
}
