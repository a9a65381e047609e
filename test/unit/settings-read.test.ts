/** readSettings: where a value comes from, and that everything wrong is told at once. */
import { describe, expect, test } from 'vitest';
import {
  address,
  flagName,
  oneOf,
  readSettings,
  SettingsError,
  text,
  toggle,
  whole,
} from '../../services/shared/settings.js';

const settings = {
  portNumber: { env: 'T_PORT', help: 'a port', parse: whole('port', 0, 65_535), fallback: 8080, value: 'port' },
  mode: { env: 'T_MODE', help: 'a mode', parse: oneOf(['fast', 'slow']), fallback: 'fast', value: 'mode' },
  name: { env: 'T_NAME', help: 'a name', parse: text, fallback: 'x', value: 'name' },
  url: { env: 'T_URL', help: 'an address', parse: address('ws', 'wss'), fallback: 'ws://a', value: 'url' },
  loud: { env: 'T_LOUD', help: 'a switch', parse: toggle, fallback: false },
} as const;

function problemsOf(flags: Record<string, string | boolean>, env: Record<string, string>): readonly string[] {
  try {
    readSettings(settings, flags, env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('settings', () => {
  test('[C1] a flag wins over the variable, which wins over the default', () => {
    expect(readSettings(settings, {}, {})).toEqual({
      portNumber: 8080,
      mode: 'fast',
      name: 'x',
      url: 'ws://a',
      loud: false,
    });
    expect(readSettings(settings, {}, { T_PORT: '1', T_MODE: 'slow', T_LOUD: 'true' })).toMatchObject({
      portNumber: 1,
      mode: 'slow',
      loud: true,
    });
    const both = readSettings(settings, { portNumber: '2', loud: true }, { T_PORT: '1', T_LOUD: 'false' });
    expect(both).toMatchObject({ portNumber: 2, loud: true });
  });

  test('[C1] a switch is true, false, 1 or 0', () => {
    for (const [word, value] of [
      ['true', true],
      ['1', true],
      ['false', false],
      ['0', false],
    ] as const) {
      expect(readSettings(settings, {}, { T_LOUD: word }).loud).toBe(value);
    }
    expect(problemsOf({}, { T_LOUD: 'yes' })).toEqual(['T_LOUD must be true or false (got "yes")']);
  });

  test('[C2] every problem is told, each by the flag or the variable that it came from', () => {
    const problems = problemsOf(
      { portNumber: '70000', mode: 'medium' },
      { T_NAME: '', T_URL: 'http://a', T_LOUD: 'maybe', T_MODE: 'fast' },
    );
    expect(problems).toEqual([
      '--port-number must be a whole number of port from 0 to 65535 (got "70000")',
      '--mode must be one of fast, slow (got "medium")',
      'T_NAME must not be empty (got "")',
      'T_URL must be an address that begins with ws:// or wss:// (got "http://a")',
      'T_LOUD must be true or false (got "maybe")',
    ]);
  });

  test('[C2] a number is digits and nothing else', () => {
    for (const word of ['', ' 1', '1.5', '-1', '0x10', '1e3', 'ten', '１']) {
      expect({ word, problems: problemsOf({ portNumber: word }, {}).length }).toEqual({ word, problems: 1 });
    }
    expect(readSettings(settings, { portNumber: '007' }, {}).portNumber).toBe(7);
  });

  test('[C1] the flag of a property is its name in kebab case', () => {
    expect(flagName('maxMessageBytes')).toBe('max-message-bytes');
  });
});
