/**
 * The part of README.md that lists the settings, made from the same tables as flags and help. A test holds README to it;
 * `npm run readme` writes it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../../services/cli/commands.js';
import { shownDefault } from '../../services/cli/program.js';
import { flagName, type Setting } from '../../services/shared/settings.js';

const README = fileURLToPath(new URL('../../README.md', import.meta.url));
const BEGIN = '<!-- settings: written by `npm run readme` -->\n';
const END = '<!-- end of settings -->';

interface Row {
  readonly flag: string;
  readonly setting: Setting<unknown>;
  /** By default, the commands that have it. */
  readonly defaults: Map<string, string[]>;
}

interface Section {
  readonly commands: Set<string>;
  readonly rows: Map<string, Row>;
}

/** README as it should be, given README as it is. Throws when the place of the settings is not marked. */
export function withSettings(readme: string): string {
  const begin = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`README.md has no ${BEGIN.trim()} … ${END}`);
  return readme.slice(0, begin + BEGIN.length) + settingsText() + readme.slice(end);
}

function settingsText(): string {
  return `${[...sections()].map(([title, section]) => sectionText(title, section)).join('')}\n`;
}

function sections(): Map<string, Section> {
  const found = new Map<string, Section>();
  for (const command of COMMANDS) {
    for (const group of command.settings) {
      const title = group.title === 'Flags' ? command.name : group.title;
      const section = found.get(title) ?? { commands: new Set(), rows: new Map() };
      found.set(title, section);
      section.commands.add(command.name);
      for (const [property, setting] of Object.entries(group.settings))
        addRow(section, command.name, property, setting);
    }
  }
  return found;
}

function addRow({ rows }: Section, command: string, property: string, setting: Setting<unknown>): void {
  const value = setting.value === undefined ? '' : ` <${setting.value}>`;
  const row: Row = rows.get(property) ?? { flag: `--${flagName(property)}${value}`, setting, defaults: new Map() };
  rows.set(property, row);
  const shown = shownDefault(setting);
  row.defaults.set(shown, [...(row.defaults.get(shown) ?? []), command]);
}

function sectionText(title: string, { commands, rows }: Section): string {
  const of = [...commands].map((name) => `\`${name}\``).join(', ');
  const lines = [...rows.values()].map(({ flag, setting, defaults }) =>
    ['', code(flag), code(setting.env), defaultText(defaults), cell(setting.help), ''].join(' | ').trim(),
  );
  return `\n**${title}** (${of})\n\n| flag | variable | default | |\n|---|---|---|---|\n${lines.join('\n')}\n`;
}

/** The one default, or which command has which. */
function defaultText(defaults: Row['defaults']): string {
  const all = [...defaults];
  if (all.length === 1) return cell(all[0]?.[0] ?? '');
  return all.map(([shown, commands]) => `${commands.join(', ')}: ${cell(shown)}`).join('; ');
}

function code(text: string): string {
  return `\`${cell(text)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(README, withSettings(readFileSync(README, 'utf8')));
}
