/** Structured logs (pino, JSON lines on stderr, or readable with `pretty`): one logger per process, a child per part. */
import { destination, pino } from 'pino';
import pretty from 'pino-pretty';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** A logger that writes to stderr, so that stdout stays the program's own. */
export function createLogger(options: { level: (typeof LOG_LEVELS)[number]; pretty: boolean }) {
  const stream = options.pretty
    ? pretty({ destination: 2, sync: true, colorize: process.stderr.isTTY, ignore: 'pid,hostname', singleLine: true })
    : destination({ dest: 2, sync: true });
  return pino({ level: options.level, base: { pid: process.pid } }, stream);
}

/** For tests and for parts whose caller wants no logs. */
export const silentLogger = pino({ level: 'silent' });
