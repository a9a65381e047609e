/**
 * Where a subscription begins. Positions are checked against the ring where it knows them, else against pages and the
 * confirmed head, so that nobody is ever given a hole: an answer is a cursor, or `epoch_changed` or
 * `history_truncated`.
 */
import { RevcastError } from '../shared/errors.js';
import type { Head } from '../log/log.js';
import type { ClientPosition } from '../revision/contract.js';
import type { EdgeParts } from './edge-parts.js';
import type { PageAnswer } from './pages.js';
import type { Since } from './protocols/protocol.js';
import { brokenError, type Room } from './room.js';
import type { RoomSnapshot } from './snapshots.js';
import type { Slot } from './slot.js';

/** The cursor, its tag where known, and whether the room stayed the same room while it was found. */
export interface Start {
  readonly cursor: number;
  readonly tag: string;
  /** What the client is given before what follows the cursor; null: it asked for one, and there is none. */
  readonly snapshot?: RoomSnapshot | null;
}

/** Of `epoch_changed` and `history_truncated`. */
const GONE = 410;
/** A snapshot that was kept a moment too long is asked for once more. */
const SNAPSHOT_ATTEMPTS = 2;

/**
 * Throws `epoch_changed`, `history_truncated`, `log_unavailable`. Answers in the same turn when the ring or a kept page
 * decides: of thousands who come back at once, the first of each page waits for it, the others with it.
 */
export function findStart(parts: EdgeParts, room: Room, since: Since): Start | Promise<Start> {
  if (since === 'now') return { cursor: room.position.rev, tag: room.position.tag };
  if (since === 'first') return findFirst(parts, room);
  if (since === 'snapshot') return findSnapshot(parts, room);
  if ('presentRev' in since) {
    const { epoch } = room.position;
    return findStart(parts, room, { epoch, rev: since.presentRev });
  }
  const position = withEpoch(room, since);
  return startInRing(room, position) ?? findPosition(parts, room, position);
}

/**
 * Who joined an empty room, and did not read the epoch of revision 1, has a position without one: its tag tells as
 * well whether the history is the same. Without a tag too it is a position of no epoch, and is refused.
 */
function withEpoch(room: Room, since: ClientPosition): ClientPosition {
  const named = since.epoch !== '' || since.rev === 0 || since.tag === undefined;
  return named ? since : { ...since, epoch: room.position.epoch };
}

/** The start where the ring alone can tell that the position is sound and everything after it is there. */
function startInRing(room: Room, since: ClientPosition): Start | undefined {
  const { ring, position } = room;
  if (since.rev === 0) {
    return position.rev === 0 || ring.firstRev === 1 ? startAtZero(room, since, ring.get(1)) : undefined;
  }
  if (since.epoch !== position.epoch || since.rev > position.rev || since.rev + 1 < ring.firstRev) return undefined;
  const tag = room.tagAt(since.rev);
  if (since.tag === undefined) return { cursor: since.rev, tag: tag ?? '' };
  return tag === since.tag ? { cursor: since.rev, tag } : undefined;
}

/**
 * Revision 0 is before any history, so any epoch will do; but for a room that began with a snapshot there, which only
 * who names its epoch has. `first` is revision 1, where the room has it. Throws `epoch_changed`, `history_truncated`.
 */
function startAtZero({ position }: Room, since: ClientPosition, first: Slot | undefined): Start {
  const beganWithSnapshot = first === undefined ? position.epoch !== '' : first.revision.timeDelta !== null;
  if (beganWithSnapshot && since.epoch !== position.epoch) {
    throw since.epoch === '' ? brokenError('history_truncated', position, 1) : brokenError('epoch_changed', position);
  }
  return { cursor: 0, tag: '' };
}

/**
 * The room's snapshot, and the start behind it: found as for any client that stands there, so that nothing is missing
 * between the two. Without a snapshot it is the start of a client that has nothing.
 */
async function findSnapshot(parts: EdgeParts, room: Room): Promise<Start> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await parts.snapshots.of(room.name);
    if (answer.kind === 'truncated') throw brokenError('history_truncated', answer.head, answer.firstRev);
    const snapshot = answer.kind === 'none' ? null : answer.snapshot;
    try {
      const start = await findStart(parts, room, snapshot === null ? { epoch: '', rev: 0 } : snapshot.position);
      return { ...start, tag: snapshot?.position.tag ?? start.tag, snapshot };
    } catch (error) {
      const passes = attempt < SNAPSHOT_ATTEMPTS && error instanceof RevcastError && error.httpStatus === GONE;
      if (!passes) throw error;
      parts.snapshots.forget(room.name);
    }
  }
}

async function findFirst(parts: EdgeParts, room: Room): Promise<Start> {
  if (room.position.rev === 0 || room.ring.firstRev === 1) return { cursor: 0, tag: '' };
  const answer = await parts.pages.containing(room.name, room.position.epoch, 1);
  switch (answer.kind) {
    case 'page':
      return { cursor: answer.page.firstRev - 1, tag: '' };
    case 'truncated':
      return { cursor: answer.firstRev - 1, tag: '' };
    case 'epoch_changed':
      await room.feed.look();
      throw new RevcastError('log_unavailable', 'the room changes its history just now');
  }
}

function findPosition(parts: EdgeParts, room: Room, since: ClientPosition): Start | Promise<Start> {
  const isAhead = since.rev > 0 && (since.epoch !== room.position.epoch || since.rev > room.position.rev);
  return isAhead ? confirmedPosition(parts, room, since) : checkedByPage(parts, room, since);
}

/** The client has seen more than this edge, or another numbering: look at the confirmed head before saying no. */
async function confirmedPosition(parts: EdgeParts, room: Room, since: ClientPosition): Promise<Start> {
  await room.confirm();
  const start = startInRing(room, since);
  if (start !== undefined) return start;
  const { position } = room;
  // Whether the client's position is sound is not known then.
  if (room.feed.isRepairing && position.rev < since.rev) {
    throw new RevcastError('log_unavailable', 'this edge is behind your position and cannot catch up just now');
  }
  if ((since.rev > 0 && since.epoch !== position.epoch) || since.rev > position.rev) {
    throw brokenError('epoch_changed', position);
  }
  return checkedByPage(parts, room, since);
}

/** The position is older than the ring: its page knows its tag, and whether what follows is still kept. */
function checkedByPage(parts: EdgeParts, room: Room, since: ClientPosition): Start | Promise<Start> {
  const answer = parts.pages.containing(room.name, room.position.epoch, Math.max(1, since.rev));
  return answer instanceof Promise
    ? answer.then((later) => startInAnswer(parts, room, since, later))
    : startInAnswer(parts, room, since, answer);
}

function startInAnswer(
  parts: EdgeParts,
  room: Room,
  since: ClientPosition,
  answer: PageAnswer,
): Start | Promise<Start> {
  switch (answer.kind) {
    case 'epoch_changed':
      throw brokenError('epoch_changed', room.position);
    case 'truncated':
      if (answer.firstRev > since.rev + 1) throw brokenError('history_truncated', answer.head, answer.firstRev);
      return startBeforeOldest(parts, room, since, answer.head);
    case 'page': {
      if (since.rev === 0) return startAtZero(room, since, answer.page.get(1));
      const tag = answer.page.get(since.rev)?.revision.tag;
      if (answer.page.lastRev < since.rev) {
        // This edge has it: whoever answered is behind, or history was lost, which the room finds out.
        room.look();
        throw new RevcastError('log_unavailable', 'the revision service is behind this edge just now');
      }
      if (tag === undefined || (since.tag !== undefined && since.tag !== tag)) {
        throw brokenError('epoch_changed', room.position);
      }
      return { cursor: since.rev, tag };
    }
  }
}

/** The position is right before the oldest kept revision: its tag is the head's, or in the ring, or what follows tells it. */
function startBeforeOldest(parts: EdgeParts, room: Room, since: ClientPosition, head: Head): Start | Promise<Start> {
  const tag = head.epoch === since.epoch && head.rev === since.rev ? head.tag : room.tagAt(since.rev);
  if (tag !== undefined || since.tag === undefined) return startAtTag(room, since, tag);
  const answer = parts.pages.containing(room.name, room.position.epoch, since.rev + 1);
  return answer instanceof Promise
    ? answer.then((later) => startBeforePage(room, since, later))
    : startBeforePage(room, since, answer);
}

function startBeforePage(room: Room, since: ClientPosition, answer: PageAnswer): Start {
  switch (answer.kind) {
    case 'epoch_changed':
      throw brokenError('epoch_changed', room.position);
    case 'truncated':
      throw brokenError('history_truncated', answer.head, answer.firstRev);
    case 'page':
      return startAtTag(room, since, answer.page.firstRev === since.rev + 1 ? answer.page.tagBefore : undefined);
  }
}

/** `tag`: what the room has at the position; undefined: entries that were stored without it do not tell, and the epoch decides. */
function startAtTag(room: Room, since: ClientPosition, tag: string | undefined): Start {
  if (tag !== undefined && since.tag !== undefined && since.tag !== tag) {
    throw brokenError('epoch_changed', room.position);
  }
  return { cursor: since.rev, tag: tag ?? since.tag ?? '' };
}
