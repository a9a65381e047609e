/**
 * One revision as the edge keeps it, in a room's ring or in a catch-up page, with the frames that were prepared of it:
 * one per protocol, made when the first member needs it, the same for every member.
 */
import type { Entry } from '../log/log.js';
import type { RevisionFields } from '../log/revision-json.js';
import type { RingSlot } from './frame-ring.js';
import type { PreparedFrame } from './prepared-frame.js';

/** What a slot costs beside its data: its objects, and those of its frame, as measured (300 bytes of data: 2.7 KB). */
const SLOT_OVERHEAD_BYTES = 2_000;

export class Slot implements RingSlot {
  /** The data, and about as much again for its frame. */
  readonly bytes: number;
  /** By protocol index. */
  readonly frames: (PreparedFrame | undefined)[] = [];

  constructor(
    readonly revision: RevisionFields,
    /** Of the room's numbering; the revision itself names it only where it begins. */
    readonly epoch: string,
  ) {
    this.bytes = SLOT_OVERHEAD_BYTES + 2 * revision.data.length;
  }
}

/** A slot for each revision of the entry. timeDelta is null for the room's very first revision. */
export function slotsOf(entry: Entry): Slot[] {
  let previousTime = entry.previousTime;
  return entry.revisions.map((stored, index) => {
    const timeDelta = previousTime === 0 ? null : stored.time - previousTime;
    previousTime = stored.time;
    const rev = entry.firstRev + index;
    const revision = {
      room: entry.room,
      ...(rev === 1 ? { epoch: entry.epoch } : {}),
      rev,
      tag: entry.tag,
      time: stored.time,
      timeDelta,
      ...(stored.author === undefined ? {} : { author: stored.author }),
      data: stored.data,
    };
    return new Slot(revision, entry.epoch);
  });
}
