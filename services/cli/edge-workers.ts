/**
 * `revcast edge --workers N`: N processes of this same program, each an edge with everything of its own (memory limits and
 * counts are per worker), on one port. The parent sees to it that nobody else has the port, which workers that share it
 * would not notice, and keeps it from then on in their hands only.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLogger } from '../shared/logger.js';
import { PROMETHEUS_TEXT } from '../shared/metrics.js';
import { flagName, whole, type Values } from '../shared/settings.js';
import { CommandFailure, EXIT, type CommandContext, type CommandInput, type ExitCode } from './command.js';
import { listening } from './listen-problem.js';
import type { processSettings } from './process-settings.js';
import { edgeAddress } from './service-parts.js';
import { startMetrics } from './metrics.js';
import { onAbort } from './stopping.js';
import { WorkersMetrics } from './worker-metrics.js';
import { spawnWorker, withWorker, Workers } from './workers.js';

export const workerSettings = {
  workers: {
    env: 'EDGE_WORKERS',
    help: 'processes that share the port; each has the memory and the sockets that the other settings say',
    parse: whole('processes', 1, 256),
    fallback: 1,
    value: 'processes',
  },
} as const;

/** Beyond what a worker grants itself for its stop. */
const STOP_SLACK_MS = 3_000;

type WorkerValues = Values<typeof processSettings> & { workers: number; edgeHost: string; edgePort: number };

/** Runs until a signal, or until workers do not start. */
export async function runWorkers(
  values: WorkerValues,
  input: CommandInput,
  context: CommandContext,
): Promise<ExitCode> {
  const { clock, stderr, stopping } = context;
  const logger = createLogger({ level: values.logLevel, pretty: values.logPretty });
  context.logFaultsTo(logger);
  const { edgeHost: host } = values;
  const port = await listening(edgeAddress(values), () => freePortAt(host, values.edgePort));
  const env = {
    ...context.env,
    EDGE_WORKERS: '1',
    EDGE_SHARE_PORT: 'true',
    EDGE_PORT: String(port),
    METRICS_PORT: '0',
  };
  const command = [process.execPath, ...process.execArgv, ownProgram(), 'edge', ...wordsOf(input)] as const;
  const workers: Workers = new Workers({
    count: values.workers,
    start: (worker) =>
      spawnWorker(command, env, {
        onLine: (line) => {
          stderr.write(`${withWorker(worker, line)}\n`);
        },
        onMessage: (message) => {
          workers.heard(worker);
          measured.hear(worker, message);
        },
      }),
    clock,
    logger,
    stopMs: values.stopTimeoutMs + STOP_SLACK_MS,
    random: Math.random,
  });
  const measured = new WorkersMetrics(workers, clock);
  const metrics = await startMetrics(values, logger, { contentType: PROMETHEUS_TEXT, text: () => measured.text() });
  workers.start();
  logger.info({ url: `http://${host}:${port}`, workers: values.workers }, 'edge: workers share the port');
  onAbort(stopping, () => {
    logger.info({ reason: String(stopping.reason) }, 'stopping all workers');
    workers.stop();
  });
  const outcome = await workers.ended;
  await metrics?.stop();
  if (outcome.kind === 'gave up')
    throw new CommandFailure(`${outcome.why}; see what it said. All workers were stopped`);
  logger.info('stopped');
  return outcome.inTime ? EXIT.ok : EXIT.failed;
}

/** What the parent was given, for a worker: what concerns the port and the workers comes by its environment. */
function wordsOf({ flags }: CommandInput): string[] {
  const own = new Set(['workers', 'edgePort', 'edgeSharePort', 'metricsPort']);
  return Object.entries(flags).flatMap(([property, value]) => {
    if (own.has(property) || value === undefined) return [];
    const flag = flagName(property);
    if (typeof value === 'boolean') return [value ? `--${flag}` : `--no-${flag}`];
    return [`--${flag}=${value}`];
  });
}

/** The port, for any: one that is free. Throws when somebody has it, sharing it or not. */
async function freePortAt(host: string, port: number): Promise<number> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return free;
}

/** main.js beside this file; main.ts where the sources run. */
function ownProgram(): string {
  const self = fileURLToPath(import.meta.url);
  return fileURLToPath(new URL(`main${extname(self)}`, import.meta.url));
}
