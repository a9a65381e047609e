/**
 * Asks the leader how far the log reaches, once for all who want to know meanwhile: who comes while an answer is under
 * way, which may be older than the question, gets the next one.
 */
import type { LogExtent, WholeLog } from '../log/log.js';

/** What the leader said, and how far the tail had come when it was asked. */
export interface Asked {
  readonly extent: LogExtent;
  readonly before: number;
}

export class ExtentAsker {
  private asking: Promise<Asked> | undefined;
  private next: Promise<Asked> | undefined;

  constructor(
    private readonly whole: Pick<WholeLog, 'extent'>,
    private readonly reachedSeq: () => number,
  ) {}

  /** How far the log reached after this call. Throws `log_unavailable`. */
  ask(): Promise<Asked> {
    if (this.asking === undefined) return this.askNow();
    this.next ??= this.askAfter(this.asking);
    return this.next;
  }

  private async askAfter(asking: Promise<Asked>): Promise<Asked> {
    // Whoever asked for that one is told of its failure.
    await asking.catch(() => undefined);
    this.next = undefined;
    return this.askNow();
  }

  private askNow(): Promise<Asked> {
    const before = this.reachedSeq();
    const asking = this.whole
      .extent()
      .then((extent) => ({ extent, before }))
      .finally(() => {
        if (this.asking === asking) this.asking = undefined;
      });
    this.asking = asking;
    return asking;
  }
}
