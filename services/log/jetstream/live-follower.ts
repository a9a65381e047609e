/**
 * The live half of the log over core NATS: subscriptions to what the stream republishes, so committed entries only.
 * It uses nothing of JetStream's interface: an edge's credentials allow it no more. What does not decode, is of another
 * room or has no seq cannot be an entry of the stream; it is dropped, and said at most once a second.
 * Producers' hints come to one subscription for all rooms, held while any room is followed: they are rare.
 */
import type { Msg } from 'nats';
import type { Clock } from '../../shared/clock.js';
import { asError, assert } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { decodeEntry } from '../entry-codec.js';
import type { Disturbance, DisturbanceListener, Entry, Following, LiveLog, LogStatus } from '../log.js';
import { HINT_SUBJECTS, liveSubject, roomOfHint, STREAM } from '../subjects.js';
import type { Subscribed } from './link-subscription.js';
import type { NatsLink } from './nats-link.js';

const LEADER_ELECTED = `$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.${STREAM}`;
const DROP_REPORT_MS = 1_000;

export interface LiveFollowerParts {
  readonly link: NatsLink;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Whether a reconnect is told as soon as it happens; false where someone looks at the stream first and tells then. */
  readonly tellsReconnects: boolean;
}

export class LiveFollower implements LiveLog {
  private readonly followings = new Set<() => void>();
  private readonly listeners = new Set<DisturbanceListener>();
  private readonly ends: (() => void)[];
  private dropped = 0;
  private lastReportAt = Number.NEGATIVE_INFINITY;
  private everUp = false;
  private hints: Subscribed | undefined;

  constructor(private readonly parts: LiveFollowerParts) {
    const { link } = parts;
    const advisory = link.subscribe(LEADER_ELECTED, {}, () => {
      this.disturb('leader_elected');
    });
    this.ends = [
      () => {
        advisory.stop();
      },
      link.onUp((_connection, first) => {
        if (!first && this.everUp && parts.tellsReconnects) this.disturb('reconnected');
        this.everUp = true;
      }),
    ];
  }

  follow(rooms: readonly string[], onEntry: (entry: Entry) => void): Following {
    const subscriptions = rooms.map((room) =>
      this.parts.link.subscribe(liveSubject(room), {}, (message) => {
        const entry = this.decode(room, message);
        if (entry !== undefined) onEntry(entry);
      }),
    );
    const stop = (): void => {
      this.followings.delete(stop);
      for (const subscription of subscriptions) subscription.stop();
      this.hintsAsFollowed();
    };
    this.followings.add(stop);
    this.hintsAsFollowed();
    return { ready: allReady(subscriptions.map(({ ready }) => ready)), stop };
  }

  status(): LogStatus {
    if (this.parts.link.up) return { state: 'ready' };
    return this.everUp
      ? { state: 'unavailable', detail: 'the connection to NATS is lost' }
      : { state: 'starting', detail: 'waiting for NATS' };
  }

  onDisturbance(listener: DisturbanceListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells the listeners that entries may have been missed; `room`: of this room, with `hinted`. */
  disturb(disturbance: Disturbance, room?: string): void {
    for (const listener of this.listeners) {
      try {
        listener(disturbance, room);
      } catch (error) {
        this.parts.logger.error({ err: asError(error) }, 'a listener failed');
      }
    }
  }

  close(): Promise<void> {
    for (const end of this.ends.splice(0)) end();
    for (const stop of this.followings) stop();
    this.listeners.clear();
    return Promise.resolve();
  }

  private hintsAsFollowed(): void {
    if (this.followings.size === 0) {
      this.hints?.stop();
      this.hints = undefined;
      return;
    }
    this.hints ??= this.parts.link.subscribe(HINT_SUBJECTS, {}, ({ subject }) => {
      const room = roomOfHint(subject);
      if (room !== undefined) this.disturb('hinted', room);
    });
  }

  private decode(room: string, message: Msg): Entry | undefined {
    try {
      const seq = Number(message.headers?.get('Nats-Sequence'));
      assert(Number.isSafeInteger(seq) && seq > 0, 'a republished entry has its seq');
      const entry = { ...decodeEntry(message.data), seq };
      assert(entry.room === room, 'an entry is of the room of its subject');
      return entry;
    } catch (error) {
      this.reportDrop(message, asError(error));
      return undefined;
    }
  }

  private reportDrop(message: Msg, error: Error): void {
    this.dropped += 1;
    const now = this.parts.clock.monotonic();
    if (now - this.lastReportAt < DROP_REPORT_MS) return;
    this.lastReportAt = now;
    const { subject } = message;
    this.parts.logger.error({ code: 'live_entry_dropped', subject, dropped: this.dropped, err: error }, 'not an entry');
  }
}

function allReady(readies: readonly Promise<void>[]): Promise<void> {
  const ready = Promise.all(readies).then(() => undefined);
  // Each refusal is already in the log; who waits gets it as well.
  ready.catch(() => undefined);
  return ready;
}
