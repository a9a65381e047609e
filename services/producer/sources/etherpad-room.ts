/**
 * The room that a pad is published to: revisions under the pad's own numbers, and snapshots of its text.
 *
 *   unknown ──load──▶ empty ──begin with the pad's content──▶ at {epoch, rev, length}
 *                                                                │ the log lost it, or the pad did: begin anew
 *
 * Invariant: an append names the revision that it expects to follow, and follows it in the pad. So each revision is
 * stored once, whoever else publishes the same pad here, and whatever became of an append whose answer was lost. The
 * text's length goes along, because a changeset names the length that it applies to: revisions of another history with
 * the same numbers do not fit and are never appended.
 *
 * Limits: LENGTHS remembered lengths, for content that arrives a little late. One snapshot waits for its revision.
 */
import { RevcastError, type ErrorCode } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import {
  changesetLengths,
  padRevisionData,
  padSnapshotData,
  parsePadRevision,
  parsePadSnapshot,
} from '../../shared/pad-data.js';
import type { Head, Log, NewSnapshot } from '../../log/log.js';
import type { PadChange, PadContent } from './etherpad-messages.js';
import { PadError } from './etherpad-server.js';
import type { SourceLog } from './source.js';

/** The part of the log that a pad's source uses. */
export type PadLog = SourceLog & Pick<Log, 'snapshot' | 'putSnapshot'>;

const LENGTHS = 2_048;
const ONE = { limit: 1, maxBytes: 1 };
/** Authors that the log takes as the name of a revision's author; Etherpad's own are "a." and 16 letters. */
const AUTHOR = /^[\w.-]{1,200}$/u;

/** Someone else keeps a later one, or has begun the room. */
const NOT_NEEDED: ReadonlySet<ErrorCode> = new Set(['snapshot_above_head', 'snapshot_outdated', 'history_truncated']);

type State =
  | { readonly kind: 'unknown' }
  /** To be begun; in place of a numbering that stood at `replaces` and cannot go on, if there is one. */
  | { readonly kind: 'empty'; readonly replaces: { readonly epoch: string; readonly rev: number } | undefined }
  | { readonly kind: 'at'; readonly epoch: string; readonly rev: number };

export class PadRoom {
  private state: State = { kind: 'unknown' };
  /** Of the text after a revision, oldest first. */
  private readonly lengths = new Map<number, number>();
  private lengthsEpoch = '';
  private waiting: PadContent | undefined;
  /** Of the last snapshot that was stored, or tried. */
  private snapshotRev = 0;
  private saidTooLarge = false;

  constructor(
    private readonly room: string,
    private readonly log: PadLog,
    private readonly logger: Logger,
  ) {}

  /** The newest revision that the room is known to hold; undefined in a room that has to be begun. */
  get rev(): number | undefined {
    return this.state.kind === 'at' ? this.state.rev : undefined;
  }

  /** Whether so many revisions have come since the last snapshot was stored, or since this was last answered with yes. */
  snapshotIsDue(revisions: number): boolean {
    if (this.state.kind !== 'at' || this.state.rev - this.snapshotRev < revisions) return false;
    this.snapshotRev = this.state.rev;
    return true;
  }

  /** Reads where the room stands, unless that is known. Throws what the log throws; a room of something else is a fault. */
  async load(): Promise<State> {
    if (this.state.kind !== 'unknown') return this.state;
    const head = (await this.log.heads([this.room])).get(this.room) ?? null;
    if (head === null) this.state = { kind: 'empty', replaces: undefined };
    else this.stand(head.epoch, head.rev, await this.lengthAtHead(head));
    return this.state;
  }

  /** Looks whether the log still has what the room was known to hold. If not, where it stands is to be loaded. */
  async look(): Promise<void> {
    const head = (await this.log.heads([this.room])).get(this.room) ?? null;
    const { state } = this;
    if (state.kind !== 'at' || (head?.epoch === state.epoch && head.rev >= state.rev)) return;
    this.state = { kind: 'unknown' };
  }

  /**
   * Begins the numbering with the pad's content, anew if there is one. Another source may have done so meanwhile: then
   * where the room stands is to be loaded.
   */
  async begin(content: PadContent): Promise<void> {
    const { state } = this;
    if (state.kind === 'unknown') return;
    this.waiting = undefined;
    this.state = { kind: 'unknown' };
    if (state.kind === 'empty' && state.replaces !== undefined) {
      // Another source may have gone on in it after all: its log had not read what was lost.
      const head = (await this.log.heads([this.room])).get(this.room);
      if (head?.epoch !== state.replaces.epoch || head.rev !== state.replaces.rev) return;
    }
    const replaces = state.kind === 'at' ? state.epoch : state.replaces?.epoch;
    const snapshot = { rev: content.rev, data: padSnapshotData(content) };
    const begun = await this.put(replaces === undefined ? snapshot : { ...snapshot, replaces });
    if (!begun) return;
    this.logger.info({ rev: content.rev, replaces }, 'the room begins with the content of the pad');
    await this.load();
  }

  /** Why the content cannot be of the history that the room holds, if it cannot. */
  problemWith(content: PadContent): PadError | undefined {
    const { rev } = this;
    if (rev === undefined) return undefined;
    if (content.rev < rev) return new PadError('behind', `the pad is at revision ${content.rev}, the room at ${rev}`);
    return this.agrees(content) ? undefined : mismatch(`the text at revision ${content.rev} has another length`);
  }

  /** Keeps the content as the room's snapshot once the room holds its revision (`keepSnapshot`). */
  offer(content: PadContent): void {
    this.waiting = content;
  }

  /**
   * Stores the snapshot that waits, if its revision is there. Throws PadError where it is not of this history, and what
   * the log throws: then it is forgotten, because revisions do not wait for a snapshot.
   */
  async keepSnapshot(): Promise<void> {
    const { state, waiting } = this;
    if (state.kind !== 'at' || waiting === undefined || waiting.rev > state.rev) return;
    this.waiting = undefined;
    // Too old to tell whether it is of this history.
    if (!this.lengths.has(waiting.rev)) return;
    if (!this.agrees(waiting)) throw mismatch(`the text at revision ${waiting.rev} has another length`);
    this.snapshotRev = waiting.rev;
    await this.put({ rev: waiting.rev, epoch: state.epoch, data: padSnapshotData(waiting) });
  }

  /**
   * Appends the revisions, of which the first may be ones that the room has. Throws PadError where they do not follow;
   * what the log throws, `conflict` excepted: then the room has been read again, and the caller looks where it stands.
   */
  async append(changes: readonly PadChange[]): Promise<void> {
    const { state } = this;
    if (state.kind !== 'at') return;
    const next = changes.filter(({ rev }) => rev > state.rev);
    this.check(state.rev, next);
    const revisions = next.map((change) => ({
      data: padRevisionData(change),
      ...(AUTHOR.test(change.author) ? { author: change.author } : {}),
    }));
    if (revisions.length === 0) return;
    try {
      const appended = await this.log.append(this.room, { revisions, expectedRev: state.rev });
      if (appended.epoch !== state.epoch) {
        // By chance another numbering stood at the same revision, and now holds what is not its own.
        this.state = { kind: 'empty', replaces: appended };
        throw mismatch('the room was begun anew by someone else');
      }
      for (const { rev, lengthAfter } of next) this.stand(state.epoch, rev, lengthAfter);
    } catch (error) {
      if (!(error instanceof RevcastError)) throw error;
      if (error.code === 'conflict') await this.conflicted(error, state);
      else if (error.code === 'too_large' && next.length > 1) {
        await this.append(next.slice(0, Math.floor(next.length / 2)));
      } else throw error;
    }
  }

  private stand(epoch: string, rev: number, length: number): void {
    if (this.lengthsEpoch !== epoch) {
      this.lengths.clear();
      this.lengthsEpoch = epoch;
      this.snapshotRev = rev;
    }
    this.state = { kind: 'at', epoch, rev };
    this.lengths.set(rev, length);
    for (const old of this.lengths.keys()) {
      if (this.lengths.size <= LENGTHS) break;
      this.lengths.delete(old);
    }
  }

  private agrees({ rev, initialAttributedText: { text } }: PadContent): boolean {
    const length = this.lengths.get(rev);
    return length === undefined || length === text.length;
  }

  private check(headRev: number, changes: readonly PadChange[]): void {
    let rev = headRev;
    let length = this.lengths.get(headRev);
    for (const change of changes) {
      if (change.rev !== rev + 1) throw mismatch(`revision ${change.rev} does not follow revision ${rev}`);
      if (change.lengthBefore !== length) {
        throw mismatch(`revision ${change.rev} applies to ${change.lengthBefore} characters, not to ${length}`);
      }
      rev = change.rev;
      length = change.lengthAfter;
    }
  }

  /** Someone else has appended, or the log has lost history and numbers the room anew. */
  private async conflicted(error: RevcastError, before: State): Promise<void> {
    const told = error.details['head'] as { epoch?: string } | undefined;
    this.state = { kind: 'unknown' };
    const state = await this.load();
    if (state.kind !== 'at') return;
    if (told?.epoch === '') {
      // What heads show is what is left of the lost history, in which nothing can be appended any more.
      this.state = { kind: 'empty', replaces: state };
    } else if (before.kind === 'at' && before.epoch === state.epoch && before.rev === state.rev) {
      throw new RevcastError('log_unavailable', 'the log refuses the append and does not show why yet', {
        cause: error,
      });
    }
  }

  /** False where the room does not take it, and where it stands is to be loaded. */
  private async put(snapshot: NewSnapshot): Promise<boolean> {
    try {
      await this.log.putSnapshot(this.room, snapshot);
      return true;
    } catch (error) {
      if (!(error instanceof RevcastError)) throw error;
      if (error.code === 'epoch_changed') this.state = { kind: 'unknown' };
      else if (NOT_NEEDED.has(error.code)) {
        this.logger.debug({ rev: snapshot.rev, code: error.code }, 'the snapshot is not needed');
      } else if (error.code === 'too_large' && this.state.kind === 'at') this.tellTooLarge(error);
      else throw error;
      return false;
    }
  }

  private tellTooLarge(error: RevcastError): void {
    if (this.saidTooLarge) return;
    this.saidTooLarge = true;
    this.logger.warn({ err: error }, 'the pad is too large for a snapshot; its revisions go on');
  }

  private async lengthAtHead(head: Head): Promise<number> {
    const range = await this.log.range(this.room, head.rev, ONE);
    const data = range.kind === 'entries' ? range.entries[0]?.revisions[0]?.data : undefined;
    if (data !== undefined) {
      const length = changesetLengths(parsePadRevision(data)?.changeset ?? '')?.after;
      if (length !== undefined) return length;
      throw new Error(`revision ${head.rev} of room ${this.room} is no revision of a pad`);
    }
    const snapshot = await this.log.snapshot(this.room);
    if (snapshot?.rev !== head.rev || snapshot.epoch !== head.epoch) {
      throw new RevcastError('log_unavailable', `the history of room ${this.room} changed while it was read`);
    }
    const content = parsePadSnapshot(snapshot.data);
    if (content === null) throw new Error(`room ${this.room} began with what is no snapshot of a pad`);
    return content.initialAttributedText.text.length;
  }
}

function mismatch(what: string): PadError {
  return new PadError('mismatch', what);
}
