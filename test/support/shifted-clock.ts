/** The system's clock, set forward or back by the test. */
import { systemClock, type Clock } from '../../services/shared/clock.js';

export class ShiftedClock implements Clock {
  offsetMs = 0;

  now(): number {
    return systemClock.now() + this.offsetMs;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  after(delayMs: number, action: () => void): () => void {
    return systemClock.after(delayMs, action);
  }
}
