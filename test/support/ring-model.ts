/**
 * A ring in its plainest form, to compare the real ones with: every slot and every reader's place is looked at every
 * time. A reader's `holds` is the slot it stands on by identity, so that nothing depends on how places are numbered.
 */
import type { RingBounds, RingSlot } from '../../services/edge/frame-ring.js';

export interface ModelReader {
  cursor: number;
  /** Whether its next slot, kept or still to come, is one that it holds. */
  holds: boolean;
}

export class RingModel {
  slots: { rev: number; slot: RingSlot; bytes: number }[] = [];
  evictions = 0;
  readonly readers = new Map<number, ModelReader>();

  constructor(
    public headRev: number,
    private readonly bounds: RingBounds,
    private readonly budgetBytes = Number.POSITIVE_INFINITY,
  ) {}

  get firstRev(): number {
    return this.slots[0]?.rev ?? this.headRev + 1;
  }

  get bytes(): number {
    return this.slots.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  push(slot: RingSlot): void {
    this.headRev++;
    this.slots.push({ rev: this.headRev, slot, bytes: slot.bytes });
    this.settle();
    if (this.bytes > this.budgetBytes) this.shrink(this.budgetBytes);
  }

  place(reader: number, cursor: number): void {
    this.readers.set(reader, { cursor, holds: cursor + 1 >= this.firstRev });
    this.settle();
  }

  leave(reader: number): void {
    this.readers.delete(reader);
    this.settle();
  }

  shrink(toBytes: number): void {
    while (this.bytes > toBytes && this.slots.length > 0) this.evict();
    this.settle();
  }

  clear(headRev: number): void {
    this.slots = [];
    this.headRev = headRev;
    for (const reader of this.readers.values()) reader.holds = false;
  }

  private settle(): void {
    const { keepRevisions, keepBytes, maxRevisions, maxBytes } = this.bounds;
    while (this.slots.length > 1) {
      const held = [...this.readers.values()].some(({ cursor, holds }) => holds && cursor + 1 === this.firstRev);
      const count = this.slots.length;
      if (!held && (count > keepRevisions || this.bytes > keepBytes)) this.drop();
      else if (count > maxRevisions || this.bytes > maxBytes) this.evict();
      else return;
    }
  }

  private evict(): void {
    this.drop();
    this.evictions++;
  }

  private drop(): void {
    const dropped = this.slots.shift();
    for (const reader of this.readers.values()) if (reader.cursor + 1 === dropped?.rev) reader.holds = false;
  }
}
