/**
 * One broadcast to the members of a room, without the socket writes: what an ordinary server does (for every socket,
 * the message made into text, encoded and deflated) and what the edge does (the body serialized and deflated once; for
 * every member its slot, its frame and its fragments looked up, and its cursor moved on). Both build the same messages
 * byte for byte, which is checked, with the same deflate call. The edge's own parts are used: ring, frames, protocol.
 *
 * Ids are distinct per room: 1 means that all members chose the same, `members` that each has its own. The members'
 * stored blocks are made when they subscribe, not in the broadcast. Repetitions of all cells and of both ways take
 * turns, the first is not counted; times are medians of CPU time.
 */
import { constants, deflateRawSync } from 'node:zlib';
import { deflateBody, inflateFragments, storedBlock } from '../../services/edge/compress-once.js';
import { CountedRing } from '../../services/edge/counted-ring.js';
import { EdgeCounters } from '../../services/edge/counters.js';
import { NO_PLACE, type RingReader } from '../../services/edge/frame-ring.js';
import { Frames } from '../../services/edge/frames.js';
import { plain } from '../../services/edge/protocols/plain.js';
import { RingBudget } from '../../services/edge/ring-budget.js';
import { Slot } from '../../services/edge/slot.js';
import { assert } from '../../services/shared/errors.js';
import { allocatedPerStep } from './allocation.js';
import type { BenchOptions } from './bench-options.js';
import { cpuNs } from './cpu-time.js';
import { spread, type Spread } from './load/paired.js';
import { payload } from './load/payload.js';
import { Table } from './table.js';

const MEMBERS = 10_000;
const QUICK_MEMBERS = 2_000;
const REPETITIONS = 9;
const QUICK_REPETITIONS = 5;
const ID_COUNTS = [1, 100, 10_000];
const BODY_BYTES = [300, 4_000];
/** The edge's broadcasts that one repetition times together: one alone is too short. */
const BROADCASTS = 20;
/** Members whose messages are one step of the measurement of allocation. */
const MEMBERS_PER_STEP = 50;
const MIN_STEPS = 21;
const BOUNDS = { keepRevisions: 0, keepBytes: 0, maxRevisions: 1_000, maxBytes: 1e9 };

interface FramesRow {
  readonly bench: 'frames';
  readonly ids: number;
  readonly bytes: number;
  readonly members: number;
  readonly beforeNs: number;
  readonly afterNs: number;
  readonly beforeAllocatedBytes: number;
  readonly afterAllocatedBytes: number;
  /** Bodies serialized and deflated by the edge per broadcast. */
  readonly serialized: number;
  readonly deflated: number;
  /** beforeNs / afterNs. */
  readonly ratio: number;
  readonly beforeNsRange: readonly [number, number];
  readonly afterNsRange: readonly [number, number];
}

interface BenchMember extends RingReader {
  readonly id: string;
  readonly deflates: boolean;
  readonly stored: Buffer;
}

/** A revision as both ways get it: the ordinary server has the value, the edge its JSON text. */
interface BenchRevision {
  readonly fields: { readonly room: string; readonly tag: string; readonly time: number; readonly timeDelta: number };
  readonly value: unknown;
  readonly data: Buffer;
}

/** Where fragments go instead of sockets. In an array: a variable's sum, once large, would be a new number each time. */
const takenBytes = new Float64Array(1);
function take(fragment: Buffer): void {
  takenBytes[0] = (takenBytes[0] ?? 0) + fragment.length;
}

class Cell {
  readonly before: number[] = [];
  readonly after: number[] = [];
  private readonly counters = new EdgeCounters();
  private readonly frames = new Frames({ minSavingBytes: 0, shared: true }, this.counters);
  private readonly ring = new CountedRing<Slot>(0, BOUNDS, new RingBudget(Number.POSITIVE_INFINITY, this.counters));
  private readonly members: readonly BenchMember[];
  private readonly revisions: readonly BenchRevision[];

  constructor(
    readonly ids: number,
    readonly bytes: number,
    members: number,
  ) {
    this.members = Array.from({ length: members }, (_, i) => {
      const id = String(i % ids);
      const stored = storedBlock(plain.own(JSON.stringify(id), false));
      const member = { cursor: 0, place: NO_PLACE, id, deflates: true, stored };
      this.ring.join(member, 0);
      return member;
    });
    this.revisions = Array.from({ length: 32 }, (_, i) => {
      const data = payload(bytes);
      const fields = { room: 'bench', tag: '1f2e3d4c', time: 1_700_000_000_000 + i, timeDelta: 1 };
      return { fields, data, value: JSON.parse(data.toString()) as unknown };
    });
    this.check();
  }

  measure(): void {
    const before = cpuNs(() => {
      for (const member of this.members) this.sendOrdinary(member, 1);
    });
    const after = cpuNs(() => {
      for (let i = 0; i < BROADCASTS; i++) this.broadcast();
    });
    this.before.push(before);
    this.after.push(after / BROADCASTS);
  }

  /** Forgets what was measured: code that has just begun to run is not what a server runs. */
  forget(): void {
    this.before.length = 0;
    this.after.length = 0;
  }

  row(): FramesRow {
    const before = spread(this.before);
    const after = spread(this.after);
    const steps = Math.max(MIN_STEPS, Math.ceil(this.members.length / MEMBERS_PER_STEP));
    const beforeStep = allocatedPerStep(steps, (step) => {
      for (let i = 0; i < MEMBERS_PER_STEP; i++) this.sendOrdinary(this.member(step * MEMBERS_PER_STEP + i), 1);
    });
    const { bodiesSerialized, bodiesDeflated } = this.counters;
    const firstRev = this.ring.headRev;
    const afterStep = allocatedPerStep(BROADCASTS, () => {
      this.broadcast();
    });
    const broadcasts = this.ring.headRev - firstRev;
    return {
      bench: 'frames',
      ids: this.ids,
      bytes: this.bytes,
      members: this.members.length,
      beforeNs: Math.round(before.median),
      afterNs: Math.round(after.median),
      beforeAllocatedBytes: Math.round((beforeStep * this.members.length) / MEMBERS_PER_STEP),
      afterAllocatedBytes: Math.round(afterStep),
      serialized: (this.counters.bodiesSerialized - bodiesSerialized) / broadcasts,
      deflated: (this.counters.bodiesDeflated - bodiesDeflated) / broadcasts,
      ratio: Math.round(before.median / after.median),
      beforeNsRange: range(before),
      afterNsRange: range(after),
    };
  }

  /** As an ordinary server: this socket's message, made for it alone. */
  private sendOrdinary(member: BenchMember, rev: number): void {
    take(deflateBody(Buffer.from(this.ordinaryText(member, rev))));
  }

  private ordinaryText({ id }: BenchMember, rev: number): string {
    const { fields, value } = this.revision(rev);
    const { room, tag, time, timeDelta } = fields;
    return JSON.stringify({ id, data: { room, rev, tag, time, timeDelta, data: value } });
  }

  /** As the edge: a revision arrives, every member is visited. */
  private broadcast(): void {
    const { ring, frames, members } = this;
    const rev = ring.headRev + 1;
    const { fields, data } = this.revision(rev);
    ring.push(new Slot({ ...fields, rev, data }, 'e1'));
    for (let i = 0; i < members.length; i++) {
      const member = members[i];
      if (member === undefined) continue;
      const slot = ring.get(member.cursor + 1);
      if (slot === undefined) continue;
      const frame = frames.single(slot, plain);
      const body = member.deflates ? frame.deflated() : null;
      if (body === null) take(frame.body);
      else {
        take(plain.first);
        take(member.stored);
        take(body);
      }
      ring.advance(member, rev);
    }
  }

  /** Both ways give every member the same message, and the edge's fragments inflate to it. */
  private check(): void {
    const rev = this.ring.headRev + 1;
    const { fields, data } = this.revision(rev);
    const body = this.frames.single(new Slot({ ...fields, rev, data }, 'e1'), plain).deflated();
    assert(body !== null, 'the frame is compressed');
    const first = deflateRawSync(plain.first, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
    for (const member of this.members.slice(0, 200)) {
      const text = inflateFragments([first, member.stored, body]).toString();
      assert(text === this.ordinaryText(member, rev), 'both ways build the same message');
    }
  }

  private member(index: number): BenchMember {
    const member = this.members[index % this.members.length];
    assert(member !== undefined, 'a member of the cell');
    return member;
  }

  private revision(rev: number): BenchRevision {
    const revision = this.revisions[rev % this.revisions.length];
    assert(revision !== undefined, 'a revision of the cell');
    return revision;
  }
}

function range({ min, max }: Spread): readonly [number, number] {
  return [Math.round(min), Math.round(max)];
}

/** `n`: members of the room. */
export function runFrames({ n, json, quick }: BenchOptions): void {
  const members = n ?? (quick ? QUICK_MEMBERS : MEMBERS);
  const cells = BODY_BYTES.flatMap((bytes) => {
    return [...new Set(ID_COUNTS.map((ids) => Math.min(ids, members)))].map((ids) => new Cell(ids, bytes, members));
  });
  for (const cell of cells) cell.measure();
  for (const cell of cells) cell.forget();
  for (let i = 0; i < (quick ? QUICK_REPETITIONS : REPETITIONS); i++) for (const cell of cells) cell.measure();
  const table = new Table<FramesRow>(json, [
    ['ids', ({ ids }) => String(ids)],
    ['bytes', ({ bytes }) => String(bytes)],
    ['before ms (lowest to highest)', ({ beforeNs, beforeNsRange }) => timeText(beforeNs, beforeNsRange, 1e6, 1)],
    ['after µs (lowest to highest)', ({ afterNs, afterNsRange }) => timeText(afterNs, afterNsRange, 1e3, 0)],
    ['ratio', ({ ratio }) => `${ratio}×`],
    ['before allocated KB', ({ beforeAllocatedBytes }) => (beforeAllocatedBytes / 1_024).toFixed(0)],
    ['after allocated KB', ({ afterAllocatedBytes }) => (afterAllocatedBytes / 1_024).toFixed(1)],
    ['serialized', ({ serialized }) => String(serialized)],
    ['deflated', ({ deflated }) => String(deflated)],
  ]);
  for (const cell of cells) table.add(cell.row());
  assert(takenBytes[0] !== 0, 'messages were made');
  table.end(`One broadcast to ${members} members, deflated, without the socket writes.`);
}

function timeText(ns: number, [min, max]: readonly [number, number], unitNs: number, digits: number): string {
  const [figure, low, high] = [ns, min, max].map((each) => (each / unitNs).toFixed(digits));
  return `${figure} (${low} to ${high})`;
}
