/**
 * What a member is to be sent next. The fast path (a steady member, its next revision in the ring) allocates nothing.
 */
import type { EdgeParts } from './edge-parts.js';
import type { RangeFrames, RevisionRun, SlotSource } from './frames.js';
import type { Member } from './member.js';
import { OPENING_BYTES } from './message-run.js';
import type { PreparedFrame } from './prepared-frame.js';

/** How messages to a socket are compressed. */
export type Deflate = 'off' | 'once' | 'per-socket';

/**
 * The frame of what follows `given`: the member's cursor, or for a steady member what it was sent since, in the same
 * visit. undefined when that is the head, or the member needs a page: its session asks for it when its socket is empty.
 */
export function nextFrame(parts: EdgeParts, member: Member, given: number): PreparedFrame | undefined {
  const { room } = member;
  const { ring } = room;
  if (given >= ring.headRev) return undefined;
  if (given >= member.encodedUntil) member.encodeOn();
  let after = given;
  if (member.state !== 'steady') {
    if (room.latest) skipToNewest(member);
    if (member.state === 'catching-up' && !backInRing(member)) return frameFromPage(parts, member);
    after = member.cursor;
  }
  const frame = frameFrom(parts, member, after + 1, ring, room.ranges, ring.headRev);
  if (frame === undefined) member.to('overtaken');
  return frame;
}

/** The run that has what follows `given`: of the room's newest revisions, or of the member's page. */
export function nextRun(
  { frames }: EdgeParts,
  member: Member,
  given: number,
  deflate: Deflate,
): RevisionRun | undefined {
  const { room, page, state, batch, encoding } = member;
  const { ring } = room;
  if (given >= member.encodedUntil) member.encodeOn();
  if (batch || ring.headRev - given <= 1) return undefined;
  if (member.openingBytes > OPENING_BYTES || deflate === 'per-socket') return undefined;
  const deflates = deflate === 'once';
  if (state === 'catching-up') {
    const isInPage = page?.get(given + 1) !== undefined && !room.latest;
    return isInPage ? frames.pageRun(page, encoding, given + 1, deflates) : undefined;
  }
  if (state === 'lagging' && room.latest) return undefined;
  return frames.run(ring, encoding, given + 1, ring.headRev, deflates);
}

/** The frame that begins with `rev`; undefined where the source does not have it. */
function frameFrom(
  { frames }: EdgeParts,
  member: Member,
  rev: number,
  source: SlotSource,
  kept: RangeFrames,
  rangeEnd: number,
): PreparedFrame | undefined {
  const { encoding } = member;
  // Never beyond the room's head, where a page of a revision service that is ahead of this edge may reach.
  const endRev = Math.min(rangeEnd, member.room.ring.headRev);
  if (member.batch) return frames.range(kept, encoding, source, rev, endRev);
  const slot = source.get(rev);
  return slot === undefined ? undefined : frames.single(slot, encoding, source);
}

function skipToNewest(member: Member): void {
  const { room } = member;
  const target = room.ring.headRev - 1;
  if (target < room.ring.firstRev - 1 || target <= member.cursor) return;
  room.counters.revisionsSkipped += target - member.cursor;
  member.page = undefined;
  room.ring.join(member, target);
  if (member.state === 'catching-up') member.to('reached_ring');
}

/** A catching-up member whose page is sent is back when the ring has its next revision. */
function backInRing(member: Member): boolean {
  const { ring } = member.room;
  if (member.page !== undefined && member.cursor < member.page.lastRev) return false;
  member.page = undefined;
  if (member.cursor + 1 < ring.firstRev) return false;
  ring.join(member, member.cursor);
  member.to('reached_ring');
  return true;
}

function frameFromPage(parts: EdgeParts, member: Member): PreparedFrame | undefined {
  const { page } = member;
  const rev = member.cursor + 1;
  return page === undefined ? undefined : frameFrom(parts, member, rev, page, page.ranges, page.rangeEnd(rev));
}
