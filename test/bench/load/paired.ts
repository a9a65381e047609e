/** Medians and paired ratios of interleaved repetitions: two figures of one repetition met the same mood of the machine. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Of at least one figure. */
export function spread(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
  return { median, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

/** `figures[i] / others[i]`, for as many repetitions as both have. */
export function pairedRatio(figures: readonly number[], others: readonly number[]): Spread {
  const pairs = Math.min(figures.length, others.length);
  return spread(Array.from({ length: pairs }, (_, i) => (figures[i] ?? Number.NaN) / (others[i] ?? Number.NaN)));
}

export function rounded({ median, min, max }: Spread, digits: number): Spread {
  return { median: round(median, digits), min: round(min, digits), max: round(max, digits) };
}

export function round(figure: number, digits: number): number {
  return Number(figure.toFixed(digits));
}

/** "1.02 (0.98 to 1.10)" */
export function spreadText({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}
