/**
 * The JetStream adapter of the log: composes numbering (room writers), the streams, snapshots and the live half.
 *
 *   starting ──the stream is as wanted──▶ ready ──link down──▶ unavailable ──up again, stream checked──▶ ready
 *      └──refused (other settings, old server): unavailable, looked at again every CHECK_RETRY_MS.max──┘
 *
 * Invariant: nothing is appended and nothing answered from the stream between a reconnect and the check that follows it,
 * so that a stream which lost history is noticed before its entries are mixed with what this process remembers.
 */
import { sleep, type Clock } from '../../shared/clock.js';
import { asError, RevcastError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Values } from '../../shared/settings.js';
import type { EntryStore } from '../entry-store.js';
import type {
  Append,
  Appended,
  DisturbanceListener,
  Entry,
  Following,
  Head,
  Log,
  LogExtent,
  LogStatus,
  NewSnapshot,
  Range,
  RangeOptions,
  Snapshot,
  WholeFollowing,
  WholeListener,
  WholeLog,
} from '../log.js';
import { RoomWriters } from '../room-writers.js';
import type { logSettings } from '../settings.js';
import { hintSubject } from '../subjects.js';
import type { SnapshotStore } from '../snapshot-store.js';
import { Snapshots } from '../snapshots.js';
import { API_ERROR, ApiError, JetStreamApi } from './api.js';
import { ConsumerReader } from './consumer-reader.js';
import { EntryReader } from './entry-reader.js';
import { readHeads } from './heads.js';
import { HistoryGuard } from './history-guard.js';
import { HistoryReader } from './history-reader.js';
import { LiveFollower } from './live-follower.js';
import type { NatsLink } from './nats-link.js';
import { ReplicaReads } from './replica-reads.js';
import { RequestError } from './request-error.js';
import { JetStreamSnapshots } from './snapshot-store.js';
import { JetStreamStore } from './store.js';
import {
  checkVersion,
  ensureStream,
  isInTouch,
  outOfTouch,
  readExtent,
  StreamMissing,
  StreamRefused,
  wantedSnapshotStream,
  wantedStream,
} from './stream.js';
import { WholeFollower } from './whole-follower.js';

/** Between two looks at a stream that is not in order: doubles from min to max. */
const CHECK_RETRY_MS = { min: 100, max: 2_000 };
/** How long a new leader may take until it has everything that was acknowledged (seen: one entry short, once in ten). */
const CATCH_UP_MS = 5_000;
const CATCH_UP_LOOK_MS = 50;
/** A stream for which nobody answers is looked at again, but not more often than this. */
const SUSPICION_INTERVAL_MS = 500;
const MS_PER_MINUTE = 60_000;
const NO_BYTES = new Uint8Array(0);

export interface JetStreamLogParts {
  /** The caller starts and closes it. */
  readonly link: NatsLink;
  readonly settings: Values<typeof logSettings>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Wraps the store that the writers use: to lose answers, in tests. */
  readonly wrapStore?: (store: EntryStore) => EntryStore;
  readonly wrapSnapshots?: (store: SnapshotStore) => SnapshotStore;
}

export class JetStreamLog implements Log, WholeLog {
  private state: LogStatus = { state: 'starting', detail: 'waiting for NATS' };
  private checkUnderWay = false;
  private checkAgain = false;
  private cancelRetry: (() => void) | undefined;
  private retryMs = CHECK_RETRY_MS.min;
  /** Whether appends may wait for the log to come back: it was ready, and was not refused since. */
  private worthWaiting = false;
  private lastCheckAt = Number.NEGATIVE_INFINITY;
  private lastComplaint: string | undefined;
  /** Set from a broken connection until the stream was looked at again. */
  private reconnecting = false;
  /** Whether to make a stream that is missing: not where NATS has not permitted it on this connection. */
  private mayCreate = true;
  private closed = false;
  private readonly guard = new HistoryGuard();
  private readonly api: JetStreamApi;
  private readonly reader: EntryReader;
  private readonly history: HistoryReader;
  private readonly writers: RoomWriters;
  private readonly snapshots: Snapshots;
  private readonly live: LiveFollower;
  private readonly wholeFollowers = new Set<WholeFollower>();
  private readonly ends: (() => void)[];

  constructor(private readonly parts: JetStreamLogParts) {
    const { link, settings, clock, logger } = parts;
    this.api = new JetStreamApi(link, settings.logRequestTimeoutMs);
    const replicas = new ReplicaReads(this.api, clock);
    this.reader = new EntryReader(this.api, replicas, this.guard);
    this.history = new HistoryReader(
      this.reader,
      new ConsumerReader({ api: this.api, replicas, clock, logger }),
      logger,
    );
    const stream = {
      api: this.api,
      replicated: settings.logReplicas > 1,
      assertReady: () => {
        this.assertReady();
      },
      suspectStream: () => {
        this.suspectStream();
      },
    };
    const { reader, history, guard } = this;
    const store = new JetStreamStore({ ...stream, reader, history, guard, now: () => clock.now() });
    this.writers = new RoomWriters({
      store: parts.wrapStore?.(store) ?? store,
      clock,
      settings: { ...settings, keyWindowMs: settings.keyWindowMinutes * MS_PER_MINUTE },
      onRetried: (room) => link.publish(hintSubject(room), NO_BYTES),
    });
    const snapshots = new JetStreamSnapshots({ ...stream, replicas });
    this.snapshots = new Snapshots({
      store: parts.wrapSnapshots?.(snapshots) ?? snapshots,
      entries: store,
      range: (...asked) => history.range(...asked),
      begin: (room, base) => this.writers.begin(room, base),
      clock,
      deadlineMs: settings.appendDeadlineMs,
    });
    this.live = new LiveFollower({ link, logger, clock, tellsReconnects: false });
    this.ends = [
      link.onDown(() => {
        if (this.state.state === 'ready') this.reconnecting = true;
        this.state = { state: 'unavailable', detail: 'the connection to NATS is lost' };
        this.mayCreate = true;
      }),
      link.onUp(() => {
        this.checkSoon();
      }),
      this.live.onDisturbance((disturbance) => {
        if (disturbance === 'leader_elected') this.checkSoon();
      }),
    ];
  }

  async append(room: string, append: Append): Promise<Appended> {
    if (!this.worthWaiting) this.assertReady();
    return this.writers.append(room, append);
  }

  follow(rooms: readonly string[], onEntry: (entry: Entry) => void): Following {
    return this.live.follow(rooms, onEntry);
  }

  followAll(listener: WholeListener): WholeFollowing {
    const { clock, logger } = this.parts;
    const { api, reader } = this;
    const follower = new WholeFollower({ api, reader, clock, logger, extent: () => this.extent() }, listener);
    this.wholeFollowers.add(follower);
    return {
      verify: () => {
        follower.verify();
      },
      restart: () => {
        follower.restart();
      },
      vouchesFor: (extent) => follower.vouchesFor(extent),
      stop: () => {
        follower.stop();
        this.wholeFollowers.delete(follower);
      },
    };
  }

  async extent(): Promise<LogExtent> {
    this.assertReady();
    return this.noticingLoss(readExtent(this.api));
  }

  async keeps({ seq, tag }: Pick<Entry, 'seq' | 'tag'>): Promise<boolean> {
    this.assertReady();
    return (await this.noticingLoss(this.reader.tagAt(seq))) === tag;
  }

  async range(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range> {
    this.assertReady();
    return this.noticingLoss(this.history.range(room, fromRev, options));
  }

  async heads(rooms: readonly string[]): Promise<ReadonlyMap<string, Head | null>> {
    this.assertReady();
    return this.noticingLoss(readHeads(this.reader, rooms, this.parts.logger));
  }

  async snapshot(room: string): Promise<Snapshot | null> {
    this.assertReady();
    return this.noticingLoss(this.snapshots.read(room));
  }

  async putSnapshot(room: string, snapshot: NewSnapshot): Promise<Snapshot> {
    if (!this.worthWaiting) this.assertReady();
    return this.snapshots.put(room, snapshot);
  }

  status(): LogStatus {
    return this.state;
  }

  onDisturbance(listener: DisturbanceListener): () => void {
    return this.live.onDisturbance(listener);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.state = { state: 'unavailable', detail: 'the log is closed' };
    this.cancelRetry?.();
    for (const end of this.ends) end();
    this.writers.close();
    for (const follower of this.wholeFollowers) follower.stop();
    this.api.close();
    await this.live.close();
  }

  /** A read that finds no stream has it looked at, and made again. */
  private async noticingLoss<T>(read: Promise<T>): Promise<T> {
    try {
      return await read;
    } catch (error) {
      const gone = error instanceof ApiError && error.number === API_ERROR.streamNotFound;
      if (gone || (error instanceof RequestError && error.failure === 'no_responders')) this.suspectStream();
      throw error;
    }
  }

  private suspectStream(): void {
    if (this.parts.clock.monotonic() - this.lastCheckAt >= SUSPICION_INTERVAL_MS) this.checkSoon();
  }

  private assertReady(): void {
    if (this.state.state !== 'ready') throw new RevcastError('log_unavailable', this.state.detail);
  }

  /** Looks at the stream; once more afterwards if that was asked for meanwhile. */
  private checkSoon(): void {
    if (this.closed || !this.parts.link.up) return;
    this.cancelRetry?.();
    this.checkAgain = true;
    if (this.checkUnderWay) return;
    this.checkUnderWay = true;
    void this.checkWhileAsked();
  }

  private async checkWhileAsked(): Promise<void> {
    while (this.checkAgain && !this.closed) {
      this.checkAgain = false;
      this.lastCheckAt = this.parts.clock.monotonic();
      try {
        await this.check();
        this.becomeReady();
      } catch (error) {
        this.complain(asError(error));
        this.cancelRetry = this.parts.clock.after(this.retryMs, () => {
          this.checkSoon();
        });
        this.retryMs = Math.min(CHECK_RETRY_MS.max, this.retryMs * 2);
      }
    }
    this.checkUnderWay = false;
  }

  private async check(): Promise<void> {
    const { link, settings, logger, clock } = this.parts;
    const version = link.connection?.info?.version;
    if (version === undefined) throw new RevcastError('log_unavailable', 'the connection to NATS is lost');
    checkVersion(version, settings.logReplicas);
    await ensureStream(this.api, wantedSnapshotStream(settings), this.mayCreate);
    let info = await ensureStream(this.api, wantedStream(settings), this.mayCreate);
    const patientUntil = clock.monotonic() + CATCH_UP_MS;
    while (settings.logReplicas > 1 && this.guard.endsEarly(info) && clock.monotonic() < patientUntil) {
      await sleep(clock, CATCH_UP_LOOK_MS);
      info = await ensureStream(this.api, wantedStream(settings), this.mayCreate);
    }
    // Whether history was lost is not to be learnt from one that is cut off.
    if (this.guard.endsEarly(info) && !isInTouch(info)) throw outOfTouch();
    const contradiction = await this.guard.contradiction(info, (seq) => this.reader.tagAt(seq));
    if (contradiction === undefined) return;
    logger.error({ code: 'history_lost', reason: contradiction }, 'the log lost history; numbering looks again');
    this.writers.distrust();
    for (const follower of this.wholeFollowers) follower.verify();
    this.reconnecting = true;
  }

  private becomeReady(): void {
    if (this.closed || !this.parts.link.up) return;
    if (this.state.state !== 'ready') this.parts.logger.info('the log is ready');
    this.state = { state: 'ready' };
    this.worthWaiting = true;
    this.retryMs = CHECK_RETRY_MS.min;
    this.lastComplaint = undefined;
    if (!this.reconnecting) return;
    this.reconnecting = false;
    this.live.disturb('reconnected');
  }

  /** Says it once; a change of what is wrong is said again. */
  private complain(error: Error): void {
    if (this.closed || !this.parts.link.up) return;
    const refused = error instanceof StreamRefused;
    // A stream in use that cannot be looked at for a moment, while its leader changes, goes on being used.
    if (this.state.state === 'ready' && !refused) return;
    if (refused) this.worthWaiting = false;
    if (error instanceof StreamMissing) this.mayCreate = false;
    this.state = { state: 'unavailable', detail: error.message };
    if (error.message === this.lastComplaint) return;
    this.lastComplaint = error.message;
    const code = complaintCode(error);
    this.parts.logger.error({ code, reason: error.message }, 'the log cannot be used yet');
  }
}

function complaintCode(error: Error): string {
  if (error instanceof StreamMissing) return 'stream_missing';
  return error instanceof StreamRefused ? 'stream_refused' : 'log_unavailable';
}
