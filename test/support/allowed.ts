/** What only root may do, and not everywhere: tests that need it are left out elsewhere, but never in CI. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether network namespaces can be made here. */
export function mayMakeNamespaces(tests: string): boolean {
  const name = `revcast-probe-${process.pid}`;
  const made = succeeds('ip', 'netns', 'add', name);
  if (made) succeeds('ip', 'netns', 'delete', name);
  return allowed(made, 'network namespaces cannot be made here (root, iproute2)', tests);
}

/** Whether file systems can be mounted here. */
export function mayMount(tests: string): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'revcast-probe-'));
  const mounted = succeeds('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory);
  if (mounted) succeeds('umount', directory);
  rmdirSync(directory);
  return allowed(mounted, 'file systems cannot be mounted here (root)', tests);
}

/** Says in one line what is left out; in CI (CI=true) that is an error. */
function allowed(works: boolean, problem: string, tests: string): boolean {
  if (works) return true;
  if (process.env['CI'] === 'true') throw new Error(`${problem}: ${tests} cannot run`);
  console.warn(`LEFT OUT: ${tests}: ${problem}`);
  return false;
}

function succeeds(program: string, ...words: readonly string[]): boolean {
  return spawnSync(program, words, { stdio: 'ignore' }).status === 0;
}
