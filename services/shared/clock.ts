/** Time as the services see it: injected, so that tests move it themselves. */
export interface Clock {
  /** Milliseconds since 1970. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds of a clock that never goes back, for measuring durations. */
  monotonic(): number;
  /** Calls `action` once after `delayMs`; the answer cancels it. Does not keep the process alive. */
  after(delayMs: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
};

/** A promise that resolves after `delayMs` on this clock. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}
