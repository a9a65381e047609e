/**
 * When each of so many closes is due: one at a random moment in each of as many equal parts of a time. So they are
 * spread evenly, and those of several edges that stop together do not come in step. Few are not stretched over the whole
 * time: never slower than one in SLOWEST_GAP_MS. Costs a number, however many there are.
 */

/** Closing slower than this spares nobody. */
const SLOWEST_GAP_MS = 50;

export class Pace {
  private readonly gapMs: number;
  private taken = 0;
  private nextAtMs: number;

  constructor(
    private readonly count: number,
    withinMs: number,
    private readonly random: () => number,
  ) {
    this.gapMs = count === 0 ? 0 : Math.min(withinMs / count, SLOWEST_GAP_MS);
    this.nextAtMs = this.dueAt(0);
  }

  /** What the whole takes. */
  get totalMs(): number {
    return this.gapMs * this.count;
  }

  get isOver(): boolean {
    return this.taken >= this.count;
  }

  /** When the next one is due, in milliseconds after the begin. */
  get nextMs(): number {
    return this.nextAtMs;
  }

  /** Whether one is due at that time; it is then taken. */
  take(elapsedMs: number): boolean {
    if (this.isOver || this.nextAtMs > elapsedMs) return false;
    this.taken += 1;
    this.nextAtMs = this.dueAt(this.taken);
    return true;
  }

  private dueAt(index: number): number {
    return (index + this.random()) * this.gapMs;
  }
}

/** The items in an order that is any with the same probability. */
export function shuffled<T>(items: Iterable<T>, random: () => number): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i -= 1) {
    const other = Math.floor(random() * (i + 1));
    const item = order[i] as T;
    order[i] = order[other] as T;
    order[other] = item;
  }
  return order;
}
