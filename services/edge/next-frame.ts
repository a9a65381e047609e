/**
 * What a member is to be sent next. The fast path (a steady member, its next revision in the ring) allocates nothing.
 */
import type { EdgeParts } from './edge-parts.js';
import type { RangeFrames, SlotSource } from './frames.js';
import type { Member } from './member.js';
import type { PreparedFrame } from './prepared-frame.js';

/** The frame after a member's cursor, and the revision that it ends with. Reused: read before the next call. */
export interface NextFrame {
  frame: PreparedFrame;
  lastRev: number;
}

/**
 * Fills `next`; false when the member is at the head, or waits for a page (which is then asked for).
 */
export function nextFrame(parts: EdgeParts, member: Member, next: NextFrame): boolean {
  const { room } = member;
  const { ring } = room;
  if (member.cursor >= ring.headRev) return false;
  if (room.latest && member.state !== 'steady') skipToNewest(member);
  if (member.state === 'catching-up' && !backInRing(parts, member)) return frameFromPage(parts, member, next);
  if (fill(parts, member, next, ring, room.ranges)) return true;
  member.to('overtaken');
  return frameFromPage(parts, member, next);
}

/** Fills `next` from the source; false where it does not have the member's next revision. */
function fill(parts: EdgeParts, member: Member, next: NextFrame, source: SlotSource, kept: RangeFrames): boolean {
  const { protocol } = member.session;
  const rev = member.cursor + 1;
  if (member.batch) {
    // Never beyond the room's head, where a page of a revision service that is ahead of this edge may reach.
    const range = parts.frames.range(kept, protocol, source, rev, member.room.ring.headRev);
    if (range === undefined) return false;
    next.frame = range.frame;
    next.lastRev = range.lastRev;
    return true;
  }
  const slot = source.get(rev);
  if (slot === undefined) return false;
  next.frame = parts.frames.single(slot, protocol);
  next.lastRev = rev;
  return true;
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
function backInRing(parts: EdgeParts, member: Member): boolean {
  const { ring } = member.room;
  if (member.page !== undefined && member.cursor < member.page.lastRev) return false;
  member.page = undefined;
  if (member.cursor + 1 < ring.firstRev) {
    parts.catchUp.request(member);
    return false;
  }
  ring.join(member, member.cursor);
  member.to('reached_ring');
  return true;
}

function frameFromPage(parts: EdgeParts, member: Member, next: NextFrame): boolean {
  const { page } = member;
  if (page !== undefined) return fill(parts, member, next, page, page.ranges);
  parts.catchUp.request(member);
  return false;
}
