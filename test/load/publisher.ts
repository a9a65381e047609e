/**
 * Publishes over HTTP at a steady rate, as good publishers do: each publication with a key, tried again at any producer
 * until it is acknowledged. It remembers what was acknowledged where, to be held against the log.
 */
import type { Random } from '../support/random.js';
import type { Checker } from './checker.js';

const RETRY_MS = 100;
/** Longer than a producer may take to answer. */
const ANSWER_MS = 15_000;
/** Shares of publications with more than one revision, and with an author. */
const SEVERAL = 0.2;
const MAX_SEVERAL = 4;
const AUTHORED = 0.3;

export interface PublisherOptions {
  readonly producers: () => readonly [string, ...string[]];
  readonly rooms: readonly [string, ...string[]];
  readonly checker: Checker;
  readonly random: Random;
  /** Publications under way at a time. */
  readonly lanes: number;
  /** Rest of each lane after a publication. */
  readonly restMs: number;
  /** Most characters of filling in a revision's data. */
  readonly filling?: number;
}

interface Answer {
  /** undefined: nothing answered. */
  readonly status: number | undefined;
  readonly code?: string;
  readonly epoch?: string;
  readonly rev?: number;
  readonly firstRev?: number;
}

export class Publisher {
  /** Revisions that were acknowledged. */
  acknowledged = 0;
  /** Codes of refusals ('none': no answer), each with how often it came. */
  readonly refusals = new Map<string, number>();
  /** Places that were acknowledged twice, with different data. */
  readonly doubled: string[] = [];
  /** The longest time from a first attempt to its acknowledgement. */
  longestMs = 0;
  /** room → epoch → rev → data */
  private readonly places = new Map<string, Map<string, Map<number, string>>>();
  private lanes: Promise<void>[] = [];
  private stopping = false;
  private count = 0;

  constructor(private readonly options: PublisherOptions) {}

  start(): void {
    this.lanes = Array.from({ length: this.options.lanes }, () => this.lane());
  }

  /** Ends when all that was begun is acknowledged. */
  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.lanes);
  }

  /** What was acknowledged of a history, by rev. */
  placesOf(room: string, epoch: string): ReadonlyMap<number, string> {
    return this.places.get(room)?.get(epoch) ?? new Map<number, string>();
  }

  /** The histories of a room that something was acknowledged in, in that order. */
  epochsOf(room: string): readonly string[] {
    return [...(this.places.get(room)?.keys() ?? [])];
  }

  /** What was acknowledged there may be gone. */
  forget(room: string, rev: number): void {
    for (const places of this.places.get(room)?.values() ?? []) places.delete(rev);
  }

  /** What was acknowledged behind that revision is gone. */
  lose(room: string, rev: number): number {
    let lost = 0;
    for (const places of this.places.get(room)?.values() ?? []) {
      for (const place of places.keys()) if (place > rev && places.delete(place)) lost += 1;
    }
    return lost;
  }

  /** Publishes these, in one request, until it is acknowledged. */
  async publish(room: string, datas: readonly string[]): Promise<void> {
    this.count += 1;
    const key = `key-${this.count}`;
    const author = this.options.random.chance(AUTHORED) ? `,"author":"ä${this.count % 7}"` : '';
    const body = `{"revisions":[${datas.map((data) => `{"data":${data}${author}}`).join(',')}]}`;
    const begunAt = performance.now();
    for (;;) {
      const producer = this.options.random.pick(this.options.producers());
      const answer = await post(`${producer}/v1/rooms/${encodeURIComponent(room)}/revisions`, body, key);
      if (answer.status === 201) {
        this.longestMs = Math.max(this.longestMs, performance.now() - begunAt);
        this.remember(room, answer, datas);
        return;
      }
      const code = answer.code ?? 'none';
      this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
      if (answer.status !== undefined && answer.status !== 503) throw new Error(`a publication was answered ${code}`);
      await rest(RETRY_MS);
    }
  }

  /** Data that no parser would give back as it is written; each differs from all others. */
  data(filling = this.options.filling ?? 200): string {
    this.count += 1;
    const { random } = this.options;
    const text = 'x'.repeat(random.whole(0, filling));
    return `{"n":${this.count},"text":"é✓😀 ${text} \\" ]}[{","big":12345678901234567890.${this.count}}`;
  }

  private async lane(): Promise<void> {
    const { random, rooms, restMs } = this.options;
    while (!this.stopping) {
      const revisions = random.chance(SEVERAL) ? random.whole(2, MAX_SEVERAL) : 1;
      const datas = Array.from({ length: revisions }, () => this.data());
      await this.publish(random.pick(rooms), datas);
      await rest(restMs);
    }
  }

  private remember(room: string, answer: Answer, datas: readonly string[]): void {
    const { epoch = '', rev = 0, firstRev = 0 } = answer;
    if (rev - firstRev + 1 !== datas.length) throw new Error(`${datas.length} revisions became ${firstRev} to ${rev}`);
    const epochs = this.places.get(room) ?? new Map<string, Map<number, string>>();
    this.places.set(room, epochs);
    const places = epochs.get(epoch) ?? new Map<number, string>();
    epochs.set(epoch, places);
    for (const [index, data] of datas.entries()) {
      const place = firstRev + index;
      if (places.has(place)) this.doubled.push(`${room} ${epoch} ${place}`);
      places.set(place, data);
      this.options.checker.committed(room, epoch, place);
    }
    this.acknowledged += datas.length;
  }
}

async function post(url: string, body: string, key: string): Promise<Answer> {
  try {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(ANSWER_MS) });
    const answer = (await response.json()) as Omit<Answer, 'status'> & { error?: { code: string } };
    return { ...answer, status: response.status, ...(answer.error === undefined ? {} : { code: answer.error.code }) };
  } catch {
    // Refused, cut or silent: nothing is known of it, and the key makes a retry safe.
    return { status: undefined };
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
