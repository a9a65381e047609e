/**
 * CPU time of this process, with its collector's threads: what other programs on the machine do does not count.
 * Microseconds of resolution, so what is timed takes a tenth of a millisecond at least.
 */
const NS_PER_US = 1_000;

/** Nanoseconds of CPU that `work` takes. */
export function cpuNs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) * NS_PER_US;
}
