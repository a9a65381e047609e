/**
 * Asks the revision service for heads, many rooms in one request: what is asked within BATCH_MS goes out together.
 * Only differences come back, so asking about all open rooms costs little. Limits: ROOMS_PER_REQUEST.
 */
import type { Clock } from '../shared/clock.js';
import { asError, RevcastError } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import type { Head, Position } from '../log/log.js';
import type { RevisionReader } from '../revision/contract.js';

const BATCH_MS = 2;
const ROOMS_PER_REQUEST = 1_000;

/** The confirmed head: of another position than the asker's, or the same. */
export type Looked = { readonly kind: 'same' } | { readonly kind: 'differs'; readonly head: Head | null };

interface Question {
  readonly room: string;
  readonly position: Position | null;
  readonly resolve: (looked: Looked) => void;
  readonly reject: (error: Error) => void;
}

export class HeadLookup {
  private waiting: Question[] = [];
  private failing = false;

  constructor(
    private readonly reader: RevisionReader,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** Compares the confirmed head with `position` (null: nothing is known). Throws `log_unavailable`. */
  look(room: string, position: Position | null): Promise<Looked> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ room, position, resolve, reject });
      if (this.waiting.length === ROOMS_PER_REQUEST) this.send();
      else if (this.waiting.length === 1) {
        this.clock.after(BATCH_MS, () => {
          this.send();
        });
      }
    });
  }

  private send(): void {
    const questions = this.waiting;
    this.waiting = [];
    if (questions.length > 0) void this.ask(questions);
  }

  private async ask(questions: readonly Question[]): Promise<void> {
    try {
      const answered = await this.reader.heads(questions.map(({ room, position }) => ({ room, position })));
      this.failing = false;
      const heads = new Map(answered.map(({ room, head }) => [room, head]));
      for (const { room, position, resolve, reject } of questions) {
        const head = heads.get(room);
        if (head === undefined && position === null) reject(new RevcastError('internal', 'the room cannot be read'));
        else resolve(head === undefined ? { kind: 'same' } : { kind: 'differs', head });
      }
    } catch (error) {
      // Once for all of them, and until somebody answers: an outage must not fill the log.
      if (!this.failing) {
        this.logger.warn({ rooms: questions.length, err: asError(error) }, 'rooms: their heads could not be confirmed');
      }
      this.failing = true;
      for (const { reject } of questions) reject(asError(error));
    }
  }
}
