/**
 * The process's one connection to NATS. It connects in the background and for ever, and says once when it waits and
 * once when it is up again. What is under way when the connection breaks fails at once; nothing is sent while it is
 * down, so that a request that failed with `not_connected` was certainly never seen by the server.
 * Subscriptions survive: made when the link comes up, kept through reconnects.
 *
 *   idle -> connecting -> up <-> down (the client reconnects)      any -> closed
 */
import { connect, createInbox, Events, headers, NatsError } from 'nats';
import type { ConnectionOptions, Msg, NatsConnection, Status } from 'nats';
import { sleep, type Clock } from '../../shared/clock.js';
import { asError } from '../../shared/errors.js';
import { withTimeout } from '../../shared/lifecycle.js';
import type { Logger } from '../../shared/logger.js';
import type { Values } from '../../shared/settings.js';
import type { natsSettings } from '../settings.js';
import { LinkSubscription, type Subscribed } from './link-subscription.js';
import { credentials } from './credentials.js';
import { Refusals } from './refusals.js';
import { RequestError, type RequestFailure } from './request-error.js';

/** Attempts come after 100 to 500 ms, at each server of the list in turn. */
const RECONNECT_WAIT_MS = 100;
const RECONNECT_JITTER_MS = 400;
const CONNECT_TIMEOUT_MS = 2_000;
/** A dead connection is noticed after about 3 s. */
const PING_INTERVAL_MS = 1_000;
const MAX_PING_OUT = 2;
const CLOSE_FLUSH_MS = 500;
const DRAIN_MS = 2_000;

export interface NatsLinkOptions {
  readonly settings: Values<typeof natsSettings>;
  /** Of the service; the connection is called <name prefix>-<name>. */
  readonly name: string;
  readonly logger: Logger;
  readonly clock: Clock;
}

type UpListener = (connection: NatsConnection, first: boolean) => void;
type State = 'idle' | 'connecting' | 'up' | 'down' | 'closed';

export class NatsLink {
  private state: State = 'idle';
  private current: NatsConnection | undefined;
  private everUp = false;
  private lastFailure: string | undefined;
  private cancelWait: (() => void) | undefined;
  private readonly connectOptions: ConnectionOptions;
  private readonly servers: string[];
  private readonly inFlight = new Set<(failure: RequestFailure) => void>();
  private readonly subscriptions = new Set<LinkSubscription>();
  private readonly unconfirmed = new Set<LinkSubscription>();
  private readonly upListeners = new Set<UpListener>();
  private readonly downListeners = new Set<() => void>();
  private readonly logger: Logger;
  private readonly clock: Clock;
  private readonly refusals: Refusals;

  /** Throws SettingsError when a file with credentials cannot be read, or two kinds of credentials are given. */
  constructor(options: NatsLinkOptions) {
    this.logger = options.logger;
    this.clock = options.clock;
    this.refusals = new Refusals(options.logger, options.clock);
    this.servers = options.settings.nats.map(withoutSecrets);
    this.connectOptions = {
      ...credentials(options.settings, options.logger),
      servers: [...options.settings.nats],
      name: `${options.settings.natsName}-${options.name}`,
      inboxPrefix: options.settings.natsInbox,
      timeout: CONNECT_TIMEOUT_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_WAIT_MS,
      reconnectJitter: RECONNECT_JITTER_MS,
      reconnectJitterTLS: RECONNECT_JITTER_MS,
      pingInterval: PING_INTERVAL_MS,
      maxPingOut: MAX_PING_OUT,
      ignoreAuthErrorAbort: true,
      noAsyncTraces: true,
    };
  }

  get up(): boolean {
    return this.state === 'up';
  }

  /** Why it has not come up so far; undefined when it is up, or has not been tried. */
  get failure(): string | undefined {
    return this.lastFailure;
  }

  /** While up or reconnecting. */
  get connection(): NatsConnection | undefined {
    return this.current;
  }

  /** Begins to connect; returns at once. */
  start(): void {
    if (this.state !== 'idle') return;
    this.state = 'connecting';
    void this.attempt();
  }

  /** Calls `listener` at each connect and reconnect, and at once if the link is up. The answer ends it. */
  onUp(listener: UpListener): () => void {
    this.upListeners.add(listener);
    if (this.up && this.current !== undefined) listener(this.current, true);
    return () => this.upListeners.delete(listener);
  }

  /** Calls `listener` whenever the connection breaks. The answer ends it. */
  onDown(listener: () => void): () => void {
    this.downListeners.add(listener);
    return () => this.downListeners.delete(listener);
  }

  /** The answer's bytes, the caller's to keep. Throws RequestError (`log_unavailable`). */
  async request(subject: string, payload: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    const answer = await this.requestMessage(subject, payload, { timeoutMs });
    return Uint8Array.from(answer.data);
  }

  /** The answer as a message, whose data is to be copied before it is kept. Throws RequestError (`log_unavailable`). */
  requestMessage(
    subject: string,
    payload: Uint8Array,
    options: { timeoutMs: number; headers?: Readonly<Record<string, string>> },
  ): Promise<Msg> {
    const connection = this.current;
    if (!this.up || connection === undefined) return Promise.reject(new RequestError('not_connected', subject));
    return new Promise((resolve, reject) => {
      const fail = (failure: RequestFailure, cause?: unknown): void => {
        this.inFlight.delete(fail);
        reject(new RequestError(failure, subject, cause));
      };
      this.inFlight.add(fail);
      connection.request(subject, payload, requestOptions(options)).then(
        (message) => {
          this.inFlight.delete(fail);
          resolve(message);
        },
        (error: unknown) => {
          fail(failureOf(error), error);
        },
      );
    });
  }

  /** A subject of this process's own, for answers. */
  newInbox(): string {
    return createInbox(this.connectOptions.inboxPrefix);
  }

  /** Sends without waiting for anything; false when the link is not up and nothing was sent. */
  publish(subject: string, payload: Uint8Array, reply?: string): boolean {
    if (!this.up || this.current === undefined) return false;
    this.current.publish(subject, payload, reply === undefined ? {} : { reply });
    return true;
  }

  /**
   * Calls `onMessage` for what comes to `subject`, from when the link is up until `stop`. What it throws is logged.
   * `ready` resolves when the server has the subscription, and rejects where it is not permitted.
   */
  subscribe(subject: string, options: { queue?: string }, onMessage: (message: Msg) => void): Subscribed {
    const subscription = new LinkSubscription(subject, options.queue, onMessage, this.logger);
    this.subscriptions.add(subscription);
    if (this.current !== undefined) subscription.attach(this.current);
    this.confirmSoon(subscription);
    const forget = () => {
      this.subscriptions.delete(subscription);
      this.unconfirmed.delete(subscription);
    };
    return {
      ready: subscription.ready,
      stop: () => {
        forget();
        subscription.stop();
      },
      drain: async () => {
        forget();
        await this.drained(subscription);
      },
    };
  }

  /** Drained, or stopped because the server cannot say what it has sent. */
  private async drained(subscription: LinkSubscription): Promise<void> {
    if (!this.up) {
      subscription.stop();
      return;
    }
    let endWatch: (() => void) | undefined;
    const down = new Promise<void>((resolve) => {
      endWatch = this.onDown(resolve);
    });
    const timeout = sleep(this.clock, DRAIN_MS);
    await Promise.race([subscription.drain(), down, timeout]);
    endWatch?.();
    subscription.stop();
  }

  /** Fails what is under way and closes the connection. Idempotent. */
  async close(): Promise<void> {
    if (this.state === 'closed') return;
    const wasUp = this.up;
    this.state = 'closed';
    this.cancelWait?.();
    this.failInFlight();
    for (const subscription of this.subscriptions) subscription.stop();
    this.subscriptions.clear();
    this.unconfirmed.clear();
    const connection = this.current;
    this.current = undefined;
    if (connection === undefined) return;
    if (wasUp) {
      await withTimeout(connection.flush(), CLOSE_FLUSH_MS, 'no answer').catch((error: unknown) => {
        this.logger.debug({ err: asError(error) }, 'NATS did not confirm the last messages');
      });
    }
    await connection.close();
  }

  /** One round trip confirms all subscriptions of a turn. */
  private confirmSoon(subscription: LinkSubscription): void {
    this.unconfirmed.add(subscription);
    if (this.unconfirmed.size > 1 || !this.up) return;
    queueMicrotask(() => void this.confirm());
  }

  private async confirm(): Promise<void> {
    const connection = this.current;
    const batch = [...this.unconfirmed];
    if (!this.up || connection === undefined || batch.length === 0) return;
    this.unconfirmed.clear();
    try {
      await connection.flush();
      for (const subscription of batch) subscription.confirmed();
    } catch (error) {
      this.logger.debug({ err: asError(error) }, 'subscriptions not confirmed yet');
      for (const subscription of batch) this.unconfirmed.add(subscription);
    }
  }

  private async attempt(): Promise<void> {
    try {
      const connection = await connect(this.connectOptions);
      if (this.state === 'closed') {
        await connection.close();
        return;
      }
      this.adopt(connection);
    } catch (error) {
      this.sayWaiting(asError(error));
      this.connectLater();
    }
  }

  private connectLater(): void {
    if (this.state === 'closed') return;
    const delayMs = RECONNECT_WAIT_MS + Math.random() * RECONNECT_JITTER_MS;
    this.cancelWait = this.clock.after(delayMs, () => void this.attempt());
  }

  private adopt(connection: NatsConnection): void {
    this.current = connection;
    for (const subscription of this.subscriptions) subscription.attach(connection);
    void this.watch(connection);
    void connection.closed().then((reason) => {
      this.lost(connection, reason);
    });
    this.wentUp(connection);
  }

  private async watch(connection: NatsConnection): Promise<void> {
    for await (const event of connection.status()) {
      if (this.current !== connection) return;
      if (event.type === Events.Disconnect) this.wentDown();
      else if (event.type === Events.Reconnect) this.wentUp(connection);
      else if (event.type === Events.Error) this.refused(event);
    }
  }

  private refused({ data, permissionContext }: Status): void {
    this.refusals.report(typeof data === 'string' ? data : 'UNKNOWN', permissionContext);
  }

  /** The client gave up, which its options forbid: connect anew. */
  private lost(connection: NatsConnection, reason: Error | void): void {
    if (this.current !== connection) return;
    this.wentDown();
    this.current = undefined;
    this.state = 'connecting';
    this.logger.error({ err: reason ?? undefined }, 'the NATS client closed the connection; connecting anew');
    this.connectLater();
  }

  private wentUp(connection: NatsConnection): void {
    if (this.state === 'closed' || this.state === 'up') return;
    this.state = 'up';
    this.lastFailure = undefined;
    const first = !this.everUp;
    this.everUp = true;
    void this.confirm();
    this.logger.info({ server: connection.getServer(), version: connection.info?.version }, 'connected to NATS');
    for (const listener of this.upListeners) listener(connection, first);
  }

  private wentDown(): void {
    if (this.state !== 'up') return;
    this.state = 'down';
    this.logger.warn({ servers: this.servers }, 'connection to NATS lost; reconnecting');
    this.failInFlight();
    for (const listener of this.downListeners) listener();
  }

  private failInFlight(): void {
    for (const fail of this.inFlight) fail('disconnected');
  }

  private sayWaiting(error: Error): void {
    if (this.state === 'closed' || error.message === this.lastFailure) return;
    this.lastFailure = error.message;
    if (this.refusals.isOfUser(error)) return;
    this.logger.warn({ servers: this.servers, reason: error.message }, 'NATS cannot be reached; waiting for it');
  }
}

function requestOptions(options: { timeoutMs: number; headers?: Readonly<Record<string, string>> }) {
  if (options.headers === undefined) return { timeout: options.timeoutMs };
  const messageHeaders = headers();
  for (const [name, value] of Object.entries(options.headers)) messageHeaders.set(name, value);
  return { timeout: options.timeoutMs, headers: messageHeaders };
}

function failureOf(error: unknown): RequestFailure {
  const code = error instanceof NatsError ? error.code : '';
  if (code === '503') return 'no_responders';
  if (code === 'PERMISSIONS_VIOLATION') return 'not_permitted';
  return code === 'TIMEOUT' ? 'timed_out' : 'disconnected';
}

function withoutSecrets(address: string): string {
  const url = new URL(address);
  return `${url.protocol}//${url.host}`;
}
