/**
 * A local Ethereum node for `revcast dev --anvil`: the binary of @foundry-rs/anvil, as a child process that mines a
 * block at a fixed interval. It is no part of a production install, so it may be missing; that is told plainly.
 * It never outlives this process, unless this process is killed with SIGKILL.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { asError } from '../shared/errors.js';
import { withTimeout, type Running } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import { CommandFailure } from './command.js';

const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 3_000;
/** States of old blocks that anvil keeps; without a bound it grows, and spills to disk. */
const KEPT_STATES = 64;

export interface RunningAnvil extends Running {
  /** Its WebSocket address. */
  readonly url: string;
}

/** Starts anvil on a port of 127.0.0.1 (0: any free one). Throws CommandFailure when it is not installed or fails. */
export async function startAnvil(options: {
  port: number;
  blockSeconds: number;
  logger: Logger;
}): Promise<RunningAnvil> {
  const { port, blockSeconds, logger } = options;
  const words = ['--host', '127.0.0.1', '--port', String(port), '--block-time', String(blockSeconds)];
  // In a process group of its own: a terminal's Ctrl-C is for us, and we stop anvil after the source that reads it.
  const child = spawn(binary(), [...words, '--prune-history', String(KEPT_STATES)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      resolve(signal === null ? `exit code ${code ?? 0}` : `signal ${signal}`);
    });
    child.once('error', (error) => {
      resolve(error.message);
    });
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);

  let stopping: Promise<void> | undefined;
  const stopChild = async () => {
    child.kill('SIGTERM');
    try {
      await withTimeout(exited, STOP_TIMEOUT_MS, `anvil did not stop after ${STOP_TIMEOUT_MS} ms`);
    } catch (error) {
      logger.warn({ err: asError(error) }, 'killing anvil');
      kill();
      await exited;
    }
    process.removeListener('exit', kill);
  };
  const stop = () => (stopping ??= stopChild());

  try {
    const address = await withTimeout(
      listening(child, exited),
      START_TIMEOUT_MS,
      `anvil did not listen after ${START_TIMEOUT_MS} ms`,
    );
    void exited.then((how) => {
      if (stopping === undefined) logger.error({ how }, 'anvil has ended; its room gets no more blocks');
    });
    return { url: `ws://${address}`, stop };
  } catch (error) {
    await stop();
    throw error instanceof CommandFailure ? error : new CommandFailure(asError(error).message, { cause: error });
  }
}

/** The address that it says it listens on. Its output is read to the end, so that it never blocks on it. */
function listening(child: ChildProcess, exited: Promise<string>): Promise<string> {
  return new Promise((resolve, reject) => {
    let lastError = '';
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        const address = /^Listening on (\S+)/u.exec(line)?.[1];
        if (address !== undefined) resolve(address);
        if (stream === child.stderr && line.trim() !== '') lastError = line.trim();
      });
    }
    void exited.then((how) => {
      reject(new CommandFailure(`anvil ended while it started (${how})${lastError === '' ? '' : `: ${lastError}`}`));
    });
  });
}

/** The package of this platform holds the binary itself; its launcher script would only stand between us and it. */
function binary(): string {
  const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch;
  const platformPackage = `@foundry-rs/anvil-${process.platform}-${architecture}`;
  const suffix = process.platform === 'win32' ? '.exe' : '';
  try {
    // The platform's package is a dependency of the launcher's, and is looked for from there.
    const launcher = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json');
    return createRequire(launcher).resolve(`${platformPackage}/bin/anvil${suffix}`);
  } catch (error) {
    throw new CommandFailure(
      `the local Ethereum node (npm package @foundry-rs/anvil) is not installed for ${process.platform} ${process.arch}: ` +
        'run "npm install" in the checkout, or give a node of your own with --ethereum-url',
      { cause: error },
    );
  }
}
