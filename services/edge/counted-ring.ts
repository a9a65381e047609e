/**
 * The ring whose slots count who stands on them: an advance takes one from a count and adds one to another, and the
 * tail moves on while the count at the front is 0. So advance, join and leave are O(1) whatever the number of readers,
 * also for a lone straggler, and allocate nothing. The count at nextIndex is that of the readers who wait at the head.
 */
import { NO_PLACE, type RingReader, type RingSlot } from './frame-ring.js';
import { SlotRing } from './slot-ring.js';

export class CountedRing<S extends RingSlot> extends SlotRing<S> {
  /** Readers on each place; places outside firstIndex … nextIndex are 0. */
  private readers = new Int32Array(this.mask + 1);

  override advance(reader: RingReader, rev: number): void {
    const from = reader.place;
    const to = this.placeAfter(rev);
    reader.cursor = rev;
    reader.place = to;
    if (to >= this.firstIndex) this.readers[to & this.mask] = this.standingOn(to) + 1;
    if (from >= this.firstIndex) this.vacate(from);
  }

  override leave(reader: RingReader): void {
    const from = reader.place;
    reader.place = NO_PLACE;
    if (from >= this.firstIndex) this.vacate(from);
  }

  protected override isFrontHeld(): boolean {
    return this.standingOn(this.firstIndex) > 0;
  }

  protected override dropping(index: number): void {
    this.readers[index & this.mask] = 0;
  }

  protected override resized(): void {
    const old = this.readers;
    const oldMask = old.length - 1;
    this.readers = new Int32Array(this.mask + 1);
    for (let index = this.firstIndex; index <= this.nextIndex; index++) {
      this.readers[index & this.mask] = old[index & oldMask] ?? 0;
    }
  }

  protected override emptied(): void {
    this.readers = new Int32Array(this.mask + 1);
  }

  private standingOn(index: number): number {
    return this.readers[index & this.mask] ?? 0;
  }

  private vacate(index: number): void {
    const left = this.standingOn(index) - 1;
    this.readers[index & this.mask] = left;
    if (left === 0 && index === this.firstIndex) this.settle();
  }
}
