/**
 * A room on this edge: its newest revisions in the ring, its members, and the frames they share. The feed gives it
 * entries in order; an entry only fills the ring and marks the room dirty, the flusher does the sending.
 */
import { asError, RevcastError } from '../shared/errors.js';
import { sleep } from '../shared/clock.js';
import type { Entry, Position } from '../log/log.js';
import type { EdgeCounters } from './counters.js';
import type { EdgeParts } from './edge-parts.js';
import { Feed, type Broken, type FeedListener } from './feed.js';
import type { FrameRing } from './frame-ring.js';
import type { Member } from './member.js';
import { RangeFrames } from './frames.js';
import { slotsOf, type Slot } from './slot.js';

/** Frames of the lagging members' different ranges up to one head, in bytes. */
const MAX_KEPT_RANGE_BYTES = 4 * 1024 * 1024;

/** Who asks for the head within so long shares one answer. */
const GATHER_MS = 2;
/** How long an edge that is behind the head may take to get there, and how often it is looked at. */
const REPAIR_MS = 3_000;
const REPAIR_LOOK_MS = 20;

export class Room implements FeedListener {
  readonly members: Member[] = [];
  readonly ring: FrameRing<Slot>;
  readonly feed: Feed;
  /** Frames of several revisions up to the head; forgotten when the head moves. */
  readonly ranges = new RangeFrames(MAX_KEPT_RANGE_BYTES);
  readonly counters: EdgeCounters;
  /** Whether a lagging member skips to the newest revision instead of being sent every one. */
  readonly latest: boolean;
  /** Counts the breaks in the room's history: what was awaited across one must be looked at again. */
  generation = 0;

  private confirming: Promise<void> | undefined;

  /** Subscribes that look for where to begin: the room is kept open for them. */
  joining = 0;

  /** The flusher's own marks: in its queue, next member to visit, members left to visit. */
  queued = false;
  /** While it is queued: monotonic milliseconds at which it was marked, how often it was since, what visits took, and how many they were. */
  dirtySince = 0;
  marks = 0;
  visitedMs = 0;
  visits = 0;
  nextVisit = 0;
  visitsLeft = 0;

  constructor(
    readonly name: string,
    readonly parts: EdgeParts,
  ) {
    this.counters = parts.counters;
    this.latest = parts.isLatest(name);
    this.ring = parts.newRing();
    this.feed = new Feed(
      name,
      {
        live: parts.live,
        reader: parts.reader,
        lookup: parts.lookup,
        clock: parts.clock,
        logger: parts.logger,
        pageRevisions: parts.settings.pageRevisions,
        pageBytes: parts.settings.pageBytes,
      },
      this,
    );
  }

  get position(): Position {
    return this.feed.position;
  }

  /** Follows the log; the ring then begins after the head. Throws `log_unavailable`. */
  async open(): Promise<void> {
    // Nobody vouches for pages of a time in which the room was not followed.
    this.parts.pages.begin(this.name);
    await this.feed.open(this.parts.settings.openTimeoutMs);
  }

  /**
   * Compares with the confirmed head, and waits until what that shows is repaired, at most `REPAIR_MS`. All who ask within
   * a few milliseconds share one look, which begins after they asked. Throws `log_unavailable`.
   */
  confirm(): Promise<void> {
    this.confirming ??= this.lookSoon();
    return this.confirming;
  }

  private async lookSoon(): Promise<void> {
    const { clock } = this.parts;
    await sleep(clock, GATHER_MS);
    this.confirming = undefined;
    await this.feed.look();
    const end = clock.monotonic() + REPAIR_MS;
    while (this.feed.isRepairing && clock.monotonic() < end) await sleep(clock, REPAIR_LOOK_MS);
  }

  /** Compares with the confirmed head; what it finds comes through the feed. */
  look(): void {
    void this.tryLook();
  }

  /** The same; answers whether the head was confirmed. */
  async tryLook(): Promise<boolean> {
    try {
      await this.feed.look();
      return true;
    } catch (error) {
      this.parts.logger.debug({ room: this.name, err: asError(error) }, 'room: the head could not be confirmed');
      return false;
    }
  }

  /** Whether somebody is in it, or about to be. */
  get isWanted(): boolean {
    return this.members.length > 0 || this.joining > 0;
  }

  /** Whether the room is still followed. */
  get isOpen(): boolean {
    return this.feed.isOpen;
  }

  close(): void {
    this.feed.close();
    this.parts.pages.end(this.name);
    // Gives its bytes back to the process's budget.
    this.ring.clear(this.ring.headRev);
  }

  onOpened(position: Position): void {
    this.ring.clear(position.rev);
  }

  onEntry(entry: Entry): void {
    for (const slot of slotsOf(entry)) this.ring.push(slot);
    this.ranges.clear();
    this.counters.revisionsFlushed += entry.revisions.length;
    this.parts.flusher.mark(this);
  }

  onBroken(reason: Broken, position: Position, firstRev?: number): void {
    this.generation += 1;
    const error = brokenError(reason, position, firstRev);
    this.ring.clear(position.rev);
    this.ranges.clear();
    this.parts.pages.begin(this.name);
    // Those to news are members again at once, of the new history.
    for (const member of this.members.slice()) member.session.endSubscription(member, error);
  }

  tagAt(rev: number): string | undefined {
    return rev === this.position.rev ? this.position.tag : this.ring.get(rev)?.revision.tag;
  }

  /** Adds a member that was given everything up to `cursor`. A flush on its way round has one more to pass. */
  add(member: Member, cursor: number): void {
    member.index = this.members.length;
    this.members.push(member);
    if (this.queued) this.visitsLeft += 1;
    this.ring.join(member, cursor);
    if (cursor < this.ring.headRev) member.to(cursor + 1 < this.ring.firstRev ? 'overtaken' : 'blocked');
  }

  /** O(1): the last member takes its place, so a flush that is on its way round must go round once more. */
  remove(member: Member): void {
    if (member.index < 0) return;
    const last = this.members.pop();
    if (last !== undefined && last !== member) {
      this.members[member.index] = last;
      last.index = member.index;
    }
    member.index = -1;
    member.page = undefined;
    member.awaitNoLonger();
    this.ring.leave(member);
    member.to('left');
    if (this.queued) this.visitsLeft = this.members.length;
    if (!this.isWanted) this.parts.rooms.emptied(this);
  }
}

/** What members are told when what they were given is not followed by what comes. */
export function brokenError(reason: Broken, position: Position, firstRev?: number): RevcastError {
  const head = { epoch: position.epoch, rev: position.rev, tag: position.tag };
  return reason === 'epoch_changed'
    ? new RevcastError('epoch_changed', 'the room has another history now: load it again', { details: { head } })
    : new RevcastError('history_truncated', 'revisions after your position are no longer kept: load the room again', {
        details: { head, ...(firstRev === undefined ? {} : { firstRev }) },
      });
}
