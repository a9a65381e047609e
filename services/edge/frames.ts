/**
 * Prepared frames: the body of one revision, or of a range of them, serialized once per encoding and deflated at most
 * once, whatever the number of members and of distinct ids. With EDGE_FANOUT=per-socket nothing is kept, so that the
 * difference can be measured.
 */
import { RevcastError } from '../shared/errors.js';
import type { Position } from '../log/log.js';
import type { EdgeCounters } from './counters.js';
import { MessageRun } from './message-run.js';
import { PreparedFrame } from './prepared-frame.js';
import type { Encoding } from './protocols/protocol.js';
import type { Slot } from './slot.js';
import type { RoomSnapshot } from './snapshots.js';

/** A range in one message ends before it exceeds these. */
const MAX_RANGE_REVISIONS = 500;
const MAX_RANGE_BYTES = 128 * 1024;
/** Bodies of a run. A few times what one cork holds, for sockets that lack more than that. */
const RUN_BYTES = 64 * 1024;

const EMPTY = Buffer.alloc(0);

/** Frames of ranges that end at one head, or in one page, by encoding and first revision. */
export class RangeFrames {
  private bytes = 0;
  private readonly byEncoding: (Map<number, PreparedFrame> | undefined)[] = [];

  /**
   * @param maxBytes of bodies, and as much again for what is deflated; beyond it everything kept is forgotten
   * @param onChange told by how much `keptBytes` has changed
   */
  constructor(
    private readonly maxBytes: number,
    private readonly onChange: (bytes: number) => void = () => undefined,
  ) {}

  /** What it keeps, as it counts. */
  get keptBytes(): number {
    return this.bytes;
  }

  get(encoding: Encoding, firstRev: number): PreparedFrame | undefined {
    return this.byEncoding[encoding.index]?.get(firstRev);
  }

  set(encoding: Encoding, firstRev: number, frame: PreparedFrame): void {
    const bytes = 2 * frame.body.length;
    if (this.bytes + bytes > this.maxBytes) this.clear();
    this.bytes += bytes;
    this.onChange(bytes);
    const frames = this.byEncoding[encoding.index] ?? new Map<number, PreparedFrame>();
    this.byEncoding[encoding.index] = frames;
    frames.set(firstRev, frame);
  }

  clear(): void {
    if (this.bytes === 0) return;
    this.onChange(-this.bytes);
    this.bytes = 0;
    for (const frames of this.byEncoding) frames?.clear();
  }
}

/** Where the revisions of a range are: a room's ring, or a page. */
export interface SlotSource {
  get(rev: number): Slot | undefined;
  /** So many bytes were prepared of it and are kept with it; of sources that count them. */
  prepared?(bytes: number): void;
}

/** A page, whose runs are kept with it. */
export interface RunSource extends SlotSource {
  readonly firstRev: number;
  readonly runs: (RevisionRun | null | undefined)[][];
  runStart(rev: number): number;
  rangeEnd(rev: number): number;
}

/** Uncompressed messages of consecutive revisions, one each. */
export interface RevisionRun {
  readonly messages: MessageRun;
  readonly firstRev: number;
  /** The slot of firstRev, by which a run is known to be of this room and its present history. */
  readonly first: Slot;
  /** Where it was to end. */
  readonly endRev: number;
}

export class Frames {
  /** The newest run for sockets that do not deflate, and for those that do, by encoding. */
  private readonly runs: (RevisionRun | undefined)[] = [];

  constructor(
    private readonly options: { minSavingBytes: number; shared: boolean },
    private readonly counters: EdgeCounters,
  ) {}

  /** The frame of one revision. */
  single(slot: Slot, encoding: Encoding, source?: SlotSource): PreparedFrame {
    const kept = slot.frames[encoding.index];
    if (kept !== undefined) return kept;
    const frame = this.prepareSingle(slot, encoding);
    if (this.options.shared) {
      slot.frames[encoding.index] = frame;
      // As much again for what is deflated.
      source?.prepared?.(2 * frame.bodyBytes);
    }
    return frame;
  }

  /** The answer to who joins with the snapshot. */
  joined(snapshot: RoomSnapshot, encoding: Encoding): PreparedFrame {
    const kept = snapshot.frames[encoding.index];
    if (kept !== undefined) return kept;
    const { room, position } = snapshot;
    const frame = this.prepare(encoding.joined(room, position, snapshot.snapshot), position.rev);
    if (this.options.shared) snapshot.frames[encoding.index] = frame;
    return frame;
  }

  /** The answer to who asked for a snapshot in a room that has none. */
  joinedWithout(room: string, position: Position, encoding: Encoding): PreparedFrame {
    return this.prepare(encoding.joined(room, position, null), position.rev);
  }

  /**
   * The frame of the revisions from `firstRev` to at most `endRev` in one message, as many as fit; undefined where the
   * source does not have the first.
   */
  range(
    kept: RangeFrames,
    encoding: Encoding,
    source: SlotSource,
    firstRev: number,
    endRev: number,
  ): PreparedFrame | undefined {
    const found = kept.get(encoding, firstRev);
    if (found !== undefined) return found;
    const slots: Slot[] = [];
    let bytes = 0;
    for (let rev = firstRev; rev <= endRev && slots.length < MAX_RANGE_REVISIONS; rev += 1) {
      const slot = source.get(rev);
      if (slot === undefined) break;
      bytes += slot.revision.data.length;
      if (slots.length > 0 && bytes > MAX_RANGE_BYTES) break;
      slots.push(slot);
    }
    if (slots.length === 0) return undefined;
    const frame = this.prepare(encoding.batch(slots), firstRev + slots.length - 1);
    if (this.options.shared) kept.set(encoding, firstRev, frame);
    return frame;
  }

  /**
   * The uncompressed messages of single revisions from `rev` (or before it) to `endRev` or as many as RUN_BYTES hold, and
   * for a socket that deflates before the first that is sent deflated; undefined where `rev` is in no run. Only the
   * newest is kept: members are visited room by room, and most members of a room lack the same.
   */
  run(source: SlotSource, encoding: Encoding, rev: number, endRev: number, deflates: boolean): RevisionRun | undefined {
    const place = 2 * encoding.index + (deflates ? 1 : 0);
    const kept = this.runs[place];
    if (
      kept !== undefined &&
      kept.endRev === endRev &&
      kept.firstRev <= rev &&
      rev < kept.firstRev + kept.messages.count &&
      kept.first === source.get(kept.firstRev)
    ) {
      return kept;
    }
    const run = this.options.shared ? this.newRun(source, encoding, rev, endRev, deflates) : undefined;
    if (run !== undefined) this.runs[place] = run;
    return run;
  }

  /**
   * The uncompressed messages of single revisions of a page, begun at a fixed revision, that have `rev` among them: the
   * same for all who are sent from the page. undefined where a socket that deflates gets `rev` deflated.
   */
  pageRun(page: RunSource, encoding: Encoding, rev: number, deflates: boolean): RevisionRun | undefined {
    if (!this.options.shared) return undefined;
    const place = 2 * encoding.index + (deflates ? 1 : 0);
    const runs = (page.runs[place] ??= []);
    let at = page.runStart(rev);
    for (; runs[rev - page.firstRev] === undefined && at <= rev;) {
      const known = runs[at - page.firstRev];
      if (known !== undefined) at += known === null ? 1 : known.firstRev + known.messages.count - at;
      else at += this.addRun(page, runs, encoding, at, deflates);
    }
    return runs[rev - page.firstRev] ?? undefined;
  }

  /** Makes the run that begins with `rev`; how many revisions are then known to be in a run or in none. */
  private addRun(
    page: RunSource,
    runs: (RevisionRun | null | undefined)[],
    encoding: Encoding,
    rev: number,
    deflates: boolean,
  ): number {
    const run = this.newRun(page, encoding, rev, page.rangeEnd(rev), deflates);
    const count = run?.messages.count ?? 1;
    for (let i = 0; i < count; i += 1) runs[rev + i - page.firstRev] = run ?? null;
    if (run !== undefined) page.prepared?.(run.messages.bytes);
    return count;
  }

  private newRun(
    source: SlotSource,
    encoding: Encoding,
    firstRev: number,
    endRev: number,
    deflates: boolean,
  ): RevisionRun | undefined {
    const bodies: Buffer[] = [];
    let bytes = 0;
    for (let rev = firstRev; rev <= endRev; rev += 1) {
      const slot = source.get(rev);
      if (slot === undefined) break;
      const frame = this.single(slot, encoding, source);
      bytes += frame.bodyBytes;
      if (frame.bodyBytes === 0 || bytes > RUN_BYTES || (deflates && frame.deflated() !== null)) break;
      bodies.push(frame.body);
    }
    const first = source.get(firstRev);
    if (bodies.length === 0 || first === undefined) return undefined;
    return { messages: new MessageRun(bodies), firstRev, first, endRev };
  }

  /** What cannot be told is a frame too, so that it is found out once. */
  private prepareSingle(slot: Slot, encoding: Encoding): PreparedFrame {
    const { rev } = slot.revision;
    try {
      return this.prepare(encoding.single(slot), rev);
    } catch (error) {
      if (!(error instanceof RevcastError)) throw error;
      return new PreparedFrame(EMPTY, rev, this.options.minSavingBytes, this.counters, error);
    }
  }

  private prepare(body: Buffer, lastRev: number): PreparedFrame {
    return new PreparedFrame(body, lastRev, this.options.minSavingBytes, this.counters);
  }
}
