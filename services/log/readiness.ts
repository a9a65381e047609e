/** Ready means: the log answers. It is asked, at most once a second whoever asks us, not only believed to be there. */
import { asError } from '../shared/errors.js';
import type { Clock } from '../shared/clock.js';
import type { LogStatus } from './log.js';

const KEEP_MS = 1_000;
/** A room that nobody has: asking for its head shows that heads can be asked for. */
export const PROBE_ROOM = 'revcast-readiness';

export interface Ready {
  readonly ok: boolean;
  /** Why it is not; empty when it is. */
  readonly detail: string;
}

export interface ReadinessParts {
  readonly status: () => LogStatus;
  /** Asks the log for something small, past everything that remembers. */
  readonly ask: () => Promise<unknown>;
  readonly clock: Clock;
}

export class Readiness {
  private asking: Promise<Ready> | undefined;

  constructor(private readonly parts: ReadinessParts) {}

  async check(): Promise<Ready> {
    const status = this.parts.status();
    if (status.state !== 'ready') return { ok: false, detail: status.detail };
    this.asking ??= this.ask().finally(() => {
      this.parts.clock.after(KEEP_MS, () => {
        this.asking = undefined;
      });
    });
    return this.asking;
  }

  private async ask(): Promise<Ready> {
    try {
      await this.parts.ask();
      return { ok: true, detail: '' };
    } catch (error) {
      return { ok: false, detail: `log_unconfirmed: ${asError(error).message}` };
    }
  }
}
