/**
 * Publications of this edge's clients, on their way to a producer. The edge decides only which rooms may be published
 * to and how many are under way; it keeps nothing that a client would miss: what it cannot tell the outcome of is
 * answered `outcome_unknown`, with the key that makes a retry safe (one is made where the client gave none).
 *
 * Publications of one connection to one room are sent one after the other, so that they are stored in the order in which
 * they came; those of other rooms and connections go beside them. What was received is also sent when its connection has
 * closed meanwhile. Limits: `publishPerSocket` of a connection and `publishMax` of all are under way or wait for their
 * turn, each of at most EDGE_MAX_MESSAGE_BYTES; beyond that `overloaded`. `publishTimeoutMs` from its arrival on.
 * A connection that is about to be closed (`finish`) publishes nothing more, and is given the answers to what it did: for what has
 * none after ANSWER_SHARE of the time that a close may take, `outcome_unknown`.
 */
import { randomBytes } from 'node:crypto';
import type { Appended } from '../log/log.js';
import type { Publication, Publisher } from '../producer/contract.js';
import type { Clock } from '../shared/clock.js';
import { RevcastError } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import type { EdgeCounters } from './counters.js';
import { roomMatcher } from './room-pattern.js';
import type { EdgeSettings } from './settings.js';

/** Of the time that a close may take: the rest is the client's, to take its answers. */
const ANSWER_SHARE = 0.5;

/** What a client asks to publish. */
export type ClientPublication = Omit<Publication, 'key'> & Partial<Pick<Publication, 'key'>>;

export interface PublishingParts {
  /** Absent: nothing may be published here. */
  readonly publisher?: Publisher | undefined;
  readonly settings: Pick<
    EdgeSettings,
    'publishRooms' | 'publishPerSocket' | 'publishMax' | 'publishTimeoutMs' | 'closeTimeoutMs'
  >;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: EdgeCounters;
}

/** A publication with the key that it goes with. */
interface Keyed {
  readonly asked: ClientPublication;
  readonly key: string;
  readonly publisher: Publisher;
}

/** One connection's. */
interface Line {
  underWay: number;
  /** Told when none is. */
  onIdle?: () => void;
  /** Tells who waits for one under way that it is not known what becomes of it. */
  readonly abandons: Set<() => void>;
  /** By room, the end of the last one, whatever it ends with. */
  readonly tails: Map<string, Promise<void>>;
}

export class Publishing {
  /** By connection, of those that have any under way. */
  private readonly lines = new Map<object, Line>();
  private readonly allows: (room: string) => boolean;
  /** Connections that are about to be closed. */
  private readonly finishing = new WeakSet<object>();
  private underWay = 0;

  constructor(private readonly parts: PublishingParts) {
    this.allows = roomMatcher(parts.settings.publishRooms);
  }

  /**
   * Publishes for a connection, which is any object that stands for it. Throws `forbidden`, `overloaded`,
   * `shutting_down`, and what `Publisher.publish` throws.
   */
  async publish(connection: object, asked: ClientPublication): Promise<Appended> {
    const publisher = this.publisherOf(asked.room);
    const line = this.lines.get(connection) ?? newLine();
    this.admit(connection, line);
    this.lines.set(connection, line);
    const key = asked.key ?? randomBytes(16).toString('base64url');
    const outcome = this.inTurn(connection, line, { asked, key, publisher });
    return new Promise((resolve, reject) => {
      const abandon = (): void => {
        reject(withKey(abandoned(), key));
      };
      line.abandons.add(abandon);
      const end = (): void => {
        line.abandons.delete(abandon);
      };
      outcome.finally(end).then(resolve, reject);
    });
  }

  private async inTurn(connection: object, line: Line, keyed: Keyed): Promise<Appended> {
    const { settings, clock, counters } = this.parts;
    const { asked } = keyed;
    line.underWay += 1;
    this.underWay += 1;
    const deadline = clock.monotonic() + settings.publishTimeoutMs;
    const before = line.tails.get(asked.room);
    const turn = before === undefined ? this.send(keyed, deadline) : before.then(() => this.send(keyed, deadline));
    const tail = turn.then(ignore, ignore);
    line.tails.set(asked.room, tail);
    try {
      const appended = await turn;
      counters.publishes += 1;
      return appended;
    } catch (error) {
      counters.publishesFailed += 1;
      throw error;
    } finally {
      if (line.tails.get(asked.room) === tail) line.tails.delete(asked.room);
      line.underWay -= 1;
      this.underWay -= 1;
      if (line.underWay === 0) {
        this.lines.delete(connection);
        line.onIdle?.();
      }
    }
  }

  /** Takes no more of this connection. Resolves when what is under way was answered; undefined: nothing is. */
  finish(connection: object): Promise<void> | undefined {
    this.finishing.add(connection);
    const line = this.lines.get(connection);
    if (line === undefined) return undefined;
    const { clock, settings } = this.parts;
    return new Promise((resolve) => {
      // In a later turn: whoever asked for the last one answers it first.
      const end = (): void => {
        cancel();
        setImmediate(resolve);
      };
      const cancel = clock.after(settings.closeTimeoutMs * ANSWER_SHARE, () => {
        for (const abandon of line.abandons) abandon();
        end();
      });
      line.onIdle = end;
    });
  }

  private publisherOf(room: string): Publisher {
    const { publisher } = this.parts;
    if (publisher !== undefined && this.allows(room)) return publisher;
    throw new RevcastError('forbidden', 'this edge does not allow to publish to the room');
  }

  private admit(connection: object, line: Line): void {
    const { publishPerSocket, publishMax } = this.parts.settings;
    if (this.finishing.has(connection)) throw new RevcastError('shutting_down', 'this connection is being closed');
    if (line.underWay >= publishPerSocket) {
      throw new RevcastError('overloaded', `${line.underWay} publications of this connection are under way`);
    }
    if (this.underWay >= publishMax) {
      throw new RevcastError('overloaded', `${this.underWay} publications are under way at this edge`);
    }
  }

  private async send({ asked, key, publisher }: Keyed, deadline: number): Promise<Appended> {
    const leftMs = deadline - this.parts.clock.monotonic();
    if (leftMs <= 0) {
      const text = 'earlier publications of this connection took the time of this one; nothing was stored';
      throw new RevcastError('log_unavailable', text);
    }
    try {
      const appended = await publisher.publish({ ...asked, key }, leftMs);
      // A key that was made here can only have met an earlier try of this same publication.
      return asked.key === undefined ? { ...appended, duplicate: false } : appended;
    } catch (error) {
      throw error instanceof RevcastError && error.code === 'outcome_unknown' ? withKey(error, key) : error;
    }
  }
}

function newLine(): Line {
  return { underWay: 0, abandons: new Set(), tails: new Map() };
}

/** It goes on without anybody who waits for it, and may be stored. */
function abandoned(): RevcastError {
  const text =
    'the connection is being closed before it is known whether the publication was stored; a retry with the same key is safe';
  return new RevcastError('outcome_unknown', text);
}

function withKey(error: RevcastError, key: string): RevcastError {
  return new RevcastError(error.code, error.message, {
    cause: error,
    details: { ...error.details, outcome: 'unknown', key },
  });
}

function ignore(): void {
  // The outcome is told to who asked; whoever waits for a turn waits for its end only.
}
