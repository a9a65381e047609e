/** Ready means: the live path is connected and the log answers, asked at most once a second whoever asks us. */
import { asError } from '../shared/errors.js';
import type { EdgeParts } from './edge-parts.js';

const KEEP_MS = 1_000;
/** A room that nobody has: asking for its head shows that heads can be asked for. */
const PROBE_ROOM = 'revcast-readiness';

export interface Ready {
  readonly ready: boolean;
  readonly detail: string;
}

export class Readiness {
  private checking: Promise<Ready> | undefined;

  constructor(private readonly parts: Pick<EdgeParts, 'live' | 'reader' | 'clock'>) {}

  check(): Promise<Ready> {
    this.checking ??= this.ask().finally(() => {
      this.parts.clock.after(KEEP_MS, () => {
        this.checking = undefined;
      });
    });
    return this.checking;
  }

  private async ask(): Promise<Ready> {
    const status = this.parts.live.status();
    if (status.state !== 'ready') return { ready: false, detail: status.detail };
    try {
      await this.parts.reader.heads([{ room: PROBE_ROOM, position: null }]);
      return { ready: true, detail: 'the log answers' };
    } catch (error) {
      return { ready: false, detail: `log_unconfirmed: ${asError(error).message}` };
    }
  }
}
