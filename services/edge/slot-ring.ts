/**
 * What both rings share: slots in a circular array, the bounds, and the bytes that the budget knows of.
 * Slots are addressed by an index that grows for ever (rev + offset; `clear` changes the offset and skips one index),
 * so that a reader's place from before a `clear` is below every later index and can never be taken for a slot.
 * The array doubles when it is full, up to the first power of two above maxRevisions, and has always a free place for
 * those who wait for the next slot. Dropping a slot is paid for by its push, so each call is O(1) amortised.
 */
import { assert } from '../shared/errors.js';
import type { FrameRing, RingBounds, RingReader, RingSlot } from './frame-ring.js';
import type { RingBudget } from './ring-budget.js';

const FIRST_CAPACITY = 4;
/** Place of a reader that is in the ring and far behind it. */
const HOLDS_NOTHING = 0;

export abstract class SlotRing<S extends RingSlot> implements FrameRing<S> {
  bytes = 0;
  /** Index of the oldest slot; nextIndex when empty. At least 1. */
  protected firstIndex: number;
  /** Index of the slot to come. */
  protected nextIndex: number;
  /** Index of revision 0. */
  protected offset = 0;
  /** Capacity - 1, the capacity being a power of two. */
  protected mask = FIRST_CAPACITY - 1;
  private slots: (S | undefined)[] = Array.from({ length: FIRST_CAPACITY });
  private sizes = new Float64Array(FIRST_CAPACITY);

  /** @param headRev rev of the revision before the first to be pushed */
  constructor(
    headRev: number,
    private readonly bounds: RingBounds,
    private readonly budget: RingBudget,
  ) {
    this.firstIndex = headRev + 1;
    this.nextIndex = headRev + 1;
  }

  get headRev(): number {
    return this.nextIndex - 1 - this.offset;
  }

  get firstRev(): number {
    return this.firstIndex - this.offset;
  }

  get count(): number {
    return this.nextIndex - this.firstIndex;
  }

  push(slot: S): void {
    if (this.count === this.mask) this.double();
    const at = this.nextIndex & this.mask;
    this.slots[at] = slot;
    this.sizes[at] = slot.bytes;
    this.nextIndex++;
    const before = this.bytes;
    this.bytes += slot.bytes;
    this.budget.changed(this, before, this.bytes);
    this.settle();
    this.budget.enforce();
  }

  get(rev: number): S | undefined {
    const index = rev + this.offset;
    return index >= this.firstIndex && index < this.nextIndex ? this.slots[index & this.mask] : undefined;
  }

  join(reader: RingReader, cursor: number): void {
    this.advance(reader, cursor);
  }

  abstract advance(reader: RingReader, rev: number): void;
  abstract leave(reader: RingReader): void;

  shrink(toBytes: number): void {
    const before = this.count;
    while (this.bytes > toBytes && this.count > 0) this.drop();
    this.budget.evicted(before - this.count);
    this.settle();
  }

  clear(headRev: number): void {
    this.budget.changed(this, this.bytes, 0);
    this.bytes = 0;
    this.firstIndex = this.nextIndex + 1;
    this.nextIndex = this.firstIndex;
    this.offset = this.firstIndex - headRev - 1;
    this.mask = FIRST_CAPACITY - 1;
    this.slots = Array.from({ length: FIRST_CAPACITY });
    this.sizes = new Float64Array(FIRST_CAPACITY);
    this.emptied();
  }

  /** Whether a reader stands on the oldest slot. */
  protected abstract isFrontHeld(): boolean;
  /** The oldest slot, with this index, is about to go: whoever stands on it holds nothing any more. */
  protected abstract dropping(index: number): void;
  /** The array has now `mask + 1` places. */
  protected abstract resized(): void;
  /** All slots are gone, all places are below firstIndex. */
  protected abstract emptied(): void;

  /** Index of the slot that a reader at `rev` stands on, or one below firstIndex. */
  protected placeAfter(rev: number): number {
    const place = rev + 1 + this.offset;
    assert(place <= this.nextIndex, 'a reader is never ahead of its ring');
    return Math.max(HOLDS_NOTHING, place);
  }

  /** Drops what nobody needs, and what the bounds forbid. The newest slot stays. */
  protected settle(): void {
    const { keepRevisions, keepBytes, maxRevisions, maxBytes } = this.bounds;
    while (this.count > 1) {
      const beyondKeep = this.count > keepRevisions || this.bytes > keepBytes;
      if (beyondKeep && !this.isFrontHeld()) this.drop();
      else if (this.count > maxRevisions || this.bytes > maxBytes) {
        this.drop();
        this.budget.evicted(1);
      } else return;
    }
  }

  private drop(): void {
    this.dropping(this.firstIndex);
    const at = this.firstIndex & this.mask;
    const before = this.bytes;
    this.bytes -= this.sizes[at] ?? 0;
    this.slots[at] = undefined;
    this.firstIndex++;
    this.budget.changed(this, before, this.bytes);
  }

  private double(): void {
    const { slots, sizes, mask } = this;
    const capacity = (mask + 1) * 2;
    this.slots = Array.from({ length: capacity });
    this.sizes = new Float64Array(capacity);
    this.mask = capacity - 1;
    for (let index = this.firstIndex; index < this.nextIndex; index++) {
      this.slots[index & this.mask] = slots[index & mask];
      this.sizes[index & this.mask] = sizes[index & mask] ?? 0;
    }
    this.resized();
  }
}
