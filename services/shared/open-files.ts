/** How many files, sockets among them, this process may have open at once, where the system says so (Linux). */
import { readFileSync } from 'node:fs';

const LIMITS = '/proc/self/limits';

/** Infinity where there is no limit, or nobody says. */
export function maxOpenFiles(read: () => string = () => readFileSync(LIMITS, 'utf8')): number {
  let text: string;
  try {
    text = read();
  } catch {
    // No such file: another system.
    return Number.POSITIVE_INFINITY;
  }
  const soft = /^Max open files\s+(\d+)/mu.exec(text)?.[1];
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
}
