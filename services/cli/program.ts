/**
 * The command line: one commander program made from the commands' own tables, so that flags, variables, defaults and
 * help cannot disagree. Whatever is wrong with what the user typed is told in plain lines, never as a stack trace.
 */
import { Command as CommanderCommand, CommanderError, Option } from 'commander';
import { flagName, SettingsError, type Setting } from '../shared/settings.js';
import { CommandFailure, EXIT, type Command, type CommandContext, type ExitCode } from './command.js';

/** Help is folded at this width where the terminal is wider or is none. */
const HELP_COLUMNS = 110;

export interface Program {
  readonly version: string;
  readonly commands: readonly Command[];
}

/** Runs what `words` (without node and the script) ask for. What it throws is a fault. */
export async function runProgram(
  words: readonly string[],
  program: Program,
  context: CommandContext,
): Promise<ExitCode> {
  let result: ExitCode = EXIT.ok;
  const root = commanderProgram(program, context, async (command, flags, operands) => {
    result = await command.run({ flags, operands }, context);
  });
  try {
    await root.parseAsync([...words], { from: 'user' });
    return result;
  } catch (error) {
    return tell(error, context);
  }
}

type Run = (
  command: Command,
  flags: Readonly<Record<string, string | boolean | undefined>>,
  operands: readonly string[],
) => Promise<void>;

function commanderProgram(program: Program, context: CommandContext, run: Run): CommanderCommand {
  const root = new CommanderCommand('revcast')
    .description('Ordered revisions and blocks from a few producers to very many WebSocket clients.')
    .version(program.version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .configureHelp({ sortSubcommands: false, showGlobalOptions: false })
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      getOutHelpWidth: () => HELP_COLUMNS,
      getErrHelpWidth: () => HELP_COLUMNS,
      outputError: (text, write) => {
        write(text.replace(/^error: /u, 'revcast: '));
      },
    });
  root.addHelpText('after', '\nEach command has its own help: revcast COMMAND --help');
  for (const command of program.commands) addCommand(root, command, run);
  return root;
}

function addCommand(root: CommanderCommand, command: Command, run: Run): void {
  const sub = root
    .command(command.name)
    .summary(command.summary)
    .description(command.description)
    .showHelpAfterError(`(revcast ${command.name} --help lists the flags)`);
  if (command.operands !== '') sub.arguments(command.operands);
  for (const group of command.settings) {
    for (const [property, setting] of Object.entries(group.settings)) {
      sub.addOption(option(property, setting).helpGroup(`${group.title}:`));
    }
  }
  const examples = command.examples.map((line) => `  ${line}\n`).join('');
  if (examples !== '') sub.addHelpText('after', `\nExamples:\n${examples}`);
  sub.action(async () => {
    await run(command, sub.opts(), sub.args);
  });
}

/** A switch that is on by default is turned off with --no-NAME. */
function option(property: string, setting: Setting<unknown>): Option {
  const negated = setting.value === undefined && setting.fallback === true ? 'not: ' : '';
  const description = `${negated}${setting.help} (${defaultText(setting)}env ${setting.env})`;
  const flag = flagName(property);
  if (setting.value !== undefined) {
    const valued = new Option(`--${flag} <${setting.value}>`, description);
    const { separator } = setting;
    if (separator === undefined) return valued;
    return valued.argParser((value, before?: string) => (before === undefined ? value : before + separator + value));
  }
  return new Option(setting.fallback === true ? `--no-${flag}` : `--${flag}`, description);
}

/** The default as it is written in help: nothing where there is none. */
export function shownDefault(setting: Setting<unknown>): string {
  const fallback = setting.fallback as undefined | boolean | number | string | readonly string[];
  if (fallback === undefined) return '';
  if (typeof fallback === 'boolean') return fallback ? 'on' : 'off';
  return typeof fallback === 'object' ? fallback.join(',') : String(fallback);
}

function defaultText(setting: Setting<unknown>): string {
  const shown = shownDefault(setting);
  return shown === '' ? '' : `default ${shown}, `;
}

function tell(error: unknown, { stderr }: CommandContext): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof SettingsError) {
    for (const problem of error.problems) stderr.write(`revcast: ${problem}\n`);
    return EXIT.usage;
  }
  if (error instanceof CommandFailure) {
    for (const line of error.message.split('\n')) stderr.write(`revcast: ${line}\n`);
    return EXIT.failed;
  }
  throw error;
}
