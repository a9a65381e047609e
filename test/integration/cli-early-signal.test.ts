/** A signal that comes while the program is still being loaded. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KeptProcess } from '../support/built-program.js';
import { waitFor } from '../support/wait-for.js';

/** Node itself minds SIGINT and SIGTERM, and ends with them; of this one only the program thinks. */
const SIGHUP = 1;

/** Whether the process minds the signal: the kernel's own answer. */
function catches(pid: number, signal: number): boolean {
  const caught = /^SigCgt:\s*([0-9a-f]+)$/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${caught}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

test.each([
  ['edge', '--nats', 'nats://127.0.0.1:1', '--edge-port', '0'],
  ['producer', '--nats', 'nats://127.0.0.1:1', '--producer-port', '0'],
])('[C4] a signal before %s has been loaded ends it, as asked', async (...words) => {
  const process = KeptProcess.revcast(words);
  await waitFor(() => catches(process.pid, SIGHUP), { what: 'it minds signals' });
  expect(process.stderr).toBe('');
  process.kill('SIGHUP');
  expect(await process.ended).toEqual({ code: 0, signal: null });
});
