/**
 * What an advance costs a room's ring, by the number of its readers: all of them together, revision by revision, and a
 * lone straggler that reads what all others have passed. The counting ring against the scanning one. Pushes are not
 * timed; dropping the slots that an advance frees is. Repetitions of all cells take turns, the first is not counted; times
 * are medians of CPU time.
 */
import { EdgeCounters } from '../../services/edge/counters.js';
import { NO_PLACE, type FrameRing, type RingReader, type RingSlot } from '../../services/edge/frame-ring.js';
import { RingBudget } from '../../services/edge/ring-budget.js';
import { newRing, RING_KINDS, type RingKind } from '../../services/edge/ring-choice.js';
import type { BenchOptions } from './bench-options.js';
import { cpuNs } from './cpu-time.js';
import { round, rounded, spread, spreadText } from './load/paired.js';
import { Table } from './table.js';

const CONSUMERS = [1, 4, 32, 256, 1_000, 10_000];
const REPETITIONS = 15;
const QUICK_REPETITIONS = 7;
/** Advances that one repetition times, about, in rounds of so many revisions. */
const ADVANCES = 200_000;
const QUICK_ADVANCES = 50_000;
const MIN_REVISIONS = 20;
const MAX_REVISIONS = 4_096;
/** A straggler whose every read scans all readers reads so that about so many readers are looked at. */
const SCANNED = 4_000_000;
const BOUNDS = { keepRevisions: 0, keepBytes: 0, maxRevisions: 100_000, maxBytes: 1e9 };

interface RingRow {
  readonly bench: 'ring';
  readonly ring: RingKind;
  readonly consumers: number;
  readonly lone: boolean;
  readonly ns: number;
  readonly nsRange: readonly [number, number];
}

class Cell {
  readonly ns: number[] = [];
  private readonly ring: FrameRing<RingSlot>;
  private readonly readers: readonly RingReader[];
  /** Revisions of a round, and rounds of a repetition. */
  private readonly revisions: number;
  private readonly rounds: number;

  constructor(
    readonly kind: RingKind,
    readonly consumers: number,
    readonly lone: boolean,
    advances: number,
  ) {
    this.ring = newRing(kind, 0, BOUNDS, new RingBudget(Number.POSITIVE_INFINITY, new EdgeCounters()));
    this.readers = Array.from({ length: consumers }, () => ({ cursor: 0, place: NO_PLACE }));
    for (const reader of this.readers) this.ring.join(reader, 0);
    const moving = lone ? 1 : consumers;
    const wanted = lone && kind === 'scan' ? SCANNED / consumers : advances / moving;
    this.revisions = Math.min(MAX_REVISIONS, Math.max(MIN_REVISIONS, Math.ceil(wanted)));
    this.rounds = Math.max(1, Math.round(wanted / this.revisions));
  }

  measure(): void {
    let ns = 0;
    for (let i = 0; i < this.rounds; i++) ns += this.round();
    this.ns.push(ns / (this.rounds * this.revisions * (this.lone ? 1 : this.consumers)));
  }

  /** Forgets what was measured: code that has just begun to run is not what a server runs. */
  forget(): void {
    this.ns.length = 0;
  }

  row(): RingRow {
    const { median, min, max } = rounded(spread(this.ns), 2);
    const { kind, consumers, lone } = this;
    return { bench: 'ring', ring: kind, consumers, lone, ns: median, nsRange: [min, max] };
  }

  /** Pushes, and gives the nanoseconds of the advances. */
  private round(): number {
    const { ring, readers, revisions } = this;
    const first = ring.headRev + 1;
    for (let i = 0; i < revisions; i++) ring.push({ bytes: 100 });
    const last = ring.headRev;
    const moving = this.lone ? readers.slice(0, 1) : readers;
    if (this.lone) for (const reader of readers.slice(1)) ring.advance(reader, last);
    return cpuNs(() => {
      for (let rev = first; rev <= last; rev++) {
        for (const reader of moving) ring.advance(reader, rev);
      }
    });
  }
}

/** `n`: the largest number of readers. */
export function runRing({ n, json, quick }: BenchOptions): void {
  const counts = n === undefined ? CONSUMERS : [...CONSUMERS.filter((count) => count < n), n];
  const advances = quick ? QUICK_ADVANCES : ADVANCES;
  const cells = [false, true].flatMap((lone) =>
    RING_KINDS.flatMap((kind) => counts.map((consumers) => new Cell(kind, consumers, lone, advances))),
  );
  for (const cell of cells) cell.measure();
  for (const cell of cells) cell.forget();
  for (let i = 0; i < (quick ? QUICK_REPETITIONS : REPETITIONS); i++) for (const cell of cells) cell.measure();
  const table = new Table<RingRow>(json, [
    ['ring', ({ ring }) => ring],
    ['readers', ({ consumers }) => String(consumers)],
    ['who advances', ({ lone }) => (lone ? 'a lone straggler' : 'all together')],
    ['ns per advance (lowest to highest)', ({ ns, nsRange: [min, max] }) => spreadText({ median: ns, min, max }, 1)],
  ]);
  const rows = cells.map((cell) => cell.row());
  for (const row of rows) table.add(row);
  table.end(...[false, true].map((lone) => growthText(rows, lone)));
}

/** How much more an advance of the counting ring costs with the most readers than with one. */
function growthText(rows: readonly RingRow[], lone: boolean): string {
  const counted = rows.filter((row) => row.ring === 'counted' && row.lone === lone);
  const [one, most] = [counted[0], counted.at(-1)];
  if (one === undefined || most === undefined) return '';
  const who = lone ? 'a lone straggler' : 'all together';
  return `counted, ${who}: with ${most.consumers} readers ${round(most.ns / one.ns, 2)}× of with ${one.consumers}`;
}
