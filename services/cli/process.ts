/**
 * The process `revcast`: the only place, with signals.ts, that reads the environment and exits.
 *
 *   any --fault (uncaught exception, unhandled rejection)--> logged, exit 1
 */
import { existsSync, readFileSync } from 'node:fs';
import { systemClock } from '../shared/clock.js';
import { asError } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import { EXIT, type CommandContext, type ParentChannel } from './command.js';
import { COMMANDS } from './commands.js';
import { runProgram } from './program.js';
import { stop, stopping } from './signals.js';

/** npx does not pass SIGTERM on to us, but ends: so often we look whether it is still there. */
const PARENT_LOOK_MS = 250;
/** Longest delay of a timer: nothing but the commands' own end ends the process. */
const FOREVER_MS = 2 ** 31 - 1;

let faultLogger: Logger | undefined;

/** A worker process has a channel to the process that started it. */
function channelToParent(): ParentChannel | undefined {
  if (process.send === undefined) return undefined;
  return {
    send: (message) => process.send?.(message),
    onMessage: (listener) => {
      process.on('message', listener);
    },
  };
}

const context: CommandContext = {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  clock: systemClock,
  parent: channelToParent(),
  stopping,
  logFaultsTo(logger) {
    faultLogger = logger;
  },
};

if (process.env['npm_command'] === 'exec') {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop('npx has ended');
  }, PARENT_LOOK_MS);
}

if (process.send !== undefined) {
  // A worker process: its parent has ended, however that was, or has been told twice to end.
  process.on('disconnect', () => {
    if (stopping.aborted) process.exit(EXIT.failed);
    stop('its parent has ended');
  });
}

function crash(thrown: unknown): void {
  const error = asError(thrown);
  if (faultLogger === undefined) process.stderr.write(`revcast: unexpected fault: ${error.stack ?? error.message}\n`);
  else faultLogger.fatal({ err: error }, 'unexpected fault; leaving');
  process.exit(EXIT.failed);
}
process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);

/** Who reads our output has left (`revcast tail eth | head`): there is nothing more to say, and nothing is wrong. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  crash(error);
});

/** From package.json, which is above both the sources and the built files. */
function ownVersion(): string {
  let folder = new URL('./', import.meta.url);
  while (!existsSync(new URL('package.json', folder)) && folder.pathname !== '/') folder = new URL('../', folder);
  const { version } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { version: string };
  return version;
}

setInterval(() => undefined, FOREVER_MS);
process.exit(await runProgram(process.argv.slice(2), { version: ownVersion(), commands: COMMANDS }, context));
