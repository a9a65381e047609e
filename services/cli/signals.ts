/**
 * What signals do to the process, from its first moments on: as pid 1 of a container a signal that nobody handles is lost,
 * and loading the program takes up to a second. So this file imports next to nothing.
 *
 *   running --signal--> stopping (gracefully, bounded) --second signal--> exit at once
 */
import { systemClock } from '../shared/clock.js';

/** npx forwards a Ctrl-C that the terminal has already given to every process: within this time it is one press. */
const SAME_PRESS_MS = 300;
const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

const controller = new AbortController();
let stoppingSince: number | undefined;

/** Aborted at the first signal, or by `stop`, with the reason in words. */
export const stopping = controller.signal;

export function stop(reason: string): void {
  stoppingSince ??= systemClock.monotonic();
  if (!stopping.aborted) controller.abort(reason);
}

for (const [signal, number] of Object.entries(SIGNALS)) {
  process.on(signal, () => {
    const now = systemClock.monotonic();
    if (now - (stoppingSince ?? now) > SAME_PRESS_MS) process.exit(128 + number);
    stop(signal);
  });
}
