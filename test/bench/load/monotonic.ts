/** The machine's monotonic clock: the same in every process, so that times of different processes can be compared. */
const NS_PER_MS = 1_000_000;

export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / NS_PER_MS;
}
