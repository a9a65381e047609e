/** A NATS link without NATS: requests go to this process's own subscribers, in turn, as a queue group's do. */
import type { Msg } from 'nats';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { RevcastError } from '../../services/shared/errors.js';

type Listener = (message: Msg) => void;
type LinkPart = Pick<NatsLink, 'subscribe' | 'request' | 'connection'>;

export class LoopedLink implements LinkPart {
  readonly connection: LinkPart['connection'];
  /** What was asked, and the replies' sizes. */
  readonly requests: { subject: string; bytes: number; replyBytes: number }[] = [];
  private readonly listeners = new Map<string, Listener[]>();
  /** Requests that fail before anybody sees them. */
  private toLose = 0;

  constructor(readonly maxPayload = 1_048_576) {
    this.connection = { info: { max_payload: maxPayload } } as unknown as LinkPart['connection'];
  }

  lose(requests: number): void {
    this.toLose = requests;
  }

  subscribe(subject: string, _options: { queue?: string }, onMessage: Listener) {
    const listeners = this.listeners.get(subject) ?? [];
    this.listeners.set(subject, [...listeners, onMessage]);
    const stop = () => {
      this.listeners.set(
        subject,
        (this.listeners.get(subject) ?? []).filter((listener) => listener !== onMessage),
      );
    };
    const drain = () => {
      stop();
      return Promise.resolve();
    };
    return { ready: Promise.resolve(), stop, drain };
  }

  async request(subject: string, payload: Uint8Array): Promise<Uint8Array> {
    const log = { subject, bytes: payload.length, replyBytes: 0 };
    this.requests.push(log);
    if (this.toLose > 0) {
      this.toLose -= 1;
      throw new RevcastError('log_unavailable', 'no answer in time');
    }
    const [listener, ...others] = this.listeners.get(subject) ?? [];
    if (listener === undefined) throw new RevcastError('log_unavailable', 'nobody answers');
    this.listeners.set(subject, [...others, listener]);
    const reply = await new Promise<Uint8Array>((resolve) => {
      listener({
        subject,
        data: payload,
        reply: '_INBOX.test',
        respond: (data: Uint8Array) => {
          resolve(Uint8Array.from(data));
          return true;
        },
      } as unknown as Msg);
    });
    log.replyBytes = reply.length;
    return reply;
  }
}
