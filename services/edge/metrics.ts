/** What an edge measures, for Prometheus. */
import type { Metrics } from '../shared/metrics.js';
import type { CounterName } from './counters.js';
import type { EdgeParts } from './edge-parts.js';

const PREFIX = 'revcast_edge';

const COUNTS: Readonly<Record<CounterName, string>> = {
  bodiesSerialized: 'Bodies made into bytes.',
  bodiesDeflated: 'Bodies that went through deflate.',
  bytesDeflated: 'Bytes that went into deflate.',
  framesPrepared: 'Frames made to be shared: one per protocol and range of revisions.',
  deliveries: 'Revisions given to sockets.',
  snapshotsSent: 'Snapshots given to sockets.',
  publishes: 'Publications of clients that were stored.',
  publishesFailed: 'Publications of clients that were refused, failed, or whose outcome is not known.',
  flushes: 'Turns in which members were visited.',
  socketsFlushed: 'Sockets written to by flushes.',
  revisionsFlushed: 'Revisions that flushes took up, each once however many sockets got it.',
  revisionsSkipped: 'Revisions that lagging members of rooms that skip to the newest were not given.',
  stragglersEntered: 'Times that a member fell behind the ring, and went over to pages.',
  stragglersLeft: 'Times that a member had caught up.',
  ringEvictions: 'Revisions that a bound of the room or of the process took from a ring.',
  socketsOpened: 'Sockets that were opened.',
  refusedFull: 'Clients that were refused because the edge was full.',
  refusedRate: 'Clients that were refused because too many came at once.',
  refusedStopping: 'Clients that were refused because the edge was stopping.',
  socketsAged: 'Sockets that were told to connect again because of their age.',
  socketsCut: 'Sockets that were to be closed, did not take what was on its way, and were cut.',
};

/** Adds the edge's numbers. `sockets`: those that are open now. */
export function addEdgeMetrics(metrics: Metrics, parts: EdgeParts, sockets: () => number): void {
  const { settings, counters, rooms, budget, pages, snapshots } = parts;
  metrics.gauge(`${PREFIX}_sockets`, 'Open sockets.', sockets);
  metrics.gauge(`${PREFIX}_sockets_max`, 'Open sockets at most.', () => settings.maxSockets);
  metrics.gauge(`${PREFIX}_rooms`, 'Rooms followed.', () => rooms.count);
  metrics.gauge(`${PREFIX}_ring_bytes`, 'Revisions kept in rings, in bytes.', () => budget.bytes);
  metrics.gauge(`${PREFIX}_page_cache_bytes`, 'Catch-up pages kept, in bytes.', () => pages.keptBytes);
  metrics.gauge(`${PREFIX}_snapshot_cache_bytes`, 'Snapshots kept, in bytes.', () => snapshots.bytes);
  metrics.counts(PREFIX, COUNTS, () => counters.snapshot());
}
