/**
 * Holds every message that a socket gets against the order of revisions, whatever its messages are like, deflated ones
 * included: message by message, with what KnownMessages knows. The first message is the reply to subscribe.
 */
import { FIN, FIRST_CONTROL, frameEnd, OPCODE } from './frame-header.js';
import { KnownMessages } from './known-messages.js';
import type { OrderCheck } from './order-check.js';

const EMPTY = Buffer.alloc(0);

export class MessageWalker implements OrderCheck {
  holes = 0;
  repeats = 0;
  replied = false;
  fault: string | undefined;
  private newestAtMs: number | undefined;
  /** A message that a read cut off. */
  private cutOff = EMPTY;

  /**
   * @param id of the client's subscription
   * @param lastRev what the next revision is held against
   */
  constructor(
    private readonly known: KnownMessages,
    private readonly id: Buffer,
    public lastRev: number,
  ) {}

  walk(chunk: Buffer, length: number): void {
    const read = length === chunk.length ? chunk : chunk.subarray(0, length);
    const bytes = this.cutOff.length === 0 ? read : Buffer.concat([this.cutOff, read]);
    let at = 0;
    while (at < bytes.length && this.fault === undefined) {
      const end = messageEnd(bytes, at);
      if (end === undefined) break;
      this.take(bytes.subarray(at, end));
      at = end;
    }
    this.cutOff = at === bytes.length ? EMPTY : Buffer.from(bytes.subarray(at));
  }

  publishedAtMs(): number | undefined {
    return this.newestAtMs;
  }

  private take(message: Buffer): void {
    if (!this.replied) {
      this.replied = true;
      return;
    }
    try {
      const { firstRev, lastRev, publishedAtMs } = this.known.read(this.id, message);
      if (firstRev <= this.lastRev) this.repeats += Math.min(lastRev, this.lastRev) - firstRev + 1;
      else this.holes += firstRev - this.lastRev - 1;
      this.lastRev = Math.max(lastRev, this.lastRev);
      this.newestAtMs = publishedAtMs;
    } catch (error) {
      this.fault = String(error);
    }
  }
}

/** Where the message ends whose first frame begins at `at`; undefined: further on than the bytes go. */
function messageEnd(bytes: Buffer, at: number): number | undefined {
  for (let place = at; ;) {
    const first = bytes[place] ?? 0;
    const end = frameEnd(bytes, place);
    if (end === undefined || ((first & FIN) !== 0 && (first & OPCODE) < FIRST_CONTROL)) return end;
    place = end;
  }
}
