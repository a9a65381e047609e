/** The command line's own behaviour, with the real commands, none of which gets so far as to start something. */
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../services/cli/commands.js';
import { CommandFailure, configure, EXIT, type Command } from '../../services/cli/command.js';
import { flagName, toggle, whole, type Setting } from '../../services/shared/settings.js';
import { runCli } from '../support/cli-context.js';

const allSettings = (command: Command): [string, Setting<unknown>][] =>
  command.settings.flatMap((group) => Object.entries(group.settings));

describe('help', () => {
  test('[C1] without a command, and with --help, it lists the commands', async () => {
    const bare = await runCli([]);
    expect(bare.exitCode).toBe(EXIT.usage);
    const help = await runCli(['--help']);
    expect(help).toMatchObject({ exitCode: EXIT.ok, stderr: '' });
    for (const { name, summary } of COMMANDS) {
      expect(help.stdout).toMatch(new RegExp(`^  ${name} .*${summary}$`, 'mu'));
      expect(bare.stderr).toContain(summary);
    }
  });

  test.each(COMMANDS)('[C1] $name --help shows each flag with default, variable and unit', async (command) => {
    const { exitCode, stdout, stderr } = await runCli([command.name, '--help']);
    expect({ exitCode, stderr }).toEqual({ exitCode: EXIT.ok, stderr: '' });
    const folded = stdout.replaceAll(/\s+/gu, ' ');
    for (const [property, setting] of allSettings(command)) {
      const value = setting.value === undefined ? '' : ` <${setting.value}>`;
      const on = setting.value === undefined && setting.fallback === true ? 'no-' : '';
      expect(folded).toContain(`--${on}${flagName(property)}${value} `);
      expect(folded).toContain(setting.help.replaceAll(/\s+/gu, ' '));
      expect(folded).toContain(`env ${setting.env})`);
      if (typeof setting.fallback === 'number')
        expect(folded).toContain(`(default ${setting.fallback}, env ${setting.env})`);
    }
    for (const example of command.examples) expect(stdout).toContain(example);
  });

  test.each(COMMANDS)('[C1] $name has each flag and each variable once', (command) => {
    const flags = allSettings(command).map(([property]) => property);
    const variables = allSettings(command).map(([, { env }]) => env);
    expect(new Set(flags).size).toBe(flags.length);
    expect(new Set(variables).size).toBe(variables.length);
  });

  test('[C1] --version prints the version', async () => {
    expect(await runCli(['--version'])).toEqual({ exitCode: EXIT.ok, stdout: '1.2.3\n', stderr: '' });
  });
});

describe('what is wrong with the command line', () => {
  test('[C3] an unknown command or flag is named, with the nearest that there is', async () => {
    const command = await runCli(['pubish', 'room']);
    expect(command.exitCode).toBe(EXIT.usage);
    expect(command.stderr).toContain("revcast: unknown command 'pubish'");
    expect(command.stderr).toContain('Did you mean publish?');
    const flag = await runCli(['edge', '--edge-prot', '1']);
    expect(flag.exitCode).toBe(EXIT.usage);
    expect(flag.stderr).toContain("revcast: unknown option '--edge-prot'");
    expect(flag.stderr).toContain('Did you mean --edge-port?');
  });

  test('[C3] operands that are missing or too many are named', async () => {
    expect(await runCli(['tail'])).toMatchObject({
      exitCode: EXIT.usage,
      stderr: expect.stringContaining("missing required argument 'room'") as string,
    });
    expect(await runCli(['dev', 'now'])).toMatchObject({
      exitCode: EXIT.usage,
      stderr: expect.stringContaining('too many arguments') as string,
    });
  });

  test('[C2] all that is wrong is told at once, a line each, without a stack trace', async () => {
    const { exitCode, stdout, stderr } = await runCli(['edge', '--edge-port', 'http', '--edge-flush', 'never'], {
      env: { EDGE_DRAIN_MS: 'soon', LOG_LEVEL: 'loud' },
    });
    expect(exitCode).toBe(EXIT.usage);
    expect(stdout).toBe('');
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^revcast: --nats or NATS_URL is needed: /u),
      'revcast: --edge-port must be a whole number of port from 0 to 65535 (got "http")',
      'revcast: EDGE_DRAIN_MS must be a whole number of ms from 0 to 600000 (got "soon")',
      'revcast: --edge-flush must be one of microtask, immediate, sync (got "never")',
      expect.stringMatching(/^revcast: LOG_LEVEL must be one of /u),
    ]);
  });

  test.each(['producer', 'revision', 'edge'])('[C2] %s needs NATS, by flag or variable', async (name) => {
    const { exitCode, stderr } = await runCli([name], { env: { NATS_URL: '' } });
    expect(exitCode).toBe(EXIT.usage);
    expect(stderr).toMatch(/^revcast: --nats or NATS_URL is needed: .*revcast dev/u);
  });

  test('[C2] dev wants one Ethereum node, not two', async () => {
    const { exitCode, stderr } = await runCli(['dev', '--anvil'], { env: { ETHEREUM_URL: 'ws://127.0.0.1:8545' } });
    expect({ exitCode, stderr }).toEqual({
      exitCode: EXIT.usage,
      stderr: 'revcast: --anvil and --ethereum-url (ETHEREUM_URL) exclude each other\n',
    });
  });

  test('[C2] tail and publish check what they are given before they connect', async () => {
    const tail = await runCli(['tail', 'a', 'a', '', '--since', 'yesterday', '--count', '0']);
    expect(tail.exitCode).toBe(EXIT.usage);
    expect(tail.stderr.trim().split('\n')).toEqual([
      'revcast: room "a" is given twice',
      'revcast: ROOM "": the room name is empty',
      'revcast: --since must be 0, snapshot, or a position EPOCH:REV or EPOCH:REV:TAG (got "yesterday")',
      expect.stringContaining('--count must be a whole number of revisions from 1 to'),
    ]);
    const combined = await runCli(['tail', 'a', 'b', '--since', 'e:1', '--json', '--data']);
    expect(combined.stderr.trim().split('\n')).toEqual([
      expect.stringContaining('--since with a position is for one room'),
      'revcast: --json and --data exclude each other',
    ]);
    const publish = await runCli(['publish', 'r'.repeat(201), 'hello', '{"a":1}', '{']);
    expect(publish.exitCode).toBe(EXIT.usage);
    expect(publish.stderr.trim().split('\n')).toEqual([
      expect.stringContaining('at most 200 are allowed'),
      expect.stringMatching(/^revcast: DATA is not JSON: hello: .*--text$/u),
      expect.stringMatching(/^revcast: DATA is not JSON: \{: .*--text$/u),
    ]);
  });
});

describe('a command', () => {
  const settings = {
    size: { env: 'T_SIZE', help: 'a size', parse: whole('bytes', 0, 9), fallback: 3, value: 'bytes' },
    tidy: { env: 'T_TIDY', help: 'tidy up', parse: toggle, fallback: true },
  } as const;
  const command = (run: Command['run']): Command => ({
    name: 'probe',
    summary: 'a command',
    description: 'A command.',
    operands: '[word...]',
    settings: [{ title: 'Flags', settings }],
    examples: [],
    run,
  });

  test('[C1] an empty variable counts as not set, and a switch that is on is turned off with --no-', async () => {
    const seen: unknown[] = [];
    const commands = [
      command((input, context) => {
        seen.push({ ...configure(settings, input, context), operands: input.operands });
        return Promise.resolve(EXIT.ok);
      }),
    ];
    await runCli(['probe', 'a', '-5', '-'], { commands, env: { T_SIZE: '' } });
    await runCli(['probe', '--no-tidy', '--size', '4'], { commands, env: { T_SIZE: '5' } });
    expect(seen).toEqual([
      { size: 3, tidy: true, operands: ['a', '-5', '-'] },
      { size: 4, tidy: false, operands: [] },
    ]);
  });

  test('[C4] its failure is told in plain lines with exit code 1, and what is no failure is a fault', async () => {
    const fails = command(() => Promise.reject(new CommandFailure('one thing\nanother')));
    expect(await runCli(['probe'], { commands: [fails] })).toEqual({
      exitCode: EXIT.failed,
      stdout: '',
      stderr: 'revcast: one thing\nrevcast: another\n',
    });
    const breaks = command(() => Promise.reject(new TypeError('x is not a function')));
    await expect(runCli(['probe'], { commands: [breaks] })).rejects.toThrow('x is not a function');
  });
});
