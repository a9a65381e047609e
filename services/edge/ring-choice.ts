/** Which ring the rooms use: EDGE_RING. */
import { CountedRing } from './counted-ring.js';
import type { FrameRing, RingBounds, RingSlot } from './frame-ring.js';
import type { RingBudget } from './ring-budget.js';
import { ScanRing } from './scan-ring.js';

export const RING_KINDS = ['counted', 'scan'] as const;
export type RingKind = (typeof RING_KINDS)[number];

/** An empty ring that continues after `headRev`. */
export function newRing<S extends RingSlot>(
  kind: RingKind,
  headRev: number,
  bounds: RingBounds,
  budget: RingBudget,
): FrameRing<S> {
  return kind === 'counted' ? new CountedRing(headRev, bounds, budget) : new ScanRing(headRev, bounds, budget);
}
