/**
 * The blocks of a room, for questions by height: the newest block, and the hash at a height. The room is followed while it
 * is asked about and a little longer, like one with members; what comes is taken in when somebody asks, from the room's
 * ring, so an answer usually needs no reading and no wait. Older revisions are read page by page, only as far back as was
 * asked, and once: whoever asks meanwhile waits for the same page.
 *
 * Limits: `maxBlocks` (see BlockHeights), so one question costs at most that many revisions' pages; MAX_TRIES when
 * the room's history breaks again and again meanwhile.
 */
import { RevcastError } from '../shared/errors.js';
import { readBlock, type BlockData, type KnownBlock } from './block-data.js';
import { BlockHeights } from './block-heights.js';
import type { EdgeParts } from './edge-parts.js';
import type { Room } from './room.js';
import type { Slot } from './slot.js';

const MAX_TRIES = 5;
/** Revisions that are taken from the ring in one go. */
const RING_STEP = 200;

interface Kept {
  readonly room: Room;
  /** The room's, when this was begun: another means another history. */
  readonly generation: number;
  readonly heights: BlockHeights;
}

export class Blocks {
  private kept: Kept | undefined;
  private reading: Promise<void> | undefined;

  constructor(
    private readonly parts: Pick<EdgeParts, 'rooms' | 'pages'>,
    private readonly roomName: string,
    private readonly maxBlocks: number,
  ) {}

  /** Throws `not_found` (the room has no block), `log_unavailable`, and what opening a room throws. */
  newest(): KnownBlock | Promise<KnownBlock> {
    return this.find(
      (heights) => heights.newest ?? (heights.isWhole ? undefined : null),
      () => 'there is no block yet',
    );
  }

  /** The hash of the chain's block at the height. Throws `not_found`, and what `newest` throws. */
  hashAt(height: number): string | Promise<string> {
    return this.find(
      (heights) => heights.find(height),
      () => `no block of height ${height} is known here`,
    );
  }

  /** @param look what is known; null: older revisions may tell; undefined: nothing will */
  private find<T extends object | string>(
    look: (heights: BlockHeights) => T | null | undefined,
    complaint: () => string,
  ): T | Promise<T> {
    const heights = this.upToDate();
    const found = heights === undefined ? null : look(heights);
    if (found === null) return this.findOlder(look, complaint);
    if (found === undefined) throw new RevcastError('not_found', complaint());
    return found;
  }

  private async findOlder<T extends object | string>(
    look: (heights: BlockHeights) => T | null | undefined,
    complaint: () => string,
  ): Promise<T> {
    for (let tries = 0; tries < MAX_TRIES;) {
      this.reading ??= this.read().finally(() => {
        this.reading = undefined;
      });
      await this.reading;
      const heights = this.upToDate();
      if (heights === undefined) {
        tries += 1;
        continue;
      }
      const found = look(heights);
      if (found === undefined) throw new RevcastError('not_found', complaint());
      if (found !== null) return found;
    }
    throw new RevcastError('log_unavailable', 'the room changes its history just now');
  }

  /** What is known, with all that has come; undefined: that is not in the ring, or is of another history. */
  private upToDate(): BlockHeights | undefined {
    if (this.kept === undefined) return undefined;
    const { room, generation, heights } = this.kept;
    if (!room.isOpen || room.generation !== generation) return undefined;
    while (heights.lastRev < room.ring.headRev) {
      const slot = room.ring.get(heights.lastRev + 1);
      if (slot === undefined) return undefined;
      heights.addNewer(blockOf(slot));
    }
    return heights;
  }

  /** One step: up to the head, or a page further back. */
  private async read(): Promise<void> {
    const opened = this.parts.rooms.get(this.roomName);
    const room = opened instanceof Promise ? await opened : opened;
    room.joining += 1;
    try {
      const heights = this.upToDate();
      if (heights === undefined) await this.begin(room);
      else await this.readOlder(room, heights);
    } finally {
      room.joining -= 1;
      if (!room.isWanted) this.parts.rooms.emptied(room);
    }
  }

  /** Goes on to the head from what is known of this history, or begins anew there. */
  private async begin(room: Room): Promise<void> {
    const { generation, position } = room;
    const { kept } = this;
    const goesOn = kept?.room === room && kept.generation === generation;
    if (!goesOn || position.rev - kept.heights.lastRev > this.maxBlocks) {
      this.kept = { room, generation, heights: new BlockHeights(position.rev, this.maxBlocks) };
      return;
    }
    const { heights } = kept;
    while (heights.lastRev < position.rev) {
      const rev = heights.lastRev + 1;
      const slots = await this.slotsFrom(room, rev);
      if (room.generation !== generation || heights.lastRev + 1 !== rev) return;
      if (slots === 'truncated') {
        this.kept = undefined;
        return;
      }
      for (const slot of slots.newer) if (heights.lastRev < position.rev) heights.addNewer(blockOf(slot));
    }
  }

  private async readOlder(room: Room, heights: BlockHeights): Promise<void> {
    const { generation } = room;
    const rev = heights.firstRev - 1;
    const inRing: (BlockData | undefined)[] = [];
    for (let at = rev; inRing.length < RING_STEP; at -= 1) {
      const slot = room.ring.get(at);
      if (slot === undefined) break;
      inRing.push(blockOf(slot));
    }
    if (inRing.length > 0) {
      heights.addOlder(inRing);
      return;
    }
    const slots = await this.slotsFrom(room, rev);
    if (room.generation !== generation) return;
    if (slots === 'truncated') heights.end();
    else heights.addOlder(slots.older.map(blockOf));
  }

  /** Of the page with the revision: those from it on, and those from it back. Throws `log_unavailable`, `overloaded`. */
  private async slotsFrom(
    room: Room,
    rev: number,
  ): Promise<{ newer: readonly Slot[]; older: readonly Slot[] } | 'truncated'> {
    const answer = await this.parts.pages.containing(room.name, room.position.epoch, rev);
    if (answer.kind === 'truncated') return 'truncated';
    if (answer.kind === 'page' && answer.page.get(rev) !== undefined) {
      const { slots, firstRev } = answer.page;
      const at = rev - firstRev;
      return { newer: slots.slice(at), older: slots.slice(0, at + 1).reverse() };
    }
    // Whoever answered is behind this edge, or history was lost, which the room finds out.
    room.look();
    throw new RevcastError('log_unavailable', 'the revision service is behind this edge just now');
  }
}

function blockOf({ revision }: Slot): BlockData | undefined {
  return readBlock(revision.data);
}
