/**
 * What the fan-out did, counted where it happens. Plain numbers, one object per edge, so that counting costs an
 * addition; they only grow. Benchmarks and metrics read `snapshot`.
 */

export class EdgeCounters {
  /** Bodies made into bytes. */
  bodiesSerialized = 0;
  /** Bodies that went through deflate, whether or not the result was used. */
  bodiesDeflated = 0;
  /** Bytes that went into deflate. */
  bytesDeflated = 0;
  /** Frames made to be shared: one per protocol and range of revisions. */
  framesPrepared = 0;
  /** Revisions given to sockets. */
  deliveries = 0;
  /** Snapshots given to sockets. */
  snapshotsSent = 0;
  /** Publications of clients that were stored, and those that were refused, failed, or whose outcome is not known. */
  publishes = 0;
  publishesFailed = 0;
  /** Turns in which members were visited. */
  flushes = 0;
  /** Sockets written to by flushes. */
  socketsFlushed = 0;
  /** Revisions that flushes took up, each once however many sockets got it. */
  revisionsFlushed = 0;
  /** Revisions that lagging members of `latest` rooms were not given. */
  revisionsSkipped = 0;
  stragglersEntered = 0;
  stragglersLeft = 0;
  /** Slots that a bound of the room or of the process took from the ring. */
  ringEvictions = 0;

  /** Sockets that were opened, and clients that were refused: the edge was full, too many came at once, or it was stopping. */
  socketsOpened = 0;
  refusedFull = 0;
  refusedRate = 0;
  refusedStopping = 0;
  /** Sockets that were told to connect again because of their age. */
  socketsAged = 0;
  /** Sockets that were to be closed, did not take what was on its way, and were cut. */
  socketsCut = 0;

  /** A copy of the counts, and means since the start (0 before the first flush). */
  snapshot(): CounterSnapshot {
    const counts = Object.fromEntries(Object.entries(this)) as Record<CounterName, number>;
    return {
      ...counts,
      socketsPerFlush: this.flushes === 0 ? 0 : this.socketsFlushed / this.flushes,
      revisionsPerFlush: this.flushes === 0 ? 0 : this.revisionsFlushed / this.flushes,
    };
  }
}

export type CounterName = Exclude<keyof EdgeCounters, 'snapshot'>;

export type CounterSnapshot = Readonly<Record<CounterName | 'socketsPerFlush' | 'revisionsPerFlush', number>>;
