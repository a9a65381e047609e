/**
 * The life of a command that serves: start, serve until the first signal, stop gracefully within a bound.
 * What has been started is stopped in the reverse order, also when a later part could not start.
 */
import { asError } from '../shared/errors.js';
import { StopStack, withTimeout } from '../shared/lifecycle.js';
import { createLogger, type Logger } from '../shared/logger.js';
import { Metrics, PROMETHEUS_TEXT } from '../shared/metrics.js';
import type { Values } from '../shared/settings.js';
import { EXIT, type CommandContext, type ExitCode } from './command.js';
import { startMetrics } from './metrics.js';
import type { processSettings } from './process-settings.js';
import { aborted } from './stopping.js';
import { answerParent } from './worker-metrics.js';

export interface ServiceScope {
  readonly logger: Logger;
  /** Add each part as it starts. */
  readonly stack: StopStack;
  /** What is measured. */
  readonly metrics: Metrics;
}

/** Runs until a signal. What `start` throws is thrown here, after all that it had started was stopped. */
export async function runService(
  settings: Values<typeof processSettings>,
  context: CommandContext,
  start: (scope: ServiceScope) => Promise<void>,
): Promise<ExitCode> {
  const logger = createLogger({ level: settings.logLevel, pretty: settings.logPretty });
  context.logFaultsTo(logger);
  const stack = new StopStack(logger);
  const stop = async () => stopWithin(settings.stopTimeoutMs, stack, logger);
  const signal = aborted(context.stopping);
  const startAll = async (scope: ServiceScope) => {
    await measure(settings, context, scope);
    await start(scope);
  };
  try {
    // A signal while it starts does not wait for the start to end.
    await Promise.race([startAll({ logger, stack, metrics: new Metrics() }), signal]);
  } catch (error) {
    await stop();
    throw error;
  }
  await signal;
  logger.info({ reason: String(context.stopping.reason) }, 'stopping');
  const inTime = await stop();
  return inTime ? EXIT.ok : EXIT.failed;
}

/** Serves what is measured, or hands it to the process that started this one. */
async function measure(
  settings: Values<typeof processSettings>,
  { parent }: CommandContext,
  { logger, stack, metrics }: ServiceScope,
): Promise<void> {
  if (settings.metricsPort === 0 && parent === undefined) return;
  metrics.addProcess();
  if (parent !== undefined) {
    answerParent(parent, metrics, (error) => {
      logger.error({ err: asError(error) }, 'metrics could not be read');
    });
  }
  const server = await startMetrics(settings, logger, { contentType: PROMETHEUS_TEXT, text: () => metrics.text() });
  if (server !== undefined) stack.add('metrics', () => server.stop());
}

async function stopWithin(timeoutMs: number, stack: StopStack, logger: Logger): Promise<boolean> {
  try {
    await withTimeout(stack.stop(), timeoutMs, `not stopped after ${timeoutMs} ms`);
    logger.info('stopped');
    return true;
  } catch (error) {
    logger.error({ err: asError(error) }, 'leaving without a complete stop');
    return false;
  }
}
