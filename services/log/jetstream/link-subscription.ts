/**
 * One subscription of the link. The NATS client keeps it through reconnects; the link attaches it again if it ever
 * needs a new connection. An exception in a callback would stop the client's reader for good, so none gets there.
 */
import type { Msg, NatsConnection, NatsError, Subscription } from 'nats';
import { asError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { RequestError } from './request-error.js';

export interface Subscribed {
  /** Resolves when the server has the subscription, or it was stopped before; rejects where it is not permitted. */
  readonly ready: Promise<void>;
  /** No call of the listener follows. Idempotent. */
  stop(): void;
  /** Stops when the listener was given what the server had sent: nothing is dropped on the way. Bounded, never rejects. */
  drain(): Promise<void>;
}

export class LinkSubscription {
  readonly ready: Promise<void>;
  private resolveReady: () => void = () => undefined;
  private rejectReady: (error: Error) => void = () => undefined;
  private subscription: Subscription | undefined;
  private stopped = false;

  constructor(
    private readonly subject: string,
    private readonly queue: string | undefined,
    private readonly onMessage: (message: Msg) => void,
    private readonly logger: Logger,
  ) {
    this.ready = new Promise((resolve, reject) => {
      this.resolveReady = resolve;
      this.rejectReady = reject;
    });
    // The link tells of a refusal (nats_not_permitted); whoever waits gets it as well.
    this.ready.catch(() => undefined);
  }

  attach(connection: NatsConnection): void {
    if (this.stopped) return;
    this.subscription = connection.subscribe(this.subject, {
      ...(this.queue === undefined ? {} : { queue: this.queue }),
      callback: (error, message) => {
        this.deliver(error, message);
      },
    });
  }

  /** The server has it. */
  confirmed(): void {
    this.resolveReady();
  }

  stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    // Throws where it was drained.
    if (this.subscription?.isClosed() === false) this.subscription.unsubscribe();
    this.resolveReady();
  }

  /** Like `stop`, but what the server has sent until it knows of the end is still given to the listener. */
  async drain(): Promise<void> {
    try {
      await this.subscription?.drain();
    } catch (error) {
      this.logger.debug({ subject: this.subject, err: asError(error) }, 'not drained');
    }
    this.stop();
  }

  private deliver(error: NatsError | null, message: Msg): void {
    if (this.stopped) return;
    if (error !== null) {
      this.logger.debug({ subject: this.subject, err: error }, 'subscription refused');
      this.rejectReady(new RequestError('not_permitted', this.subject, error));
      return;
    }
    try {
      this.onMessage(message);
    } catch (fault) {
      this.logger.error({ subject: message.subject, err: asError(fault) }, 'a listener failed');
    }
  }
}
