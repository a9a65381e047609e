/**
 * A room's continuity: turns the live hint, which may miss, repeat and delay entries, into every committed entry once,
 * in order.
 *
 *   opening ──head known──▶ live ──gap──▶ repairing ──range fetched──▶ live
 *      │ fails                │ foreign epoch, other tag: look at the confirmed head
 *      ▼                      ▼
 *   closed            broken off: start again at the confirmed head, the listener is told
 *
 * Invariant: the listener is given entries that follow each other without hole or repeat within an epoch.
 * Limits: MAX_HELD entries of MAX_HELD_BYTES wait while a range is fetched; beyond that they are dropped, and fetched
 * like any gap.
 */
import { asError, RevcastError } from '../shared/errors.js';
import { sleep, type Clock } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import { withTimeout } from '../shared/lifecycle.js';
import { cutEntry, entryBytes } from '../log/entry-range.js';
import { headOf, lastRev, type Entry, type Following, type Head, type LiveLog, type Position } from '../log/log.js';
import type { RevisionReader } from '../revision/contract.js';
import type { HeadLookup, Looked } from './head-lookup.js';

const MAX_HELD = 4_096;
const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** How long a head below one's own must be confirmed before it counts as a rollback. */
const ROLLBACK_CONFIRM_MS = 1_500;
const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 2_000;

export const NOWHERE: Position = { epoch: '', rev: 0, tag: '' };

/** History was rewritten or lost; or so much was missed that the log no longer keeps it, or the room began with a snapshot. */
export type Broken = 'epoch_changed' | 'history_truncated';

export interface FeedListener {
  /** The room stands at `position`; entries follow from there. Called once, before the first entry. */
  onOpened(position: Position): void;
  /** The next entry, without hole or repeat. */
  onEntry(entry: Entry): void;
  /** The room now stands at `position`, and what was given before is not followed by what comes: `firstRev` is kept, where known. */
  onBroken(reason: Broken, position: Position, firstRev?: number): void;
  /** The tag of a revision still known, to recognise a rewritten history; undefined where it is not known. */
  tagAt(rev: number): string | undefined;
}

export interface FeedParts {
  readonly live: LiveLog;
  readonly reader: RevisionReader;
  readonly lookup: HeadLookup;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pageRevisions: number;
  readonly pageBytes: number;
}

type FeedState = 'opening' | 'live' | 'repairing' | 'closed';

export class Feed {
  private state: FeedState = 'opening';
  private held: Entry[] = [];
  private heldBytes = 0;
  private following: Following | undefined;
  private at: Position = NOWHERE;
  private fetchedUpTo: Position | undefined;
  /** Counts the breaks in history: what was awaited across one is out of date. */
  private breaks = 0;
  /** Entries that contradict what was given, not looked into yet. */
  private doubts = 0;

  constructor(
    private readonly room: string,
    private readonly parts: FeedParts,
    private readonly listener: FeedListener,
  ) {}

  /** Where the room stands: all up to here was given to the listener. */
  get position(): Position {
    return this.at;
  }

  get isOpen(): boolean {
    return this.state === 'live' || this.state === 'repairing';
  }

  /** Whether a range is being fetched. */
  get isRepairing(): boolean {
    return this.state === 'repairing';
  }

  /** Follows, then asks for the head, then merges what came meanwhile. Throws `log_unavailable`; the feed is then closed. */
  async open(timeoutMs: number): Promise<void> {
    try {
      this.following = this.parts.live.follow([this.room], (entry) => {
        this.onLive(entry);
      });
      await withTimeout(this.following.ready, timeoutMs, 'no connection to the log');
      const looked = await withTimeout(this.parts.lookup.look(this.room, null), timeoutMs, 'the head is not known');
      if (this.isClosed()) throw new RevcastError('shutting_down', 'the room was closed');
      if (looked.kind === 'differs' && looked.head !== null) this.at = positionOf(looked.head);
      this.listener.onOpened(this.at);
      this.state = 'live';
      this.release();
    } catch (error) {
      const wasClosed = this.isClosed();
      this.close();
      if (wasClosed) throw new RevcastError('shutting_down', 'the room was closed', { cause: error });
      if (error instanceof RevcastError) throw error;
      throw new RevcastError('log_unavailable', `the room cannot be opened: ${asError(error).message}`, {
        cause: error,
      });
    }
  }

  close(): void {
    this.state = 'closed';
    this.held = [];
    this.following?.stop();
  }

  /** Compares the position with the confirmed head, and repairs what differs. Throws `log_unavailable`. */
  async look(): Promise<void> {
    const asked = this.at;
    const { breaks } = this;
    const looked = await this.parts.lookup.look(this.room, asked);
    const head = await this.otherHistory(asked, looked);
    // Another look may have come to the same conclusion meanwhile.
    if (head !== undefined && this.isOpen && this.breaks === breaks) this.breakOff('epoch_changed', head);
  }

  /** The confirmed head, if it says that history after the feed stood at `asked` was rewritten; else undefined. */
  private async otherHistory(asked: Position, looked: Looked): Promise<Head | null | undefined> {
    if (!this.isOpen || looked.kind === 'same' || this.at.epoch !== asked.epoch) return undefined;
    const { head } = looked;
    if (asked.epoch === '') {
      if (head !== null) this.repair();
      return undefined;
    }
    if (head === null || isBelow(head, asked)) return this.rolledBackTo(asked);
    if (head.rev > this.at.rev) {
      this.repair();
      return undefined;
    }
    const tag = head.rev === this.at.rev ? this.at.tag : this.listener.tagAt(head.rev);
    return tag === undefined || tag === head.tag ? undefined : head;
  }

  /** A leader that was cut off may answer with an old head for a while: believe it only if it stays. */
  private async rolledBackTo(asked: Position): Promise<Head | null | undefined> {
    await sleep(this.parts.clock, ROLLBACK_CONFIRM_MS);
    const again = await this.parts.lookup.look(this.room, asked);
    return again.kind === 'differs' && isBelow(again.head, asked) ? again.head : undefined;
  }

  private onLive(entry: Entry): void {
    if (this.state === 'live') this.place(entry);
    else if (this.state !== 'closed') this.hold(entry);
  }

  private hold(entry: Entry): void {
    const bytes = entryBytes(entry);
    if (this.held.length >= MAX_HELD || this.heldBytes + bytes > MAX_HELD_BYTES) return;
    this.held.push(entry);
    this.heldBytes += bytes;
  }

  /** Gives the listener what is new of the entry, if it follows; otherwise finds out why it does not. */
  private place(entry: Entry): void {
    const nothingYet = this.at.epoch === '';
    // Where there was a time before revision 1, the room began with a snapshot, which who stood in the empty room lacks.
    const begins = nothingYet && entry.firstRev === 1 && entry.previousTime === 0;
    if (entry.epoch !== this.at.epoch && !begins) {
      if (nothingYet) this.gap(entry);
      else this.doubt('a revision of another epoch');
      return;
    }
    const last = lastRev(entry);
    if (last <= this.at.rev) {
      const known = last === this.at.rev ? this.at.tag : this.listener.tagAt(last);
      if (known !== undefined && known !== entry.tag) this.doubt('a revision with another tag');
      return;
    }
    if (entry.firstRev > this.at.rev + 1) {
      this.gap(entry);
      return;
    }
    const next = cutEntry(entry, this.at.rev + 1, entry.revisions.length);
    this.at = positionOf(headOf(next));
    this.listener.onEntry(next);
  }

  private gap(entry: Entry): void {
    this.hold(entry);
    this.repair();
  }

  private release(): void {
    const held = this.held;
    this.held = [];
    this.heldBytes = 0;
    for (const entry of held) this.onLive(entry);
  }

  /** Something contradicts what was given: looks at the confirmed head, and once more if there was more of it meanwhile. */
  private doubt(reason: string): void {
    this.doubts += 1;
    if (this.doubts > 1) return;
    this.parts.logger.warn({ room: this.room, reason }, 'room: looking at the confirmed head');
    void this.clearDoubts();
  }

  private async clearDoubts(): Promise<void> {
    while (this.doubts > 0) {
      const { doubts } = this;
      try {
        await this.look();
      } catch (error) {
        this.parts.logger.warn({ room: this.room, err: asError(error) }, 'room: the head could not be confirmed');
      }
      this.doubts = this.doubts > doubts ? 1 : 0;
    }
  }

  private repair(): void {
    if (this.state !== 'live') return;
    this.state = 'repairing';
    void this.fetchMissing();
  }

  private async fetchMissing(): Promise<void> {
    let wait = RETRY_MIN_MS;
    // What was fetched last did not close the gap: whoever answered is behind the live path, so give it time.
    if (this.fetchedUpTo === this.at) await sleep(this.parts.clock, RETRY_MIN_MS);
    while (this.state === 'repairing') {
      try {
        if (await this.fetchPage()) break;
        wait = RETRY_MIN_MS;
      } catch (error) {
        if (!(error instanceof RevcastError)) throw error;
        this.parts.logger.warn({ room: this.room, code: error.code }, 'room: a gap cannot be fetched yet');
        await sleep(this.parts.clock, wait * (0.5 + Math.random()));
        wait = Math.min(wait * 2, RETRY_MAX_MS);
      }
    }
    if (this.state !== 'repairing') return;
    this.fetchedUpTo = this.at;
    this.state = 'live';
    this.release();
  }

  /** Fetches and places one page; whether the room is then at the head that the log had. */
  private async fetchPage(): Promise<boolean> {
    const { pageRevisions: limit, pageBytes: maxBytes } = this.parts;
    const asked = this.at;
    const answer = await this.parts.reader.range({ room: this.room, after: asked, limit, maxBytes });
    if (this.state !== 'repairing' || this.at !== asked) return this.state !== 'repairing';
    if (answer.kind === 'truncated') this.breakOff('history_truncated', answer.head, answer.firstRev);
    else if (answer.kind === 'epoch_changed') this.breakOff('epoch_changed', answer.head);
    if (answer.kind !== 'entries') return true;
    for (const entry of answer.entries) this.place(entry);
    return answer.head === null || this.at.rev >= answer.head.rev || answer.entries.length === 0;
  }

  private breakOff(reason: Broken, head: Head | null, firstRev?: number): void {
    this.breaks += 1;
    this.at = head === null ? NOWHERE : positionOf(head);
    const { epoch, rev } = this.at;
    this.parts.logger.warn({ room: this.room, reason, epoch, rev }, 'room: starting again at the confirmed head');
    this.listener.onBroken(reason, this.at, firstRev);
  }

  private isClosed(): boolean {
    return this.state === 'closed';
  }
}

/** Whether a room with this head cannot have had the position in its history. */
function isBelow(head: Head | null, position: Position): boolean {
  return head === null || head.epoch !== position.epoch || head.rev < position.rev;
}

function positionOf({ epoch, rev, tag }: Position): Position {
  return { epoch, rev, tag };
}
