/** The largest resident memory of this process since it was last reset, as the kernel keeps it. */
import { readFileSync, writeFileSync } from 'node:fs';

const KB_PER_MB = 1_024;
/** What resets the peak, see proc_pid_clear_refs(5). */
const RESET_PEAK = '5';

export interface Resident {
  readonly nowMb: number;
  readonly peakMb: number;
}

export function resetPeak(): void {
  writeFileSync('/proc/self/clear_refs', RESET_PEAK);
}

export function resident(): Resident {
  const status = readFileSync('/proc/self/status', 'utf8');
  const mb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'mu').exec(status)?.[1]) / KB_PER_MB;
  return { nowMb: mb('VmRSS'), peakMb: mb('VmHWM') };
}
