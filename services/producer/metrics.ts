/** What a producer measures, for Prometheus. */
import type { Metrics } from '../shared/metrics.js';
import type { Appender } from './appender.js';
import type { ProducerCounters } from './counters.js';

const PREFIX = 'revcast_producer';

const COUNTS: Readonly<Record<Exclude<keyof ProducerCounters, 'failures' | 'failed' | 'stored'>, string>> = {
  appends: 'Appends that were stored.',
  duplicates: 'Appends that had been stored before, under the same key.',
  revisions: 'Revisions that were stored.',
  dataBytes: 'Bytes of the revisions that were stored.',
  snapshots: 'Snapshots that were kept.',
};

export function addProducerMetrics(metrics: Metrics, { counters, usage }: Pick<Appender, 'counters' | 'usage'>): void {
  metrics.gauge(`${PREFIX}_in_flight`, 'Appends and snapshots under way.', () => usage().appends);
  metrics.gauge(`${PREFIX}_in_flight_bytes`, 'Bytes of them.', () => usage().bytes);
  metrics.counts(PREFIX, COUNTS, () => counters);
  metrics.countsBy(
    `${PREFIX}_failures_total`,
    'Appends and snapshots that were not stored, or of which that is not known, by error code.',
    'code',
    () => counters.failures,
  );
}
