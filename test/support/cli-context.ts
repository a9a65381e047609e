/** The command line in this process: a context whose streams are kept as text, for tests of what a command says. */
import { PassThrough, Readable, Writable } from 'node:stream';
import { COMMANDS } from '../../services/cli/commands.js';
import type { Command, CommandContext, ExitCode } from '../../services/cli/command.js';
import { runProgram } from '../../services/cli/program.js';
import { systemClock } from '../../services/shared/clock.js';

export interface CliRun {
  readonly exitCode: ExitCode;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  readonly commands?: readonly Command[];
}

/** A run that is still going on. */
export interface StartedCli {
  readonly stdout: string;
  readonly stderr: string;
  /** As a signal would. */
  stop(): void;
  readonly ended: Promise<CliRun>;
}

export function startCli(words: readonly string[], options: CliOptions = {}): StartedCli {
  const stdout = new Kept();
  const stderr = new Kept();
  const stopping = new AbortController();
  const context: CommandContext = {
    env: options.env ?? {},
    stdin: options.stdin === undefined ? new PassThrough() : Readable.from([Buffer.from(options.stdin)]),
    stdout,
    stderr,
    clock: systemClock,
    stopping: stopping.signal,
    logFaultsTo: () => undefined,
  };
  const program = { version: '1.2.3', commands: options.commands ?? COMMANDS };
  return {
    get stdout() {
      return stdout.text;
    },
    get stderr() {
      return stderr.text;
    },
    stop() {
      stopping.abort('SIGTERM');
    },
    ended: runProgram(words, program, context).then((exitCode) => ({
      exitCode,
      stdout: stdout.text,
      stderr: stderr.text,
    })),
  };
}

export function runCli(words: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  return startCli(words, options).ended;
}

class Kept extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
