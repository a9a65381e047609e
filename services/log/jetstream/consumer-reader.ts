/**
 * Reads many entries of a room in one go, through a pull consumer in the server's memory with one replica, which is
 * deleted afterwards (and goes by itself after CONSUMER_IDLE_NS if that fails). It pulls in batches sized by the
 * entries that came, and bounded by bytes: the server sends what is asked for at once, and would cut this connection
 * off as too slow where large entries exceed what it keeps for one.
 * Limits: MAX_CONSUMERS at once. A read goes on with a new consumer where one fails: on a cluster 1 to 3 % of them are
 * answered 503, at creation or at the first pull, before all nodes know of the consumer. One that was given to a node which
 * hangs never answers (one in three, until the others have given the node up): a step has PATIENCE_MS, less where a node
 * seems to hang, and twice as long with each try, because on a busy machine healthy nodes are slow too.
 */
import { randomBytes } from 'node:crypto';
import type { Msg } from 'nats';
import { sleep, type Clock } from '../../shared/clock.js';
import { asError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Entry } from '../log.js';
import { STREAM, storedSubject } from '../subjects.js';
import { ApiError, type JetStreamApi } from './api.js';
import { decodeStored } from './entry-reader.js';
import type { ReplicaReads } from './replica-reads.js';
import { RequestError } from './request-error.js';
import { Slots } from './slots.js';

const MAX_CONSUMERS = 16;
const MAX_WAITING = 1_000;
/** Tries of one read, with 20, 80 and then 320 ms between them. */
const ATTEMPTS = 6;
const RETRY_MS = { min: 20, max: 320 };
/** Of the first try. */
const PATIENCE_MS = { usual: 750, doubted: 250 };
const CONSUMER_IDLE_NS = 10_000_000_000;
const FIRST_BATCH = 16;
const MAX_BATCH = 500;
/** A batch is meant to have about so many bytes. */
const BATCH_BYTES = 1024 * 1024;

/** An entry's subject, reply subject and headers, which count as well. */
const MESSAGE_OVERHEAD_BYTES = 4 * 1024;
const DEFAULT_MAX_PAYLOAD_BYTES = 1024 * 1024;
const CONFLICT = 409;
const EXCEEDS_BYTES = /exceeds maxbytes/iu;

interface Pulled {
  /** Nothing more is wanted. */
  readonly done: boolean;
  readonly bytes: number;
  readonly received: number;
}

interface ConsumerInfo {
  readonly num_pending: number;
}

interface Attempt {
  readonly take: (entry: Entry) => boolean;
  /** How long nothing may come. */
  readonly patienceMs: number;
}

export interface ConsumerReaderParts {
  readonly api: JetStreamApi;
  readonly replicas: ReplicaReads;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ConsumerReader {
  private readonly slots = new Slots(MAX_CONSUMERS, MAX_WAITING);

  constructor(private readonly parts: ConsumerReaderParts) {}

  /**
   * Calls `onEntry` for the room's entries behind `from`, in order, until it answers false, `atMost` were read or
   * there are no more. Any replica may be read, so the newest ones may be missing. Throws `log_unavailable`,
   * `overloaded`, and what `onEntry` throws.
   */
  async read(from: Pick<Entry, 'room' | 'seq'>, atMost: number, onEntry: (entry: Entry) => boolean): Promise<void> {
    const { room } = from;
    let at = from.seq;
    let left = atMost;
    const take = (entry: Entry): boolean => {
      at = entry.seq;
      left -= 1;
      return onEntry(entry);
    };
    await this.slots.run(async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          await this.readOnce({ room, seq: at }, left, { take, patienceMs: this.patienceMs(attempt) });
          return;
        } catch (error) {
          if (isSilence(error)) this.parts.replicas.doubt();
          if (attempt >= ATTEMPTS || !isPassing(error)) throw error;
          await sleep(this.parts.clock, Math.min(RETRY_MS.max, RETRY_MS.min * 4 ** (attempt - 1)));
        }
      }
    });
  }

  private async readOnce({ room, seq }: Pick<Entry, 'room' | 'seq'>, atMost: number, attempt: Attempt): Promise<void> {
    const name = `range-${randomBytes(9).toString('base64url')}`;
    const { num_pending: pending } = await this.create(name, { room, seq }, attempt);
    try {
      await this.pullAll(name, room, Math.min(pending, atMost), attempt);
    } finally {
      this.remove(name);
    }
  }

  private async create(
    name: string,
    { room, seq }: Pick<Entry, 'room' | 'seq'>,
    { patienceMs }: Attempt,
  ): Promise<ConsumerInfo> {
    const config = {
      name,
      deliver_policy: 'by_start_sequence',
      opt_start_seq: seq + 1,
      ack_policy: 'none',
      replay_policy: 'instant',
      filter_subject: storedSubject(room),
      inactive_threshold: CONSUMER_IDLE_NS,
      mem_storage: true,
      num_replicas: 1,
    };
    const verb = `CONSUMER.CREATE.${STREAM}.${name}.${storedSubject(room)}`;
    const options = { timeoutMs: patienceMs };
    return (await this.parts.api.call(verb, { stream_name: STREAM, config }, options)) as ConsumerInfo;
  }

  private patienceMs(attempt: number): number {
    const { api, replicas } = this.parts;
    const first = replicas.doubted ? PATIENCE_MS.doubted : PATIENCE_MS.usual;
    return Math.min(first * 2 ** (attempt - 1), api.requestTimeoutMs);
  }

  private async pullAll(name: string, room: string, count: number, attempt: Attempt): Promise<void> {
    let left = count;
    let batch = FIRST_BATCH;
    while (left > 0) {
      const wanted = Math.min(left, batch);
      const pulled = await this.pull(name, room, wanted, attempt);
      if (pulled.done) return;
      left -= pulled.received;
      batch = Math.max(1, Math.min(MAX_BATCH, Math.floor((BATCH_BYTES * pulled.received) / (pulled.bytes + 1))));
    }
  }

  /** Asks for `wanted` entries, which the consumer has; fewer come when they are large, but one at least. */
  private pull(name: string, room: string, wanted: number, { take: onEntry, patienceMs }: Attempt): Promise<Pulled> {
    const { api, clock } = this.parts;
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${STREAM}.${name}`;
    return new Promise((resolve, reject) => {
      let bytes = 0;
      let received = 0;
      let cancelTimeout: (() => void) | undefined;
      const inbox = api.link.newInbox();
      const stop = (): void => {
        cancelTimeout?.();
        untrack();
        stopWatching();
        subscribed.stop();
      };
      const fail = (error: Error): void => {
        stop();
        reject(error);
      };
      const wait = (): void => {
        cancelTimeout?.();
        cancelTimeout = clock.after(patienceMs, () => {
          fail(new RequestError('timed_out', subject));
        });
      };
      const take = (message: Msg): void => {
        if (received > 0 && exceedsBytes(message)) {
          stop();
          resolve({ done: false, bytes, received });
          return;
        }
        refuseStatus(message);
        bytes += message.data.length;
        received += 1;
        const more = onEntry(decodeStored(room, seqOf(message), message.data));
        if (more && received < wanted) {
          wait();
          return;
        }
        stop();
        resolve({ done: !more, bytes, received });
      };
      const untrack = api.track(fail);
      const stopWatching = api.link.onDown(() => {
        fail(new RequestError('disconnected', subject));
      });
      const subscribed = api.link.subscribe(inbox, {}, (message) => {
        try {
          take(message);
        } catch (error) {
          fail(asError(error));
        }
      });
      wait();
      const maxPayloadBytes = api.link.connection?.info?.max_payload ?? DEFAULT_MAX_PAYLOAD_BYTES;
      const maxBytes = Math.max(BATCH_BYTES, maxPayloadBytes) + MESSAGE_OVERHEAD_BYTES;
      const request = { batch: wanted, max_bytes: maxBytes, no_wait: true };
      const sent = api.link.publish(subject, Buffer.from(JSON.stringify(request)), inbox);
      if (!sent) fail(new RequestError('not_connected', subject));
    });
  }

  private remove(name: string): void {
    this.parts.api.call(`CONSUMER.DELETE.${STREAM}.${name}`).catch((error: unknown) => {
      this.parts.logger.debug({ consumer: name, err: asError(error) }, 'consumer not deleted; it ends when idle');
    });
  }
}

/** Whether it says that the next entry would be more than was asked for. */
function exceedsBytes({ headers }: Msg): boolean {
  return headers !== undefined && headers.code === CONFLICT && EXCEEDS_BYTES.test(headers.description);
}

/** A message without content but with a status says why nothing more comes. */
function refuseStatus(message: Msg): void {
  if (message.headers === undefined || message.headers.code < 400) return;
  const { code, description } = message.headers;
  throw new ApiError(0, code, `a read ended with ${code} ${description}`);
}

/** Whether another try may succeed at once: the server answered, if only that nobody is there yet; or the node hangs. */
function isPassing(error: unknown): boolean {
  if (error instanceof ApiError || isSilence(error)) return true;
  return error instanceof RequestError && error.failure === 'no_responders';
}

function isSilence(error: unknown): boolean {
  return error instanceof RequestError && error.failure === 'timed_out';
}

/** $JS.ACK.<stream>.<consumer>.<delivered>.<seq>..., or with domain and account: $JS.ACK.<domain>.<account>.<stream>... */
function seqOf(message: Msg): number {
  const tokens = (message.reply ?? '').split('.');
  return Number(tokens[tokens.length > 9 ? 7 : 5]);
}
