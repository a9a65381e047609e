/** Structured logs (pino, JSON lines on stderr, or readable with `pretty`): one logger per process, a child per part. */
import { destination, pino } from 'pino';
import pretty from 'pino-pretty';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** A logger that writes to stderr, so that stdout stays the program's own. */
export function createLogger(options: { level: (typeof LOG_LEVELS)[number]; pretty: boolean }) {
  const stream = options.pretty
    ? pretty({ destination: 2, sync: true, colorize: process.stderr.isTTY, ignore: 'pid,hostname', singleLine: true })
    : destination({ dest: 2, sync: true }).on('error', tellUnlessUnread);
  return pino({ level: options.level, base: { pid: process.pid } }, stream);
}

/** Who reads the log may end before we do: that is no reason to end without having closed what is open. */
function tellUnlessUnread(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
}

/** For tests and for parts whose caller wants no logs. */
export const silentLogger = pino({ level: 'silent' });
