/** Programs of Debian packages that tests use beside Node's own; test/setup/system-packages.sh installs them. */
import { spawnSync } from 'node:child_process';

export interface SystemTool {
  /** Called with these words it exits with 0. */
  readonly probe: readonly [string, ...string[]];
  /** The Debian package that has it. */
  readonly debianPackage: string;
}

/**
 * Whether the tool is there. Where it is not, says in one line what is not tested; in CI (CI=true) that is an error.
 */
export function hasTool({ probe: [program, ...words], debianPackage }: SystemTool, tests: string): boolean {
  const { status } = spawnSync(program, words, { stdio: 'ignore' });
  if (status === 0) return true;
  const problem = `${program} is not here (Debian package ${debianPackage}): ${tests} cannot run`;
  if (process.env['CI'] === 'true') throw new Error(problem);
  console.warn(problem);
  return false;
}

export const SS: SystemTool = { probe: ['ss', '-V'], debianPackage: 'iproute2' };
export const CHROMIUM: SystemTool = { probe: ['/usr/bin/chromium', '--version'], debianPackage: 'chromium' };
/** Debian's own interpreter: another on the PATH does not see Debian's packages. */
export const PYTHON_WEBSOCKETS: SystemTool = {
  probe: ['/usr/bin/python3', '-c', 'import websockets'],
  debianPackage: 'python3-websockets',
};
