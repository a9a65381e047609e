/**
 * Clients who publish over WebSockets, through whatever happens: each sends one publication after the other, over a
 * connection of its own, and takes an open outcome, or a refusal that may pass, for a reason to ask again. Half of
 * them give a key; the others ask again with the key that the edge made, or, told that nothing was stored, anew. So a
 * failure that was told falsely shows as data that is in the log twice.
 */
import { PlainClient, type Data } from './plain-client.js';
import type { Random } from './random.js';

const PAUSE_MS: readonly [number, number] = [100, 400];
const RETRY_MS = 50;
/** The edge's own bound for one answer is 10 s. */
const ANSWER_MS = 15_000;

interface Acknowledged {
  readonly author: string;
  readonly n: number;
  readonly rev: number;
}

export class SocketAuthors {
  readonly acknowledged: Acknowledged[] = [];
  /** Answers by error code. */
  readonly refusals = new Map<string, number>();
  /** Longest wait for one answer. */
  slowestMs = 0;
  private stopping = false;
  private working: Promise<void>[] = [];

  constructor(
    private readonly random: Random,
    private readonly rooms: readonly [string, ...string[]],
  ) {}

  /** So many authors at an edge, from when they are connected until `stop`. */
  async start(url: string, count: number): Promise<void> {
    const clients = await Promise.all(Array.from({ length: count }, () => PlainClient.connect(url)));
    for (const client of clients) this.working.push(this.work(client, this.working.length));
  }

  /** Each finishes what it is publishing. Throws when one was not answered, or refused for good. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.working);
  }

  roomOf(author: string): string {
    return this.rooms[Number(author) % this.rooms.length] ?? this.rooms[0];
  }

  private async work(client: PlainClient, index: number): Promise<void> {
    const author = String(index);
    for (let n = 1; !this.stopping; n += 1) {
      const rev = await this.publish(client, author, n);
      this.acknowledged.push({ author, n, rev });
      await pause(this.random.whole(...PAUSE_MS));
    }
    client.close();
  }

  private async publish(client: PlainClient, author: string, n: number): Promise<number> {
    const keyed = Number(author) % 2 === 0;
    let key = keyed ? `${author}-${n}` : undefined;
    for (;;) {
      const sentAt = performance.now();
      const answer = await this.ask(client, { room: this.roomOf(author), data: { author, n }, key });
      this.slowestMs = Math.max(this.slowestMs, performance.now() - sentAt);
      if (answer.published === true && answer.rev !== undefined) return answer.rev;
      const code = answer.error?.code ?? 'none';
      this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
      if (code === 'outcome_unknown') key = String(answer.error?.['key']);
      else if (!['log_unavailable', 'overloaded', 'shutting_down'].includes(code)) {
        throw new Error(`author ${author}: ${JSON.stringify(answer)}`);
      }
      await pause(RETRY_MS);
    }
  }

  private async ask(client: PlainClient, params: object): Promise<Data> {
    // What has been read is not searched again.
    client.messages.length = 0;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`no answer within ${ANSWER_MS} ms to ${JSON.stringify(params)}`));
      }, ANSWER_MS);
    });
    try {
      return await Promise.race([client.request('publish', params), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
