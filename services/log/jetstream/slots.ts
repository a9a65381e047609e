/** At most `count` of something at once; the others wait in order, at most `maxWaiting` of them. */
import { RevcastError } from '../../shared/errors.js';

export class Slots {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(
    count: number,
    private readonly maxWaiting: number,
  ) {
    this.free = count;
  }

  /** Runs `task` in a slot. Throws `overloaded` when too many wait for one. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    await this.take();
    try {
      return await task();
    } finally {
      this.give();
    }
  }

  private async take(): Promise<void> {
    if (this.free > 0) {
      this.free -= 1;
      return;
    }
    if (this.waiting.length >= this.maxWaiting) {
      throw new RevcastError('overloaded', `${this.waiting.length} reads of the log are waiting`);
    }
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
    });
  }

  private give(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}
