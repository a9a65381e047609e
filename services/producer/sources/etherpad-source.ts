/**
 * Follows one pad of an Etherpad server as a read-only client, and publishes each of its revisions to a room under the
 * pad's own number.
 *
 *   read where the room stands ─▶ read the pad's content ─▶ follow from the room's revision on ─▶ append, append, ...
 *        ▲                             │                                  │
 *        │                             └ does not fit the room: twice in a row ─▶ begin the room anew with it
 *        └──────────────── connection lost, silence, a gap, revisions that do not fit, backoff ◀──────────────────┘
 *
 * Etherpad answers nothing at all to who asks for what follows a revision that the pad does not have. The content, which
 * is always answered, comes first and says how far the pad is; it also becomes the room's snapshot. Nothing is concluded
 * from one look: a pad that is behind the room, or whose revisions do not fit, is looked at twice.
 *
 * What can be mended by waiting is waited for, for ever, and logged once; anything else is a fault, which ends the
 * source.
 */
import { asError } from '../../shared/errors.js';
import type { Running } from '../../shared/lifecycle.js';
import type { Logger } from '../../shared/logger.js';
import { Backoff, type BackoffLimits } from './backoff.js';
import { PadRoom, type PadLog } from './etherpad-room.js';
import { PadError, PadServer, type PadFeed } from './etherpad-server.js';
import type { EtherpadValues, PadInRoom } from './etherpad-settings.js';
import { isRetryable, type OnFault, type SourceParts } from './source.js';
import { Wakeup } from './wakeup.js';

const RETRY: BackoffLimits = { firstMs: 200, maxMs: 15_000 };
/** A connection that has lived so long works: the next failure is a new one. */
const STEADY_MS = 2_000;
/** Of one append; a revision that is larger than that goes alone. */
const BATCH_REVISIONS = 500;
const BATCH_CHARACTERS = 128 * 1024;
/** When the pad is quiet, the log is asked so often whether it still has everything. */
const LOOK_MS = 30_000;
/** So often in a row the pad must not fit the room before the room is begun anew. */
const DOUBTS = 2;

interface Doubts {
  readonly about: 'behind' | 'mismatch' | 'nothing';
  readonly count: number;
}

const NO_DOUBTS: Doubts = { about: 'nothing', count: 0 };

export interface EtherpadSourceParts extends Omit<SourceParts, 'log'> {
  readonly settings: EtherpadValues;
  readonly pad: PadInRoom;
  readonly log: PadLog;
  /** Told once, after which the source has stopped. */
  readonly onFault: OnFault;
  /** Waits between attempts. */
  readonly retry?: BackoffLimits;
  /** Between looks at the log while the pad is quiet. */
  readonly lookMs?: number;
}

export class EtherpadSource implements Running {
  private readonly logger: Logger;
  private readonly server: PadServer;
  private readonly room: PadRoom;
  private readonly news: Wakeup;
  private readonly halt: Wakeup;
  private readonly backoff: Backoff;
  private readonly stopping = new AbortController();
  /** What is being waited for, as it was logged. */
  private trouble: string | undefined;
  private saidFollowing = false;
  private doubts: Doubts = NO_DOUBTS;
  private refreshing = false;
  private running: Promise<void> | undefined;

  constructor(private readonly parts: EtherpadSourceParts) {
    const { settings, pad, log, logger, clock, retry = RETRY } = parts;
    const { etherpadUrl: url, etherpadTimeoutMs: timeoutMs } = settings;
    this.logger = logger.child({ source: 'etherpad', etherpad: new URL(url).host, ...pad });
    this.server = new PadServer({ url, pad: pad.pad, timeoutMs, clock });
    this.room = new PadRoom(pad.room, log, this.logger);
    this.news = new Wakeup(clock);
    this.halt = new Wakeup(clock);
    this.backoff = new Backoff(retry);
  }

  /** Connects and publishes until `stop`, or until a fault. Once. */
  start(): void {
    this.running ??= this.run();
  }

  /** Waits for an append under way. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.news.wake();
    this.halt.wake();
    await this.running;
  }

  private get stopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async run(): Promise<void> {
    try {
      while (!this.stopped) await this.turn();
    } catch (thrown) {
      this.parts.onFault(asError(thrown));
    }
  }

  private async turn(): Promise<void> {
    try {
      await this.meet();
    } catch (error) {
      await this.waitOut(error);
    }
  }

  /** One meeting of the pad and the room, until it fails; or until the room turns out to stand elsewhere. */
  private async meet(): Promise<void> {
    await this.room.load();
    if (this.stopped) return;
    const content = await this.server.read(this.stopping.signal);
    const { rev } = this.room;
    if (rev === undefined) {
      await this.room.begin(content);
      return;
    }
    const problem = this.room.problemWith(content);
    if (this.doubts.count >= DOUBTS && (problem !== undefined || this.doubts.about === 'mismatch')) {
      this.logger.warn({ rev, padRev: content.rev }, 'the pad has lost its history: the room begins anew');
      await this.room.begin(content);
      this.doubts = NO_DOUBTS;
      return;
    }
    if (problem !== undefined) throw problem;
    this.room.offer(content);
    await this.follow(rev);
  }

  private async follow(rev: number): Promise<void> {
    const feed = this.server.follow(rev, () => {
      this.news.wake();
    });
    const cancelSteady = this.parts.clock.after(STEADY_MS, () => {
      if (feed.answered && feed.ended === undefined) this.mended();
    });
    try {
      while (!this.stopped && this.room.rev !== undefined) await this.publish(feed);
    } finally {
      cancelSteady();
      feed.close();
    }
  }

  /** Publishes what the feed has, or waits for more. What the log cannot do now leaves the feed as it is. */
  private async publish(feed: PadFeed): Promise<void> {
    try {
      this.refreshSnapshot();
      await this.room.keepSnapshot();
      const changes = feed.next(BATCH_REVISIONS, BATCH_CHARACTERS);
      if (changes.length > 0) {
        await this.room.append(changes);
        feed.drop(this.room.rev ?? 0);
        this.mended();
        return;
      }
      if (feed.ended !== undefined) throw feed.ended;
      if (feed.answered) this.tellFollowing();
      if (!(await this.news.wait(this.parts.lookMs ?? LOOK_MS))) await this.room.look();
    } catch (error) {
      if (!isRetryable(error)) throw error;
      await this.waitOut(error);
      await this.room.load();
    }
  }

  /** Asks for the pad's content when the last snapshot is far behind, so that newcomers need few revisions. */
  private refreshSnapshot(): void {
    if (this.refreshing || !this.room.snapshotIsDue(this.parts.settings.etherpadSnapshotRevisions)) return;
    this.refreshing = true;
    void this.server
      .read(this.stopping.signal)
      .then((content) => {
        this.room.offer(content);
        this.news.wake();
      })
      .catch((error: unknown) => {
        this.logger.debug({ err: asError(error) }, 'no snapshot this time');
      })
      .finally(() => {
        this.refreshing = false;
      });
  }

  private async waitOut(error: unknown): Promise<void> {
    if (!(error instanceof PadError) && !isRetryable(error)) throw error;
    if (this.stopped || error.code === 'overrun') return;
    if (error.code === 'behind' || error.code === 'mismatch') {
      const count = this.doubts.about === error.code ? this.doubts.count + 1 : 1;
      this.doubts = { about: error.code, count };
    }
    if (this.trouble !== error.code) {
      this.trouble = error.code;
      this.logger.warn({ code: error.code, reason: error.message }, 'publishing waits');
    }
    await this.halt.wait(this.backoff.next());
  }

  private tellFollowing(): void {
    if (this.saidFollowing) return;
    this.saidFollowing = true;
    this.logger.info({ rev: this.room.rev }, 'following the pad');
  }

  private mended(): void {
    this.backoff.reset();
    this.doubts = NO_DOUBTS;
    if (this.trouble === undefined) return;
    this.logger.info({ waitedFor: this.trouble }, 'publishing goes on');
    this.trouble = undefined;
  }
}
