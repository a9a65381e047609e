/** What every benchmark is given. */
export interface BenchOptions {
  /** Its size, in the unit that the benchmark names in its help; absent: the size that its figures are meant for. */
  readonly n?: number;
  /** One JSON object a line on stdout instead of a table. */
  readonly json: boolean;
  /** A smaller size, done within 45 s. */
  readonly quick: boolean;
}
