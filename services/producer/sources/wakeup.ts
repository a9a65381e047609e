/**
 * Lets one loop wait for "there is something to do" or for a time, whichever comes first. A wake that comes while nobody
 * waits is kept (once), so none is lost between looking and waiting.
 */
import type { Clock } from '../../shared/clock.js';

export class Wakeup {
  private pending = false;
  private waiting: ((woken: boolean) => void) | undefined;

  constructor(private readonly clock: Clock) {}

  wake(): void {
    this.pending = true;
    this.waiting?.(true);
  }

  /** True when woken, false when `timeoutMs` have passed; without a time it waits until it is woken. */
  wait(timeoutMs?: number): Promise<boolean> {
    if (this.pending) {
      this.pending = false;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const settle = (woken: boolean) => {
        cancel();
        this.waiting = undefined;
        this.pending = false;
        resolve(woken);
      };
      const expire = () => {
        settle(false);
      };
      const cancel = timeoutMs === undefined ? () => undefined : this.clock.after(timeoutMs, expire);
      this.waiting = settle;
    });
  }
}
