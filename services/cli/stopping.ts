/** Waiting, for commands that a signal may end at any moment: nothing is left behind on the signal. */
import type { Clock } from '../shared/clock.js';

/** Calls `action` when the signal is aborted, at once if it is already. The answer takes it back. */
export function onAbort(signal: AbortSignal, action: () => void): () => void {
  if (signal.aborted) {
    action();
    return () => undefined;
  }
  signal.addEventListener('abort', action, { once: true });
  return () => {
    signal.removeEventListener('abort', action);
  };
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, resolve);
  });
}

/** Resolves after `delayMs`, or when the signal is aborted. */
export function sleepUnless(signal: AbortSignal, clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cancelTimer = clock.after(delayMs, () => {
      takeBack();
      resolve();
    });
    const takeBack = onAbort(signal, () => {
      cancelTimer();
      resolve();
    });
  });
}
