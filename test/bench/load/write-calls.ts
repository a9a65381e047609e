/**
 * How many times a process writes to sockets: strace counts its send calls while something is done. That slows the
 * process down, so it is not done while times are taken. Without strace (or without the right to use it): undefined.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ATTACH_MS = 5_000;
/** A line of `strace -c`: share, seconds, per call, calls, and the call's name. */
const SENDS = /^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?sendto$/mu;

/** Send calls of the process `pid` while `work` runs. */
export async function countSends(pid: number, work: () => Promise<void>): Promise<number | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'revcast-strace-'));
  const report = join(directory, 'report');
  const strace = spawn('strace', ['-f', '-c', '-e', 'trace=sendto', '-o', report, '-p', String(pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    const exited = new Promise<'ended'>((resolve) => {
      strace.on('exit', () => {
        resolve('ended');
      });
      strace.on('error', () => {
        resolve('ended');
      });
    });
    // It says so when it is attached.
    const attached = await Promise.race([
      once(strace.stderr, 'data', { signal: AbortSignal.timeout(ATTACH_MS) }).then(() => 'attached' as const),
      exited,
    ]);
    if (attached === 'ended') return undefined;
    await work();
    strace.kill('SIGINT');
    await exited;
    const calls = SENDS.exec(await readFile(report, 'utf8'))?.[1];
    return calls === undefined ? 0 : Number(calls);
  } finally {
    strace.kill('SIGKILL');
    await rm(directory, { recursive: true });
  }
}
