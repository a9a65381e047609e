/**
 * Numbers one room's appends and stores them, one entry under way at a time; what arrives meanwhile goes out together
 * as the next entry (group commit).
 *
 *   queue ──▶ batch ──put behind the last entry read──▶ stored ─▶ answers
 *     ▲                  │ conflict, or no answer
 *     │                  ▼
 *     │        read the first entry behind it: mine? ─▶ stored
 *     └──────── another's: it can never be stored; read on, renumber
 *               none: still open, put the identical entry again
 *
 * Invariant: an append is answered with a position only if its entry was read or acknowledged, and is published again
 * under other numbers only when its earlier publication can never be stored.
 */
import { asError, assert, RevcastError } from '../shared/errors.js';
import { sleep, type Clock } from '../shared/clock.js';
import {
  AppendBatch,
  appendBytes,
  checkFits,
  type Base,
  type PendingAppend,
  type Publication,
} from './append-batch.js';
import type { EntryStore, NewEntry } from './entry-store.js';
import { KeyWindow } from './key-window.js';
import type { Append, Appended, Entry } from './log.js';
import { headDetails, numberingAfterLoss, numberingAt, readForward, type Numbering } from './numbering.js';

export interface WriterSettings {
  /** How long an append may wait for its outcome. */
  readonly appendDeadlineMs: number;
  /** A key is remembered while its revision is among the room's last so many ... */
  readonly keyWindowRevisions: number;
  /** ... or younger than this. */
  readonly keyWindowMs: number;
}

/** Beyond this an append is refused with `overloaded`. */
const MAX_QUEUED_APPENDS = 20_000;
/** A writer that has fallen further behind than this reads the newest entry instead of every one. */
const MAX_READ_FORWARD = 64;
const RETRY_MS = 50;
/** Of reads on which it rests that entries were lost. */
const CONCLUSIVE = { confirmed: true, conclusive: true } as const;

export interface WriterParts {
  readonly store: EntryStore;
  readonly clock: Clock;
  readonly settings: WriterSettings;
  /** Called when an entry was stored, or may have been, without an answer at the first try: followers may have missed it. */
  readonly onRetried?: (room: string) => void;
}

/** 'untold': what would tell was removed; 'abandoned': nobody waits for it any more. */
type Outcome = 'stored' | 'lost' | 'untold' | 'abandoned';

export class RoomWriter {
  private queue: PendingAppend[] = [];
  private state: Numbering | undefined;
  /** Set when the log may have lost what this writer read: checked before the next entry. */
  private suspect = false;
  private running = false;
  private closed = false;

  constructor(
    private readonly room: string,
    private readonly parts: WriterParts,
  ) {}

  /** Nothing waits and nothing is under way: it can be dropped, at the price of reading the room's end again. */
  get idle(): boolean {
    return !this.running;
  }

  append(append: Append): Promise<Appended> {
    assert(append.revisions.length > 0, 'an append has revisions');
    return this.enqueue(append);
  }

  /** Has the room begin with a snapshot. Throws `conflict` when it has begun, in another numbering than `base.replaces`. */
  begin(base: Base): Promise<Appended> {
    return this.enqueue({ revisions: [], base });
  }

  private enqueue(append: Publication): Promise<Appended> {
    const bytes = appendBytes(append);
    checkFits(bytes, this.parts.store.maxEntryBytes);
    if (this.queue.length >= MAX_QUEUED_APPENDS) {
      throw new RevcastError('overloaded', `${this.queue.length} appends of this room are waiting`);
    }
    return new Promise((resolve, reject) => {
      const deadline = this.parts.clock.monotonic() + this.parts.settings.appendDeadlineMs;
      this.queue.push({ append, bytes, deadline, outcomeOpen: false, resolve, reject });
      if (!this.running) void this.run();
    });
  }

  /** The log may have lost what was read: look again before the next entry. */
  distrust(): void {
    this.suspect = true;
  }

  close(): void {
    this.closed = true;
    this.expire(Number.POSITIVE_INFINITY);
  }

  private async run(): Promise<void> {
    this.running = true;
    try {
      while (this.queue.length > 0 && !this.closed) {
        try {
          await this.round();
        } catch (error) {
          if (!(error instanceof RevcastError)) throw error;
          this.fail(error);
          await sleep(this.parts.clock, RETRY_MS);
        }
        this.expire(this.parts.clock.monotonic());
      }
    } catch (fault) {
      // A broken invariant: nothing may be acknowledged from this state, and the process must not go on in silence.
      for (const pending of this.queue.splice(0)) pending.reject(asError(fault));
      throw fault;
    } finally {
      this.running = false;
    }
  }

  /** Reads what is needed, stores one batch. Throws what the store throws; the queue then still holds the appends. */
  private async round(): Promise<void> {
    // Whether a room has begun is not to be answered from what was read once: its history may have been removed.
    if (this.suspect || this.queue.some(({ append }) => append.base !== undefined)) await this.verify();
    this.state ??= numberingAt(await this.parts.store.last(this.room, { confirmed: false }));
    if (this.state.keys === undefined && this.queue.some(({ append }) => append.key !== undefined)) {
      this.state = await this.readKeys(this.state);
    }
    const batch = await this.compose();
    if (batch === undefined) return;
    try {
      const outcome = await this.store(batch);
      if (outcome === 'lost') this.queue = [...batch.appends, ...this.queue];
      // Nobody waits any more, but what was read stands: an entry that is stored after all is read as another's would be.
      else if (outcome === 'untold') this.state = undefined;
    } catch (error) {
      this.queue = [...batch.appends, ...this.queue];
      throw error;
    }
  }

  /** The next batch from the queue; undefined when everything in it was answered without one. */
  private async compose(): Promise<AppendBatch | undefined> {
    await this.readAheadOfExpectations();
    const state = this.state;
    assert(state !== undefined, 'the room was read');
    const batch = new AppendBatch(state, this.parts.store.maxEntryBytes);
    const later: PendingAppend[] = [];
    let full = false;
    for (const pending of this.queue) {
      const { key, expectedRev, base } = pending.append;
      const known = key === undefined ? undefined : state.keys?.find(key);
      if (full) later.push(pending);
      else if (known !== undefined) pending.resolve(known);
      // The same key twice, or an expectation that depends on what this batch stores: decided after it.
      else if (batch.hasKey(key)) later.push(pending);
      else if (base !== undefined) {
        if (batch.appends.length > 0) later.push(pending);
        else if (state.epoch !== '' && state.epoch !== base.replaces) pending.reject(hasBegun(state));
        else full = batch.take(pending);
      } else if (expectedRev !== undefined && expectedRev !== batch.rev) {
        if (batch.appends.length > 0) later.push(pending);
        else pending.reject(conflict(expectedRev, state));
      } else if (!batch.take(pending)) {
        full = true;
        later.push(pending);
      }
    }
    this.queue = later;
    return batch.appends.length > 0 ? batch : undefined;
  }

  /** Someone expects a head above the known one: another writer may have stored it, so look before saying no. */
  private async readAheadOfExpectations(): Promise<void> {
    const rev = this.state?.rev ?? 0;
    const expectsMore = ({ append: { expectedRev, base } }: PendingAppend) =>
      base !== undefined || (expectedRev !== undefined && expectedRev > rev);
    if (this.queue.some(expectsMore)) await this.readOn();
  }

  private async store(batch: AppendBatch): Promise<Outcome> {
    const state = this.state;
    assert(state !== undefined, 'the room was read');
    const entry = batch.build(this.room, this.parts.clock.now());
    for (let retried = false; ; retried = true) {
      const put = await this.parts.store.put(entry, state.seq);
      if (put.kind === 'stored') {
        if (retried) this.parts.onRetried?.(this.room);
        return this.stored(batch, { ...entry, seq: put.seq });
      }
      if (put.kind === 'refused' && !isOpen(batch)) throw put.error;
      if (put.kind === 'unknown') for (const pending of batch.appends) pending.outcomeOpen = true;
      const found = await this.resolve(batch, entry, state, put.kind === 'conflict');
      if (found === 'stored' || found === 'untold') this.parts.onRetried?.(this.room);
      if (found !== 'open') return found;
      if (!this.stillWaiting(batch)) {
        this.parts.onRetried?.(this.room);
        return 'abandoned';
      }
      await sleep(this.parts.clock, RETRY_MS);
    }
  }

  /** Finds out by reading what became of a publication that was not acknowledged. */
  private async resolve(
    batch: AppendBatch,
    entry: NewEntry,
    state: Numbering,
    conflicted: boolean,
  ): Promise<Outcome | 'open'> {
    try {
      const next = await this.parts.store.next(this.room, state.seq);
      if (next?.appendId === entry.appendId) return this.stored(batch, next);
      if (next !== null) {
        // Retention removed what stood between, and that may have been this entry: nobody can tell any more.
        if (next.previousSeq > state.seq && isOpen(batch)) return giveUp(batch);
        settle(batch);
        await this.readOn();
        return 'lost';
      }
      if (!conflicted) return 'open';
      const last = await this.parts.store.last(this.room, CONCLUSIVE);
      if (last !== null && last.seq >= state.seq) return 'open';
      // The place that this entry was to stand behind is gone, so it can never be stored.
      settle(batch);
      this.state = numberingAfterLoss(state, last);
      return 'lost';
    } catch (error) {
      if (error instanceof RevcastError && error.retryable) return 'open';
      throw error;
    }
  }

  private stored(batch: AppendBatch, entry: Entry): Outcome {
    const state = this.state;
    assert(state !== undefined, 'the room was read');
    const next = readForward(state, entry);
    assert(next !== 'rewritten', 'an entry stands behind the one it was put behind');
    next.keys?.prune(next.rev, this.parts.clock.now());
    this.state = next;
    batch.answer(entry);
    return 'stored';
  }

  /** Reads every entry behind the last one read. */
  private async readOn(): Promise<void> {
    let state = this.state;
    assert(state !== undefined, 'the room was read');
    for (let read = 0; read < MAX_READ_FORWARD; read += 1) {
      const entry = await this.parts.store.next(this.room, state.seq);
      if (entry === null) return;
      const next = readForward(state, entry);
      if (next === 'rewritten') {
        this.state = numberingAfterLoss(state, await this.parts.store.last(this.room, CONCLUSIVE));
        return;
      }
      state = next;
      this.state = state;
    }
    this.state = numberingAt(await this.parts.store.last(this.room, CONCLUSIVE));
  }

  private async readKeys(state: Numbering): Promise<Numbering> {
    const { keyWindowRevisions: revisions, keyWindowMs: ageMs } = this.parts.settings;
    const keys = new KeyWindow({ revisions, ageMs });
    if (state.seq > 0) {
      for (const entry of await this.parts.store.recent(this.room, { revisions, ageMs, upToSeq: state.seq })) {
        if (entry.epoch === state.epoch) keys.add(entry);
      }
    }
    return { ...state, keys };
  }

  /** The log was rolled back, perhaps: is the last entry read still there? If not, numbering starts again. */
  private async verify(): Promise<void> {
    const state = this.state;
    if (state !== undefined && state.seq > 0) {
      const there = await this.parts.store.next(this.room, state.seq - 1);
      if (there === null || there.seq !== state.seq || there.tag !== state.tag) {
        this.state = numberingAfterLoss(state, await this.parts.store.last(this.room, CONCLUSIVE));
      }
    }
    this.suspect = false;
  }

  /** Answers those of the batch whose time is over; whether anyone still waits. */
  private stillWaiting(batch: AppendBatch): boolean {
    const now = this.closed ? Number.POSITIVE_INFINITY : this.parts.clock.monotonic();
    for (const pending of batch.appends) if (pending.deadline <= now) pending.reject(timedOut(pending));
    return batch.appends.some((pending) => pending.deadline > now);
  }

  private expire(now: number): void {
    this.queue = this.queue.filter((pending) => {
      if (pending.deadline > now) return true;
      pending.reject(timedOut(pending));
      return false;
    });
  }

  /** A store that cannot be reached may be back before the deadline; any other refusal is the answer. */
  private fail(error: RevcastError): void {
    if (error.code === 'log_unavailable') return;
    for (const pending of this.queue.splice(0)) pending.reject(pending.outcomeOpen ? timedOut(pending) : error);
  }
}

/** The batch's publication can never be stored any more. */
function settle(batch: AppendBatch): void {
  for (const pending of batch.appends) pending.outcomeOpen = false;
}

function isOpen(batch: AppendBatch): boolean {
  return batch.appends.some((pending) => pending.outcomeOpen);
}

function giveUp(batch: AppendBatch): Outcome {
  for (const pending of batch.appends) pending.reject(timedOut(pending));
  return 'untold';
}

function conflict(expectedRev: number, state: Numbering): RevcastError {
  return new RevcastError('conflict', `revision ${expectedRev} was expected to be the head, it is ${state.rev}`, {
    details: { head: headDetails(state) },
  });
}

function hasBegun(state: Numbering): RevcastError {
  return new RevcastError('conflict', `the room has begun, its head is revision ${state.rev}`, {
    details: { head: headDetails(state) },
  });
}

function timedOut(pending: PendingAppend): RevcastError {
  return pending.outcomeOpen
    ? new RevcastError('outcome_unknown', 'the log did not say whether the append was stored')
    : new RevcastError('log_unavailable', 'the log did not answer in time; nothing was stored');
}
