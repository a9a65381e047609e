/** The check of the import rules must be able to fail: on a rule that is broken, and on files that it has not read. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { layerProblems, reportProblems } from '../check/layers.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'revcast-layers-'));
  mkdirSync(path.join(root, 'services'));
  cpSync('tsconfig.json', path.join(root, 'tsconfig.json'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

function write(file: string, text: string): void {
  const target = path.join(root, 'services', file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, text);
}

describe('import rules', () => {
  test('[T3] an import against the direction of the layers is found', () => {
    write('log/log.ts', 'export interface Log { close(): void }\n');
    write('producer/main.ts', "import type { Log } from '../log/log.js';\nexport const logs: Log[] = [];\n");
    expect(layerProblems(root)).toEqual({ files: 2, problems: [] });

    write('log/log.ts', "export interface Log { close(): void }\nexport { other } from '../edge/main.js';\n");
    write('edge/main.ts', 'export const other = 1;\n');
    expect(layerProblems(root).problems).toEqual(['log-layer: services/log/log.ts imports services/edge/main.ts']);
  });

  test('[T3] no source files, or files that were not read, are not "no rule broken"', () => {
    expect(layerProblems(root)).toEqual({ files: 0, problems: ['there are no source files in services/'] });
    const nothingRead = { modules: [], summary: { violations: [] } };
    expect(reportProblems(['services/a.ts'], nothingRead)).toEqual(['services/a.ts was not read']);
  });
});
