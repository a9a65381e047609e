/** Settings of every process that serves: its logs, and how long it may take to stop. */
import { LOG_LEVELS } from '../shared/logger.js';
import { oneOf, toggle, whole } from '../shared/settings.js';

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
  stopTimeoutMs: {
    env: 'STOP_TIMEOUT_MS',
    help: 'how long a graceful stop may take before the process leaves without it',
    parse: whole('ms', 100, 600_000),
    fallback: 25_000,
    value: 'ms',
  },
} as const;
