/**
 * `npm run check:layers`: checks the import rules of .dependency-cruiser.cjs, and that the tool really read every
 * source file. Under a TypeScript that it cannot load it reads none, finds nothing wrong and is content: a run that has
 * not seen a file has not checked it.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const MAX_REPORT_BYTES = 256 * 1024 * 1024;

interface CruiseReport {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly { from: string; to: string; rule: { name: string; severity: string } }[];
  };
}

/** One line for each broken rule and each source file that was not read; none: all is well. `root` holds services/. */
export function layerProblems(root: string): { files: number; problems: string[] } {
  const files = readdirSync(path.join(root, 'services'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => path.posix.join('services', name.replaceAll(path.sep, '/')));
  if (files.length === 0) return { files: 0, problems: ['there are no source files in services/'] };
  return { files: files.length, problems: reportProblems(files, cruise(root)) };
}

/** Of a report on `files`. */
export function reportProblems(files: readonly string[], { modules, summary }: CruiseReport): string[] {
  const read = new Set(modules.map(({ source }) => source));
  const unread = files.filter((file) => !read.has(file)).map((file) => `${file} was not read`);
  const broken = summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} imports ${to}`);
  return [...unread, ...broken];
}

function cruise(root: string): CruiseReport {
  const program = path.join(PROJECT, 'node_modules/.bin/depcruise');
  const config = path.join(PROJECT, '.dependency-cruiser.cjs');
  const words = ['services', '--config', config, '--output-type', 'json'];
  const { stdout, stderr } = spawnSync(program, words, { cwd: root, encoding: 'utf8', maxBuffer: MAX_REPORT_BYTES });
  try {
    return JSON.parse(stdout) as CruiseReport;
  } catch (error) {
    throw new Error(`dependency-cruiser gave no report: ${stderr || stdout}`, { cause: error });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { files, problems } = layerProblems(PROJECT);
  for (const problem of problems) console.error(`layers: ${problem}`);
  if (problems.length === 0) console.log(`layers: ${files} files, no rule broken`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
