/**
 * The ring as Node's stream broadcast keeps it, for comparison (EDGE_RING=scan): the lowest place of all readers is
 * cached with the number of readers there, and when the last of them moves all readers are scanned for the next
 * lowest. Readers that move together pay one scan per revision; a lone straggler pays one per read. Behaves exactly
 * as CountedRing.
 */
import { NO_PLACE, type RingReader, type RingSlot } from './frame-ring.js';
import { SlotRing } from './slot-ring.js';

export class ScanRing<S extends RingSlot> extends SlotRing<S> {
  private readonly readers = new Set<RingReader>();
  /** The lowest place on which readers hold a slot, or wait for the next one; Infinity if there are none. */
  private lowest = Number.POSITIVE_INFINITY;
  private atLowest = 0;

  override advance(reader: RingReader, rev: number): void {
    const from = reader.place;
    const to = this.placeAfter(rev);
    reader.cursor = rev;
    reader.place = to;
    if (from === NO_PLACE) this.readers.add(reader);
    if (to < this.lowest && to >= this.firstIndex) {
      this.lowest = to;
      this.atLowest = 1;
    } else if (to === this.lowest) this.atLowest++;
    if (from >= this.firstIndex) this.vacate(from);
  }

  override leave(reader: RingReader): void {
    const from = reader.place;
    reader.place = NO_PLACE;
    this.readers.delete(reader);
    if (from >= this.firstIndex) this.vacate(from);
  }

  protected override isFrontHeld(): boolean {
    return this.lowest === this.firstIndex;
  }

  protected override dropping(index: number): void {
    if (this.lowest === index) this.scan(index + 1);
  }

  protected override resized(): void {
    // Places are indexes, not positions in the array.
  }

  protected override emptied(): void {
    this.lowest = Number.POSITIVE_INFINITY;
    this.atLowest = 0;
  }

  private vacate(place: number): void {
    if (place !== this.lowest || --this.atLowest > 0) return;
    this.scan(this.firstIndex);
    if (place === this.firstIndex) this.settle();
  }

  /** Finds the lowest place from `from` on; those below hold nothing. */
  private scan(from: number): void {
    this.lowest = Number.POSITIVE_INFINITY;
    this.atLowest = 0;
    for (const { place } of this.readers) {
      if (place < from) continue;
      if (place < this.lowest) {
        this.lowest = place;
        this.atLowest = 1;
      } else if (place === this.lowest) this.atLowest++;
    }
  }
}
