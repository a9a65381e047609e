/**
 * What one read of the log says about a position: whether what was read follows it without a hole, or what has to be
 * read or confirmed before that can be said. Pure, so that every case is a line in a test.
 *
 * A read may be a little stale, and the room may change between two reads. So nothing drastic is concluded here: what
 * contradicts the position is a `suspicion`, and the service asks the log's leader before it says `epoch_changed`.
 */
import { cutEntry } from '../log/entry-range.js';
import { headOf, lastRev, type Entry, type Head, type Range } from '../log/log.js';
import type { ClientPosition } from './contract.js';

/** A read of the log on behalf of someone who stands at `after`. */
export interface ReadPoint {
  readonly after: ClientPosition | null;
  /** 'position': the read began at `after.rev` itself, to see its tag; 'next': behind it, or at the oldest kept. */
  readonly from: 'position' | 'next';
}

export type Verdict =
  /** Entries right behind the position, at least one. */
  | { readonly kind: 'follows'; readonly entries: readonly Entry[]; readonly head: Head }
  /** Nothing is behind the position, as far as this read sees. */
  | { readonly kind: 'at_head'; readonly head: Head | null }
  /** The position is the log's, but the read had no room for what follows: read behind it. */
  | { readonly kind: 'read_behind'; readonly hint: number }
  /** The position is just older than what is kept: what follows tells its tag (but old entries, where its epoch decides). */
  | { readonly kind: 'tag_gone' }
  | { readonly kind: 'truncated'; readonly firstRev: number; readonly head: Head }
  /** 'rewritten': another tag stands at the position. 'elsewhere': another epoch, above the head, or nothing there. */
  | { readonly kind: 'suspicion'; readonly of: 'elsewhere' | 'rewritten' };

const ELSEWHERE: Verdict = { kind: 'suspicion', of: 'elsewhere' };
const REWRITTEN: Verdict = { kind: 'suspicion', of: 'rewritten' };

/** Whether a position stands before revision 1 of whatever numbering the room has. */
export function isStart(position: ClientPosition): boolean {
  return position.rev === 0 && position.epoch === '';
}

/** Whether the position can have a tag to check. */
export function hasTag(position: ClientPosition): boolean {
  return position.rev > 0 && position.tag !== undefined && position.tag !== '';
}

export function judge({ after, from }: ReadPoint, range: Range): Verdict {
  // From the oldest kept or from revision 1, any numbering will do.
  const epoch = after === null || isStart(after) ? null : after.epoch;
  switch (range.kind) {
    case 'empty':
      return epoch === null ? { kind: 'at_head', head: null } : ELSEWHERE;
    case 'truncated':
      if (after === null || (epoch !== null && epoch !== range.head.epoch)) return ELSEWHERE;
      if (from === 'position' && range.firstRev === after.rev + 1) {
        return range.head.rev === after.rev ? atHead(after, range.head) : { kind: 'tag_gone' };
      }
      return { kind: 'truncated', firstRev: range.firstRev, head: range.head };
    case 'entries':
      if (epoch !== null && epoch !== range.head.epoch) return ELSEWHERE;
      if (after !== null && epoch === null && beganWithSnapshot(range.entries[0], range.head)) {
        return { kind: 'truncated', firstRev: 1, head: range.head };
      }
      if (after === null) return judgeFromNext(after, range.entries, range.head);
      if (from === 'position') return judgeFromPosition(after, range.entries, range.head);
      return isBehindAnother(after, range.entries[0]) ? REWRITTEN : judgeFromNext(after, range.entries, range.head);
  }
}

function judgeFromPosition(after: ClientPosition, entries: readonly Entry[], head: Head): Verdict {
  const first = entries[0];
  if (first === undefined || first.epoch !== head.epoch) return ELSEWHERE;
  if (first.firstRev !== after.rev) throw holeError(first, after.rev);
  if (first.tag !== after.tag) return REWRITTEN;
  const behind = lastRev(first) === after.rev ? [] : [cutEntry(first, after.rev + 1, first.revisions.length - 1)];
  const following = [...behind, ...entries.slice(1)];
  if (following.length > 0) return judgeFromNext(after, following, head);
  return head.rev > after.rev ? { kind: 'read_behind', hint: first.seq } : { kind: 'at_head', head };
}

function judgeFromNext(after: ClientPosition | null, entries: readonly Entry[], head: Head): Verdict {
  const first = entries[0];
  // From the oldest kept on there is nothing where the room has only the snapshot that it began with.
  if (first === undefined) {
    if (after === null) return { kind: 'at_head', head };
    return head.rev === after.rev ? atHead(after, head) : ELSEWHERE;
  }
  // A numbering that began while this was read: none of it belongs behind the position.
  if (first.epoch !== head.epoch) return ELSEWHERE;
  const same = entries.filter((entry) => entry.epoch === first.epoch);
  let expected = after === null ? first.firstRev : after.rev + 1;
  for (const entry of same) {
    if (entry.firstRev !== expected) throw holeError(entry, expected);
    expected = lastRev(entry) + 1;
  }
  return { kind: 'follows', entries: same, head: newerHead(head, same) };
}

/** Whether the entry was numbered behind another revision than the position's, which itself may not be kept any more. */
function isBehindAnother(after: ClientPosition, next: Entry | undefined): boolean {
  const tag = next?.firstRev === after.rev + 1 ? next.previousTag : undefined;
  return tag !== undefined && hasTag(after) && after.tag !== tag;
}

/** The head is the position: its tag says whether it is the same revision, also where its entry is not kept. */
function atHead(after: ClientPosition, head: Head): Verdict {
  return hasTag(after) && after.tag !== head.tag ? REWRITTEN : { kind: 'at_head', head };
}

/** Whether a room that has all from revision 1 on began with a snapshot, at revision 0: there was a time before it. */
function beganWithSnapshot(first: Entry | undefined, head: Head): boolean {
  return first === undefined ? head.rev === 0 : first.firstRev === 1 && first.previousTime > 0;
}

/** The head, or what was read if that is newer: the head may have been looked up first. */
function newerHead(head: Head, entries: readonly Entry[]): Head {
  const last = entries.at(-1);
  return last !== undefined && lastRev(last) > head.rev ? headOf(last) : head;
}

/** The log broke its rule L7. Better no answer than a hole. */
function holeError(entry: Entry, expectedRev: number): Error {
  return new Error(
    `invariant broken: the log answered revision ${entry.firstRev} of room ${JSON.stringify(entry.room)} where ${expectedRev} follows`,
  );
}
