/**
 * Runs stages of the tests one after the other, ends at the first that fails, and always says what was counted:
 *
 *   tsx test/check/stages.ts check unit contract integration
 *
 * "check" is every check:… script of package.json; the others are projects of vitest.config.ts. The last line is
 * `N passed, N failed`; it is also left in test-results/counts.txt, beside vitest's reports. A stage "check" that fails
 * is one failure. The stage "containers" gets a Docker engine first, and is left out where none is to be had. Exits with 1 on any failure, and when no test has run although stages with tests were asked for.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { countsLine, countStage, NOTHING, readReport, sum, type Counts } from './counts.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const RESULTS = path.join(PROJECT, 'test-results');
const CHECK = 'check';
const CONTAINERS = 'containers';
/** Exit code of test/setup/with-engine.sh where there is no engine; it has said so. */
const LEFT_OUT = 75;

function run(program: string, words: readonly string[]): number {
  const binary = path.join(PROJECT, 'node_modules/.bin', program);
  const found = program === 'npm' || program === 'bash' ? program : binary;
  const { status, error } = spawnSync(found, words, { cwd: PROJECT, stdio: 'inherit' });
  if (error !== undefined) console.error(`${program}: ${error.message}`);
  return status ?? 1;
}

/** All of them, so that one run shows everything that is wrong. */
function runChecks(): Counts {
  const { scripts } = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const checks = Object.keys(scripts).filter((name) => name.startsWith('check:'));
  const failed = checks.filter((name) => {
    const begunMs = performance.now();
    const ok = run('npm', ['run', '--silent', name]) === 0;
    console.log(`${name}: ${ok ? 'ok' : 'FAILED'} (${seconds(begunMs)})`);
    return !ok;
  });
  return failed.length === 0 && checks.length > 0 ? NOTHING : { ...NOTHING, failed: 1 };
}

function runProject(project: string): Counts {
  const file = path.join(RESULTS, `${project}.json`);
  const words = ['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const vitest = path.join(PROJECT, 'node_modules/.bin/vitest');
  const exitCode =
    project === CONTAINERS ? run('bash', ['test/setup/with-engine.sh', vitest, ...words]) : run('vitest', words);
  return project === CONTAINERS && exitCode === LEFT_OUT ? NOTHING : countStage(readReport(file), exitCode);
}

function seconds(sinceMs: number): string {
  return `${((performance.now() - sinceMs) / 1_000).toFixed(1)} s`;
}

function main(stages: readonly string[]): number {
  rmSync(RESULTS, { recursive: true, force: true });
  mkdirSync(RESULTS);
  const all: Counts[] = [];
  for (const stage of stages) {
    const begunMs = performance.now();
    console.log(`== ${stage}`);
    const counts = stage === CHECK ? runChecks() : runProject(stage);
    all.push(counts);
    const skipped = counts.skipped === 0 ? '' : `, ${counts.skipped} SKIPPED`;
    console.log(`== ${stage}: ${countsLine(counts)}${skipped} in ${seconds(begunMs)}`);
    if (counts.failed > 0) break;
  }
  const total = sum(all);
  writeFileSync(path.join(RESULTS, 'counts.txt'), `${countsLine(total)}\n`);
  console.log(countsLine(total));
  const noTests = total.passed === 0 && stages.some((stage) => stage !== CHECK);
  if (noTests && total.failed === 0) console.error('no test has run');
  return total.failed > 0 || noTests ? 1 : 0;
}

process.exitCode = main(process.argv.slice(2));
