/** Waits for a condition, bounded: tests wait for what they need, never for a time. */
const POLL_MS = 10;

/** Resolves when `condition` holds; throws with `what` after `timeoutMs`. What `condition` throws ends the wait. */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs = 10_000, what }: { timeoutMs?: number; what: string },
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
