/**
 * Holds every message that a socket gets against the order of revisions, whatever its messages are like, deflated ones
 * included: message by message, with what KnownMessages knows. The first message is the reply to subscribe.
 */
import { KnownMessages } from './known-messages.js';
import type { OrderCheck } from './order-check.js';

const FIN = 0x80;
const OPCODE = 0x0f;
const FIRST_CONTROL = 0x8;
const LENGTH = 0x7f;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const UNKNOWN = -1;

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
      if (end === UNKNOWN) break;
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

/** Where the message ends whose first frame begins at `at`; UNKNOWN: further on than the bytes go. */
function messageEnd(bytes: Buffer, at: number): number {
  let place = at;
  for (;;) {
    if (place + 2 > bytes.length) return UNKNOWN;
    const first = bytes[place] ?? 0;
    const short = (bytes[place + 1] ?? 0) & LENGTH;
    const header = short === LENGTH_64 ? 10 : short === LENGTH_16 ? 4 : 2;
    if (place + header > bytes.length) return UNKNOWN;
    const left =
      short === LENGTH_64
        ? Number(bytes.readBigUInt64BE(place + 2))
        : short === LENGTH_16
          ? bytes.readUInt16BE(place + 2)
          : short;
    place += header + left;
    if (place > bytes.length) return UNKNOWN;
    const isData = (first & OPCODE) < FIRST_CONTROL;
    if (isData && (first & FIN) !== 0) return place;
  }
}
