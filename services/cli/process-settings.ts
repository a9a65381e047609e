/** Settings of every process that serves: its logs, its metrics, and how long it may take to stop. */
import { LOG_LEVELS } from '../shared/logger.js';
import { oneOf, text, toggle, whole } from '../shared/settings.js';

export const processSettings = {
  logLevel: {
    env: 'LOG_LEVEL',
    help: `the least level that is logged: ${LOG_LEVELS.join(', ')}`,
    parse: oneOf(LOG_LEVELS),
    fallback: 'info',
    value: 'level',
  },
  logPretty: {
    env: 'LOG_PRETTY',
    help: 'logs for people instead of JSON lines',
    parse: toggle,
    fallback: false,
  },
  metricsPort: {
    env: 'METRICS_PORT',
    help: 'port of /metrics, for Prometheus; 0: there is none',
    parse: whole('port', 0, 65_535),
    fallback: 0,
    value: 'port',
  },
  metricsHost: {
    env: 'METRICS_HOST',
    help: 'address of /metrics',
    parse: text,
    fallback: '127.0.0.1',
    value: 'address',
  },
  stopTimeoutMs: {
    env: 'STOP_TIMEOUT_MS',
    help: 'how long a graceful stop may take before the process leaves without it',
    parse: whole('ms', 100, 600_000),
    fallback: 25_000,
    value: 'ms',
  },
} as const;
