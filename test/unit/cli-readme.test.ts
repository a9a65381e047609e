/** README.md and the program agree. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../services/cli/commands.js';
import { EXIT } from '../../services/cli/command.js';
import { devBanner } from '../../services/cli/dev-banner.js';
import { withSettings } from '../check/readme-settings.js';

const readme = readFileSync('README.md', 'utf8');

describe('README', () => {
  test('[C10] lists the settings as they are: otherwise run "npm run readme"', () => {
    expect(readme).toBe(withSettings(readme));
  });

  test('[C10] has the lines that dev prints', () => {
    const banner = devBanner({
      edgeUrl: 'http://127.0.0.1:8080',
      producerUrl: 'http://127.0.0.1:8081',
      revisionUrl: 'http://127.0.0.1:8082',
      nats: [],
      node: { url: 'ws://127.0.0.1:8545', room: 'eth' },
    });
    const lines = [...banner.matchAll(/^ {2}((?:npx|curl) .*?) +#/gmu)].map(([, line]) => line);
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(readme).toContain(`${line} `);
  });

  test('[C10] names every command, every make target that it should, and every exit code', () => {
    for (const { name } of COMMANDS) expect(readme).toContain(`\`revcast ${name}`);
    for (const code of Object.values(EXIT)) expect(readme).toMatch(new RegExp(`^\\| ${code} \\|`, 'mu'));
    const targets = [...readme.matchAll(/`make (\w+)/gu)].map(([, target]) => target);
    const makefile = readFileSync('Makefile', 'utf8');
    for (const target of targets) expect(makefile).toMatch(new RegExp(`^${target}:`, 'mu'));
  });
});
