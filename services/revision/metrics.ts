/** What a revision service measures, for Prometheus. */
import type { Metrics } from '../shared/metrics.js';
import type { RevisionCounters } from './counters.js';

const PREFIX = 'revcast_revision';

const COUNTS: Readonly<Record<Exclude<keyof RevisionCounters, 'snapshot'>, string>> = {
  logReads: 'Ranges that the log was read for.',
  tailReads: 'Ranges that were answered from the end of the log in memory.',
  pageReads: 'Ranges that were answered from pages that were kept.',
  sharedReads: 'Ranges that somebody else was just reading.',
  headsConfirmed: "Batches of heads that were confirmed by one look at the log's extent.",
  headsAsked: 'Batches of heads that the log was asked for.',
  keptAsked: 'Rooms of which the leader was asked whether what is in memory is still kept.',
  restarts: 'Times that all that was in memory was forgotten.',
};

export function addRevisionMetrics(metrics: Metrics, counters: RevisionCounters): void {
  metrics.counts(PREFIX, COUNTS, () => counters);
}
