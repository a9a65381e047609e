/**
 * A member: one socket in one room, with its cursor, the revision up to which it was given everything.
 *
 *              blocked                    overtaken
 *   ┌────────┐ ───────▶ ┌─────────┐ ──────────────▶ ┌─────────────┐
 *   │ steady │          │ lagging │                 │ catching-up │   any ──left──▶ closed
 *   └────────┘ ◀─────── └─────────┘ ◀────────────── └─────────────┘
 *            reached_head           reached_ring
 *
 * steady: gets what comes in the next flush. lagging: its socket is blocked, its next revision is in the ring.
 * catching-up: its next revision has left the ring and comes from pages, one at a time. closed: nothing more is sent.
 * The table is the whole machine; a pair that is not in it is a fault.
 */
import { assert } from '../shared/errors.js';
import { storedBlock } from './compress-once.js';
import type { Answers, Greeting } from './greeting.js';
import { NO_PLACE, type RingReader } from './frame-ring.js';
import { inWords, type Opened } from './message-run.js';
import type { Page } from './page.js';
import type { Encoding, RequestId } from './protocols/protocol.js';
import type { Room } from './room.js';
import type { Session } from './session.js';

export type MemberState = 'steady' | 'lagging' | 'catching-up' | 'closed';
export type MemberEvent = 'blocked' | 'overtaken' | 'reached_ring' | 'reached_head' | 'left';

export const TRANSITIONS: Readonly<Record<MemberState, Readonly<Partial<Record<MemberEvent, MemberState>>>>> = {
  steady: { blocked: 'lagging', overtaken: 'catching-up', reached_head: 'steady', left: 'closed' },
  lagging: { blocked: 'lagging', overtaken: 'catching-up', reached_head: 'steady', left: 'closed' },
  'catching-up': {
    blocked: 'catching-up',
    overtaken: 'catching-up',
    reached_ring: 'lagging',
    reached_head: 'steady',
    left: 'closed',
  },
  closed: { left: 'closed' },
};

const EMPTY = Buffer.alloc(0);
const NO_WORDS = new Int32Array(0);

export class Member implements RingReader, Opened {
  cursor = 0;
  place = NO_PLACE;
  state: MemberState = 'steady';
  /** Place in the room's list of members. */
  index = -1;
  /** What it is sent before its first revision, until that has been written. */
  greeting: Answers | Greeting | undefined;
  /** The page that it is sent from while it catches up and its socket takes it. */
  page: Page | undefined;
  /** The members that wait for the same page; undefined: it waits for none. */
  awaitedWith: Set<Member> | undefined;
  /** The member's own part of each message, behind the message's first byte, as it is sent uncompressed, … */
  opening: Buffer = EMPTY;
  openingBytes = 0;
  openingWords: Int32Array = NO_WORDS;
  /** … and as a stored deflate block; made when its socket first gets a compressed frame. */
  private storedOwn: Buffer | undefined;
  encoding: Encoding;
  /** The last revision that goes out in the present encoding; later ones in the one that was given first. */
  encodedUntil = Number.POSITIVE_INFINITY;

  constructor(
    readonly session: Session,
    readonly room: Room,
    readonly id: RequestId,
    /** Whether several revisions may come in one message. */
    readonly batch: boolean,
    private readonly laterEncoding: Encoding,
  ) {
    this.encoding = laterEncoding;
    this.open();
  }

  get own(): Buffer {
    return this.opening.subarray(this.encoding.first.length);
  }

  get stored(): Buffer {
    this.storedOwn ??= storedBlock(this.own);
    return this.storedOwn;
  }

  /** Has the revisions up to `rev` go out in another encoding than later ones. */
  encodeUntil(rev: number, encoding: Encoding): void {
    this.encodedUntil = rev;
    this.encoding = encoding;
    this.open();
  }

  /** Everything up to `encodedUntil` was given. */
  encodeOn(): void {
    this.encodeUntil(Number.POSITIVE_INFINITY, this.laterEncoding);
  }

  private open(): void {
    const { encoding, id, batch } = this;
    this.opening = Buffer.concat([encoding.first, Buffer.from(encoding.own(id, batch))]);
    this.openingBytes = this.opening.length;
    this.openingWords = inWords(this.opening);
    this.storedOwn = undefined;
  }

  awaitNoLonger(): void {
    this.awaitedWith?.delete(this);
    this.awaitedWith = undefined;
  }

  /** Moves by the table; the room counts stragglers by it. */
  to(event: MemberEvent): void {
    const next = TRANSITIONS[this.state][event];
    assert(next !== undefined, `member: ${event} while ${this.state}`);
    if (next === this.state) return;
    const { counters } = this.room;
    if (next === 'catching-up') counters.stragglersEntered += 1;
    else if (this.state === 'catching-up') {
      counters.stragglersLeft += 1;
      this.page = undefined;
    }
    this.state = next;
  }
}
