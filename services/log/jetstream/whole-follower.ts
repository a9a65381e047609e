/**
 * Follows the whole stream through one push consumer in the server's memory, which is given each room's newest entry
 * first, and then whatever is stored: all heads of 100,000 rooms come within about a second.
 *
 *   waiting ──the link is up──▶ opening ──▶ following ──gap, silence, link down, doubt──▶ opening …
 *
 * Invariant: the listener is given entries in seq order without repeats. Before it goes on behind the last one given, that
 * one is read again from the leader: if it is gone or another, the listener is told to forget, and all begins again.
 * That the log's end is reached is said where nothing came behind an entry, or, where the newest were removed, if the leader
 * says so: the consumer may be on a node that is behind it.
 *
 * At most MAX_UNACKED entries are on their way, so that answers to requests on the same connection do not wait behind all heads
 * of the log. A heartbeat comes every 2 s; three that are missed are silence. A consumer that was given to a node which hangs
 * (one in three) is never there: it has CREATE_MS, and then another is made. What cannot be decoded is logged and passed over.
 */
import { randomBytes } from 'node:crypto';
import type { Msg } from 'nats';
import { sleep, type Clock } from '../../shared/clock.js';
import { asError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { decodeEntry } from '../entry-codec.js';
import type { Entry, LogExtent, WholeFollowing, WholeListener } from '../log.js';
import { STORED_SUBJECTS, STREAM } from '../subjects.js';
import type { JetStreamApi } from './api.js';
import type { EntryReader } from './entry-reader.js';
import type { Subscribed } from './link-subscription.js';

const HEARTBEAT_MS = 2_000;
const SILENCE_MS = 3 * HEARTBEAT_MS;
const CONSUMER_IDLE_MS = 10_000;
const NS_PER_MS = 1_000_000;
/** Entries that the server sends ahead, and after how many it is told that they came. */
const MAX_UNACKED = 1_000;
const ACK_EVERY = 250;
/** Nothing is ever sent again: what goes missing is a gap, and the consumer is made anew. */
const ACK_WAIT_MS = 24 * 60 * 60 * 1_000;
/** Between two tries to open; doubles from min to max. */
const RETRY_MS = { min: 100, max: 2_000 };
/** How long the making of a consumer may take at first; twice as long after each CREATE_TRIES tries. */
const CREATE_MS = 500;
const CREATE_TRIES = 2;
const CONTROL_CODE = 100;
const ERROR_CODE = 400;
/** Replicas of one stream name slightly different times at which it was made. */
const MAX_MADE = 8;
const NO_BYTES = new Uint8Array(0);

export interface WholeFollowerParts {
  readonly api: JetStreamApi;
  readonly reader: Pick<EntryReader, 'tagAt' | 'seqAfter'>;
  readonly extent: () => Promise<LogExtent>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One consumer, from its creation until something is wrong with it. */
interface Session {
  readonly name: string;
  readonly subscription: Subscribed;
  /** Consumer seq of the last message that came, and of the last that the server knows to have come. */
  received: number;
  acknowledged: number;
  /** Where the last message is answered to. */
  ackTo: string;
  /** All up to this seq was given. */
  reachedSeq: number;
  heardAt: number;
  /** How far the log reached when the consumer was made. */
  readonly endSeq: number;
  /** Whether the leader is being asked if that is the end. */
  asksForEnd: boolean;
  /** Each room's newest entry is coming: in seq order, with holes, so nothing is reached until they all came. */
  givesHeads: boolean;
}

export class WholeFollower implements WholeFollowing {
  private session: Session | undefined;
  private last: Pick<Entry, 'seq' | 'tag'> | undefined;
  /** When the stream was made that what was given is of, as its leaders said. */
  private readonly made = new Set<string>();
  private opening = false;
  private openAgain = false;
  /** Counts what makes an opening that is under way worthless. */
  private interruptions = 0;
  private stopped = false;
  private complaint: string | undefined;
  private cancelWatch: (() => void) | undefined;
  private readonly ends: (() => void)[];

  constructor(
    private readonly parts: WholeFollowerParts,
    private readonly listener: WholeListener,
  ) {
    const { link } = parts.api;
    this.ends = [
      link.onUp(() => {
        this.open();
      }),
      link.onDown(() => {
        this.interrupt();
      }),
    ];
    this.watch();
  }

  verify(): void {
    this.reopen('doubted');
  }

  restart(): void {
    if (this.stopped) return;
    this.forget();
    this.reopen('begun again');
  }

  stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    this.cancelWatch?.();
    for (const end of this.ends) end();
    this.interrupt();
  }

  vouchesFor({ made }: LogExtent): boolean {
    return this.session !== undefined && this.made.has(made);
  }

  private forget(): void {
    this.last = undefined;
    this.made.clear();
    this.listener.onRestart();
  }

  private reopen(reason: string): void {
    if (this.stopped) return;
    this.parts.logger.debug({ reason }, 'the following of the log is interrupted');
    this.interrupt();
    this.open();
  }

  private interrupt(): void {
    this.interruptions += 1;
    this.endSession();
  }

  private endSession(): void {
    const { session } = this;
    if (session === undefined) return;
    this.session = undefined;
    session.subscription.stop();
    this.remove(session.name);
  }

  private remove(consumer: string): void {
    this.parts.api.call(`CONSUMER.DELETE.${STREAM}.${consumer}`).catch((error: unknown) => {
      this.parts.logger.debug({ consumer, err: asError(error) }, 'consumer not deleted; it ends when idle');
    });
  }

  /** Silence shows by the clock: nothing that comes could tell it. */
  private watch(): void {
    this.cancelWatch = this.parts.clock.after(HEARTBEAT_MS, () => {
      const { session } = this;
      if (session !== undefined && this.parts.clock.monotonic() - session.heardAt > SILENCE_MS) this.reopen('silent');
      if (!this.stopped) this.watch();
    });
  }

  private open(): void {
    this.openAgain = true;
    if (this.opening) return;
    this.opening = true;
    void this.openWhileAsked();
  }

  private async openWhileAsked(): Promise<void> {
    const { api, clock } = this.parts;
    let wait = RETRY_MS.min;
    let tries = 0;
    while (this.openAgain && !this.stopped && api.link.up) {
      this.openAgain = false;
      try {
        const patienceMs = CREATE_MS * 2 ** Math.floor(tries / CREATE_TRIES);
        await this.openOnce(Math.min(patienceMs, api.requestTimeoutMs));
        this.complaint = undefined;
      } catch (error) {
        this.complain(asError(error));
        this.openAgain = true;
        tries += 1;
        await sleep(clock, wait);
        wait = Math.min(RETRY_MS.max, wait * 2);
      }
    }
    this.opening = false;
  }

  private async openOnce(createMs: number): Promise<void> {
    const { api, extent } = this.parts;
    this.endSession();
    const { interruptions } = this;
    const { lastSeq, made } = await extent();
    if (interruptions !== this.interruptions) return;
    const { last } = this;
    if (last !== undefined) {
      // Behind the extent: if the entry still stands, it stood then.
      const tag = await this.parts.reader.tagAt(last.seq);
      if (interruptions !== this.interruptions) return;
      if (tag !== last.tag) this.forget();
    }
    if (this.made.size >= MAX_MADE) this.made.clear();
    this.made.add(made);
    const name = `whole-${randomBytes(9).toString('base64url')}`;
    const inbox = api.link.newInbox();
    const subscription = api.link.subscribe(inbox, {}, (message) => {
      if (this.session === session) this.take(session, message);
    });
    const session = this.newSession(name, subscription, lastSeq);
    // Before it is made: its first entries come before the answer.
    this.session = session;
    try {
      const { num_pending: pending } = await this.create(name, inbox, createMs);
      // Nobody wants it any more.
      if (this.session !== session) this.remove(name);
      else if (pending === 0 && session.received === 0) this.allCame(session);
    } catch (error) {
      // The answer may be late, behind all that the consumer gives.
      if (this.session !== session || session.received > 0) return;
      this.endSession();
      throw error;
    }
  }

  private newSession(name: string, subscription: Subscribed, endSeq: number): Session {
    return {
      name,
      subscription,
      received: 0,
      acknowledged: 0,
      ackTo: '',
      reachedSeq: this.last?.seq ?? 0,
      heardAt: this.parts.clock.monotonic(),
      endSeq,
      asksForEnd: false,
      givesHeads: this.last === undefined,
    };
  }

  private async create(name: string, inbox: string, timeoutMs: number): Promise<{ readonly num_pending: number }> {
    const from =
      this.last === undefined
        ? { deliver_policy: 'last_per_subject' }
        : { deliver_policy: 'by_start_sequence', opt_start_seq: this.last.seq + 1 };
    const config = {
      ...from,
      name,
      deliver_subject: inbox,
      // Needed with last_per_subject.
      filter_subject: STORED_SUBJECTS,
      // One acknowledgement is for all before.
      ack_policy: 'all',
      max_ack_pending: MAX_UNACKED,
      ack_wait: ACK_WAIT_MS * NS_PER_MS,
      replay_policy: 'instant',
      flow_control: true,
      idle_heartbeat: HEARTBEAT_MS * NS_PER_MS,
      inactive_threshold: CONSUMER_IDLE_MS * NS_PER_MS,
      mem_storage: true,
      num_replicas: 1,
    };
    const verb = `CONSUMER.CREATE.${STREAM}.${name}`;
    const answer = await this.parts.api.call(verb, { stream_name: STREAM, config }, { timeoutMs });
    return answer as { readonly num_pending: number };
  }

  private take(session: Session, message: Msg): void {
    session.heardAt = this.parts.clock.monotonic();
    const code = message.headers?.code ?? 0;
    if (code === CONTROL_CODE) {
      this.control(session, message);
      return;
    }
    if (code >= ERROR_CODE) {
      this.reopen(`the consumer ended with ${code}`);
      return;
    }
    const { seq, consumerSeq, pending } = deliveryOf(message);
    if (consumerSeq !== session.received + 1) {
      this.reopen('a gap');
      return;
    }
    session.received = consumerSeq;
    session.ackTo = message.reply ?? '';
    this.give(seq, message.data);
    if (consumerSeq - session.acknowledged >= ACK_EVERY) this.acknowledge(session);
    if (pending === 0) this.allCame(session, seq);
    else if (!session.givesHeads) this.reached(session, seq);
  }

  private acknowledge(session: Session): void {
    if (session.acknowledged === session.received) return;
    session.acknowledged = session.received;
    this.parts.api.link.publish(session.ackTo, NO_BYTES);
  }

  private give(seq: number, data: Uint8Array): void {
    let entry: Entry;
    try {
      entry = { ...decodeEntry(data), seq };
    } catch (error) {
      this.parts.logger.error({ code: 'entry_unreadable', seq, err: asError(error) }, 'not an entry');
      return;
    }
    this.last = entry;
    this.listener.onEntry(entry);
  }

  /** The consumer has no more, as far as its node knows. */
  private allCame(session: Session, seq = session.reachedSeq): void {
    session.givesHeads = false;
    this.reached(session, seq);
    if (session.reachedSeq < session.endSeq) void this.askForEnd(session);
  }

  private reached(session: Session, seq: number): void {
    session.reachedSeq = Math.max(session.reachedSeq, seq);
    this.listener.onReached(session.reachedSeq);
  }

  /** Whether the entries behind what came, up to the log's end, were removed: then nothing of them will come. */
  private async askForEnd(session: Session): Promise<void> {
    if (session.asksForEnd) return;
    session.asksForEnd = true;
    try {
      const { lastSeq } = await this.parts.extent();
      const { reachedSeq } = session;
      if (lastSeq <= reachedSeq || this.session !== session) return;
      const next = await this.parts.reader.seqAfter(reachedSeq);
      // All that came since is of later seqs, and in order.
      if (this.session === session && (next === null || next > lastSeq)) this.reached(session, lastSeq);
    } catch (error) {
      this.parts.logger.debug(
        { err: asError(error) },
        'whether the end is reached cannot be asked; again at the next heartbeat',
      );
    } finally {
      session.asksForEnd = false;
    }
  }

  /** Heartbeats say what was sent; a flow control request wants to be answered, or nothing more comes. */
  private control(session: Session, message: Msg): void {
    const { link } = this.parts.api;
    if (message.reply !== undefined && message.reply !== '') link.publish(message.reply, NO_BYTES);
    const stalled = message.headers?.get('Nats-Consumer-Stalled');
    if (stalled !== undefined && stalled !== '') link.publish(stalled, NO_BYTES);
    const sent = message.headers?.get('Nats-Last-Consumer');
    if (sent === undefined || sent === '') return;
    if (Number(sent) !== session.received) {
      this.reopen('a gap at the end');
      return;
    }
    this.acknowledge(session);
    if (!session.givesHeads) void this.askForEnd(session);
  }

  private complain(error: Error): void {
    if (error.message === this.complaint) return;
    this.complaint = error.message;
    this.parts.logger.warn({ reason: error.message }, 'the log cannot be followed yet');
  }
}

/** $JS.ACK.<stream>.<consumer>.<delivered>.<seq>.<consumer seq>.<time>.<pending>, or with domain and account before. */
function deliveryOf(message: Msg): { seq: number; consumerSeq: number; pending: number } {
  const tokens = (message.reply ?? '').split('.');
  const at = tokens.length > 9 ? 7 : 5;
  return { seq: Number(tokens[at]), consumerSeq: Number(tokens[at + 1]), pending: Number(tokens[at + 3]) };
}
