/**
 * What a command of the `revcast` program is, and what it is given of the process: only main.ts touches the process
 * itself. A command declares its settings in groups (for help) and reads them once, so that everything that is wrong
 * with them is reported together.
 */
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import { flagName, readSettings, SettingsError, type Settings, type Values } from '../shared/settings.js';

/** How the program ends; 128 + N when a second signal N cut it short. README.md lists them for users. */
export const EXIT = {
  /** Done, or stopped as asked. */
  ok: 0,
  /** What was asked failed, or a fault: stderr says which. */
  failed: 1,
  /** The command line, the environment or the input's form is wrong; nothing was done. */
  usage: 2,
  /** `tail --strict`: the history could not be continued. */
  discontinued: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The channel of a worker process to the process that started it. */
export interface ParentChannel {
  send(message: object): void;
  onMessage(listener: (message: unknown) => void): void;
}

/** The process, as commands see it. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly clock: Clock;
  /** Absent in a process that was started for itself. */
  readonly parent?: ParentChannel | undefined;
  /** Aborted at the first SIGINT, SIGTERM or SIGHUP, with the reason in words. */
  readonly stopping: AbortSignal;
  /** From now on faults are told to this logger instead of as text on stderr. */
  logFaultsTo(logger: Logger): void;
}

export interface CommandInput {
  /** By property name of the setting. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  readonly operands: readonly string[];
}

export interface SettingsGroup {
  /** Heading in the help. */
  readonly title: string;
  readonly settings: Settings;
}

export interface Command {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  /** Paragraphs, for the command's own help. */
  readonly description: string;
  /** As commander writes them, for example '<room> [data...]'; empty for none. */
  readonly operands: string;
  readonly settings: readonly SettingsGroup[];
  /** Shown after the flags. */
  readonly examples: readonly string[];
  run(input: CommandInput, context: CommandContext): Promise<ExitCode>;
}

/** What was asked cannot be done, for a reason that the user understands without a stack trace: exit code 1. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

/**
 * The command's settings from its flags and the environment; a variable that is empty counts as not set.
 * `required` must be given one way or the other, each with the reason why; `otherProblems` are what else is wrong with
 * the command line, `combinations` what is wrong with values that are right one by one.
 * Throws SettingsError with all of it.
 */
export function configure<S extends Settings>(
  settings: S,
  input: CommandInput,
  context: CommandContext,
  also: {
    required?: Partial<Record<keyof S & string, string>>;
    otherProblems?: readonly string[];
    combinations?: (values: Values<S>) => readonly string[];
  } = {},
): Values<S> {
  const env = Object.fromEntries(Object.entries(context.env).filter(([, value]) => value !== ''));
  const problems = [...(also.otherProblems ?? [])];
  for (const [property, reason] of Object.entries(also.required ?? {})) {
    const variable = settings[property]?.env ?? '';
    if (input.flags[property] === undefined && env[variable] === undefined) {
      problems.push(`--${flagName(property)} or ${variable} is needed: ${String(reason)}`);
    }
  }
  try {
    const values = readSettings(settings, input.flags, env);
    problems.push(...(also.combinations?.(values) ?? []));
    if (problems.length === 0) return values;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    problems.push(...error.problems);
  }
  throw new SettingsError(problems);
}
