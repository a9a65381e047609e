/**
 * Answers publications over NATS request/reply: rpc.producer.append, in the queue group `producer`, so that any producer
 * may answer. Every request whose answer goes to an inbox is answered, a malformed one too.
 *
 * Limits: the appender's (appends and bytes under way, beyond which the answer is `overloaded`).
 */
import type { Msg } from 'nats';
import { Answerer } from '../log/jetstream/answerer.js';
import type { NatsLink } from '../log/jetstream/nats-link.js';
import { asError, RevcastError } from '../shared/errors.js';
import { withTimeout } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import type { Publications } from './publications.js';
import {
  APPEND_SUBJECT,
  decodeAppendRequest,
  encodeAppendError,
  encodeAppendReply,
  PRODUCER_QUEUE,
} from './rpc-messages.js';

export interface ProducerRpcParts {
  readonly link: Pick<NatsLink, 'subscribe'>;
  readonly publications: Pick<Publications, 'publish'>;
  readonly logger: Logger;
}

export class ProducerRpcServer {
  private readonly working = new Set<Promise<void>>();
  private readonly answerer: Answerer;
  private readonly subscription: ReturnType<NatsLink['subscribe']>;

  constructor(private readonly parts: ProducerRpcParts) {
    this.answerer = new Answerer(parts.logger);
    this.subscription = parts.link.subscribe(APPEND_SUBJECT, { queue: PRODUCER_QUEUE }, (message) => {
      this.receive(message);
    });
  }

  /** Resolves when requests will come; rejects where NATS does not permit it. */
  get ready(): Promise<void> {
    return this.subscription.ready;
  }

  /** Takes no more requests, and waits at most `waitMs` until those that NATS has given it are answered. */
  async stop(waitMs: number): Promise<void> {
    const answered = this.subscription.drain().then(() => Promise.all(this.working));
    try {
      await withTimeout(answered, waitMs, `${this.working.size} publications were still under way`);
    } catch (error) {
      this.parts.logger.warn({ err: asError(error) }, 'stopping without answering requests over NATS');
    }
  }

  private receive(message: Msg): void {
    if (!this.answerer.accepts(message)) return;
    const work = this.work(message).finally(() => this.working.delete(work));
    this.working.add(work);
  }

  /** Never rejects: what fails is answered, and logged if nobody expected it. */
  private async work(message: Msg): Promise<void> {
    let reply: Uint8Array;
    try {
      // Read before the first await: the bytes are the network client's.
      reply = encodeAppendReply(await this.parts.publications.publish(decodeAppendRequest(message.data)));
    } catch (thrown) {
      reply = encodeAppendError(this.expected(thrown));
    }
    this.answerer.answer(message, reply);
  }

  private expected(thrown: unknown): RevcastError {
    const error = thrown instanceof RevcastError ? thrown : new RevcastError('internal', 'internal error');
    if (error.code === 'internal') this.parts.logger.error({ err: asError(thrown) }, 'a publication failed');
    return error;
  }
}
