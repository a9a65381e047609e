/**
 * Follows the whole stream through one push consumer in the server's memory, which is given each room's newest entry
 * first, and then whatever is stored: all heads of 100,000 rooms come within about a second.
 *
 *   waiting ──the link is up──▶ opening ──▶ following ──gap, silence, link down, doubt──▶ opening …
 *
 * Invariant: the listener is given entries in seq order without repeats. Before it goes on behind the last one given, that
 * one is read again from the leader: if it is gone or another, the listener is told to forget, and all begins again.
 * A heartbeat comes every 2 s; three that are missed are silence. What cannot be decoded is logged and passed over.
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
/** Between two tries to open; doubles from min to max. */
const RETRY_MS = { min: 100, max: 2_000 };
const CONTROL_CODE = 100;
const ERROR_CODE = 400;
/** Replicas of one stream name slightly different times at which it was made. */
const MAX_MADE = 8;
const NO_BYTES = new Uint8Array(0);

export interface WholeFollowerParts {
  readonly api: JetStreamApi;
  readonly reader: Pick<EntryReader, 'tagAt'>;
  readonly extent: () => Promise<LogExtent>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One consumer, from its creation until something is wrong with it. */
interface Session {
  readonly name: string;
  readonly subscription: Subscribed;
  /** Consumer seq of the last message that came. */
  received: number;
  heardAt: number;
  /** What is reached when the consumer has given all that was there when it was made. */
  readonly endSeq: number;
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
        this.endSession();
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
    this.endSession();
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
    this.endSession();
    this.open();
  }

  private endSession(): void {
    const { session } = this;
    if (session === undefined) return;
    this.session = undefined;
    session.subscription.stop();
    this.parts.api.call(`CONSUMER.DELETE.${STREAM}.${session.name}`).catch((error: unknown) => {
      this.parts.logger.debug({ err: asError(error) }, 'consumer not deleted; it ends when idle');
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
    while (this.openAgain && !this.stopped && api.link.up) {
      this.openAgain = false;
      try {
        await this.openOnce();
        this.complaint = undefined;
      } catch (error) {
        this.complain(asError(error));
        this.openAgain = true;
        await sleep(clock, wait);
        wait = Math.min(RETRY_MS.max, wait * 2);
      }
    }
    this.opening = false;
  }

  private async openOnce(): Promise<void> {
    const { api, clock, extent } = this.parts;
    this.endSession();
    const { lastSeq, made } = await extent();
    // Behind the extent: if the entry still stands, it stood then.
    if (this.last !== undefined && (await this.parts.reader.tagAt(this.last.seq)) !== this.last.tag) this.forget();
    if (this.made.size >= MAX_MADE) this.made.clear();
    this.made.add(made);
    const name = `whole-${randomBytes(9).toString('base64url')}`;
    const inbox = api.link.newInbox();
    const subscription = api.link.subscribe(inbox, {}, (message) => {
      if (this.session === session) this.take(session, message);
    });
    const session: Session = {
      name,
      subscription,
      received: 0,
      heardAt: clock.monotonic(),
      endSeq: lastSeq,
      givesHeads: this.last === undefined,
    };
    // Before it is made: its first entries come before the answer.
    this.session = session;
    try {
      const { num_pending: pending } = await this.create(name, inbox);
      if (pending === 0 && session.received === 0) this.reached(session, lastSeq, pending);
    } catch (error) {
      // The answer may be late, behind all that the consumer gives.
      if (this.session === session && session.received > 0) return;
      this.endSession();
      throw error;
    }
  }

  private async create(name: string, inbox: string): Promise<{ readonly num_pending: number }> {
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
      ack_policy: 'none',
      replay_policy: 'instant',
      flow_control: true,
      idle_heartbeat: HEARTBEAT_MS * NS_PER_MS,
      inactive_threshold: CONSUMER_IDLE_MS * NS_PER_MS,
      mem_storage: true,
      num_replicas: 1,
    };
    const answer = await this.parts.api.call(`CONSUMER.CREATE.${STREAM}.${name}`, { stream_name: STREAM, config });
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
    this.give(seq, message.data);
    this.reached(session, seq, pending);
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

  private reached(session: Session, seq: number, pending: number): void {
    if (pending === 0) session.givesHeads = false;
    if (session.givesHeads) return;
    // The newest entries up to there may have been removed.
    this.listener.onReached(pending === 0 ? Math.max(seq, session.endSeq) : seq);
  }

  /** Heartbeats say what was sent; a flow control request wants to be answered, or nothing more comes. */
  private control(session: Session, message: Msg): void {
    const { link } = this.parts.api;
    if (message.reply !== undefined && message.reply !== '') link.publish(message.reply, NO_BYTES);
    const stalled = message.headers?.get('Nats-Consumer-Stalled');
    if (stalled !== undefined && stalled !== '') link.publish(stalled, NO_BYTES);
    const sent = message.headers?.get('Nats-Last-Consumer');
    if (sent !== undefined && sent !== '' && Number(sent) !== session.received) this.reopen('a gap at the end');
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
