/**
 * What a writer knows of a room: the end of its history, up to which it has read, and the keys on the way. Pure: each
 * function takes a state and an entry and gives the next state.
 *
 * Invariant: `seq` is the seq of an entry that was committed, and `rev`, `epoch`, `tag`, `time` are that entry's. So a
 * revision number below `rev` is certainly taken, and an entry put behind `seq` is stored only if nothing else was.
 */
import { randomBytes } from 'node:crypto';
import { headOf, type Entry, type Head } from './log.js';
import type { KeyWindow } from './key-window.js';

export interface Numbering {
  /** Empty: the room has no revisions that count; the next append mints an epoch. */
  readonly epoch: string;
  readonly rev: number;
  readonly tag: string;
  /** seq to put behind. */
  readonly seq: number;
  /** Times never go below it. */
  readonly time: number;
  /** undefined: not read yet. */
  readonly keys: KeyWindow | undefined;
}

const EMPTY_ROOM: Numbering = { epoch: '', rev: 0, tag: '', seq: 0, time: 0, keys: undefined };

/** The state of a reader that stands at the room's newest entry and has not read its keys. */
export function numberingAt(newest: Entry | null): Numbering {
  return newest === null ? EMPTY_ROOM : { ...headOf(newest), keys: undefined };
}

/**
 * The state after history was lost or rewritten (SPEC L9), when the log ends with `newest`. What others have numbered
 * since goes on, so that nothing they were acknowledged is cut off: it has another epoch, or is younger than all that
 * was known. Otherwise `newest` is what is left of the lost history, and the next append begins a new epoch behind it.
 */
export function numberingAfterLoss(known: Numbering, newest: Entry | null): Numbering {
  if (newest === null) return EMPTY_ROOM;
  const left = numberingAt(newest);
  const isYounger = left.time > known.time;
  // Given up already, and looked at again before anything was put behind it: it stays given up.
  const isGivenUp = known.epoch === '' && known.seq > 0 && left.seq <= known.seq && !isYounger;
  if (!isGivenUp && (left.epoch !== known.epoch || isYounger)) return left;
  return { ...EMPTY_ROOM, seq: left.seq, time: left.time };
}

/**
 * The state after reading `entry`, the first one behind `state.seq`; 'rewritten' when it cannot stand there: then the
 * log has lost what this writer saw, and other entries took the place under the same epoch.
 */
export function readForward(state: Numbering, entry: Entry): Numbering | 'rewritten' {
  if (entry.epoch === state.epoch) {
    const follows = entry.firstRev === state.rev + 1 && entry.previousSeq === state.seq;
    // Retention may have removed entries in between.
    const leavesGap = entry.firstRev > state.rev + 1 && entry.previousSeq > state.seq;
    if (!follows && !leavesGap) return 'rewritten';
    if (leavesGap) return numberingAt(entry);
  } else if (state.epoch !== '' || state.seq !== entry.previousSeq) {
    return numberingAt(entry);
  }
  state.keys?.add(entry);
  return { ...headOf(entry), keys: state.keys };
}

/** The head as a conflict's answer tells it. */
export function headDetails(state: Numbering): Pick<Head, 'epoch' | 'rev' | 'tag' | 'time'> {
  return { epoch: state.epoch, rev: state.rev, tag: state.tag, time: state.time };
}

export function newEpoch(): string {
  return randomBytes(8).toString('base64url');
}

/** Eight hex digits, never zero (zero stands for "not checked" on the wire). */
export function newTag(): string {
  const tag = randomBytes(4);
  if (tag.readUInt32BE() === 0) tag[3] = 1;
  return tag.toString('hex');
}

export function newAppendId(): string {
  return randomBytes(12).toString('base64url');
}
