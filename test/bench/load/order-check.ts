/** What holds a client's messages against the order of revisions. */
export interface OrderCheck {
  /** The last revision that came; what the next is held against. */
  readonly lastRev: number;
  holes: number;
  repeats: number;
  /** Whether the reply to subscribe came. */
  readonly replied: boolean;
  /** The first thing that cannot be read. */
  readonly fault: string | undefined;
  /** Takes what was read, the first `length` bytes of `chunk`, in pieces that may end anywhere. */
  walk(chunk: Buffer, length: number): void;
  /** When the newest revision of what was walked last, given again, was due to be published; on the monotonic clock. */
  publishedAtMs(chunk: Buffer, length: number): number | undefined;
}
