/** What a revision service did, for benchmarks and metrics. */
export class RevisionCounters {
  /** Ranges that the log was read for, … */
  logReads = 0;
  /** … that were answered from the tail in memory, … */
  tailReads = 0;
  /** … and from pages that were kept, or that somebody else was just reading. */
  pageReads = 0;
  sharedReads = 0;
  /** Batches of heads that were confirmed by one look at the log's extent, and that the log was asked for. */
  headsConfirmed = 0;
  headsAsked = 0;
  /** Rooms of which the leader was asked whether what is in memory is still kept. */
  keptAsked = 0;
  /** How often all that was in memory was forgotten. */
  restarts = 0;

  snapshot() {
    const { logReads, tailReads, pageReads, sharedReads, headsConfirmed, headsAsked, restarts } = this;
    return { logReads, tailReads, pageReads, sharedReads, headsConfirmed, headsAsked, restarts };
  }
}
