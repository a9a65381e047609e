import { describe, expect, it } from 'vitest';
import { RequestError, type RequestFailure } from '../../services/log/jetstream/request-error.js';
import { RpcAsker, type RpcAskerLimits } from '../../services/revision/rpc-asker.js';
import { RevcastError } from '../../services/shared/errors.js';
import { ManualClock, settle } from '../support/manual-clock.js';
import { Random, testSeed } from '../support/random.js';

const NOTHING = new Uint8Array(0);
const seed = testSeed();
const LIMITS: RpcAskerLimits = { timeoutMs: 1_500, hedgeMs: 300, maxUnderWay: 4, maxWaiting: 3 };

/** A request on its way, for the test to end. */
interface Sent {
  readonly timeoutMs: number;
  answer(text: string): void;
  fail(error: Error): void;
}

/** An asker over a link on which the test answers every request, or says how all fail. */
class Bench {
  readonly clock = new ManualClock();
  readonly sent: Sent[] = [];
  failsWith: RequestFailure | undefined;
  readonly asker: RpcAsker;
  readonly outcomes: string[] = [];

  constructor(limits: Partial<RpcAskerLimits> = {}) {
    const request = (subject: string, _payload: Uint8Array, timeoutMs: number) =>
      new Promise<Uint8Array>((resolve, reject) => {
        const cancel = this.clock.after(timeoutMs, () => {
          reject(new RequestError('timed_out', subject));
        });
        const end = (settleIt: () => void) => {
          cancel();
          settleIt();
        };
        this.sent.push({
          timeoutMs,
          answer: (text) => {
            end(() => {
              resolve(Buffer.from(text));
            });
          },
          fail: (error) => {
            end(() => {
              reject(error);
            });
          },
        });
        if (this.failsWith !== undefined) this.sent.at(-1)?.fail(new RequestError(this.failsWith, subject));
      });
    this.asker = new RpcAsker({ link: { request }, clock: this.clock, limits: { ...LIMITS, ...limits } });
  }

  /** Asks; the answer, or the error's code, is put among the outcomes. */
  ask(times = 1): void {
    for (let i = 0; i < times; i += 1) {
      this.asker.ask('subject', NOTHING, decode).then(
        (text) => this.outcomes.push(text),
        (error: unknown) => this.outcomes.push(error instanceof RevcastError ? error.code : String(error)),
      );
    }
  }
}

/** What a replica answers: a text, or an error after "!". */
function decode(reply: Uint8Array): string {
  const text = Buffer.from(reply).toString();
  if (text.startsWith('!')) throw new RevcastError(text.slice(1) as 'overloaded', 'as the test says');
  return text;
}

describe('a replica that hangs', () => {
  it('[R10] a late request is sent again, and the first answer counts, whichever it is of', async () => {
    for (const first of [0, 1]) {
      const bench = new Bench();
      bench.ask();
      await bench.clock.advance(290);
      expect(bench.sent).toHaveLength(1);
      await bench.clock.advance(20);
      expect(bench.sent.map(({ timeoutMs }) => timeoutMs)).toEqual([1_500, 1_200]);
      bench.sent[first]?.answer('yes');
      await settle();
      bench.sent[1 - first]?.answer('late');
      await bench.clock.advance(5_000);
      expect([bench.outcomes, bench.sent.length]).toEqual([['yes'], 2]);
    }
  });

  it('[R10] an error of one that may pass waits for the other; one that cannot is the answer', async () => {
    const bench = new Bench();
    bench.ask();
    await bench.clock.advance(310);
    bench.sent[0]?.answer('!overloaded');
    await settle();
    expect(bench.outcomes).toEqual([]);
    bench.sent[1]?.answer('yes');
    await settle();
    bench.ask();
    await bench.clock.advance(310);
    bench.sent[3]?.answer('!invalid_room');
    await settle();
    expect(bench.outcomes).toEqual(['yes', 'invalid_room']);
  });

  it('[R10] without any answer it ends after two attempts, each bounded by the timeout', async () => {
    const bench = new Bench();
    bench.ask();
    await bench.clock.advance(3_110);
    expect([bench.outcomes, bench.sent.length]).toEqual([['log_unavailable'], 10]);
    expect(bench.sent.slice(0, 5).map(({ timeoutMs }) => timeoutMs)).toEqual([1_500, 1_200, 900, 600, 300]);
  });

  it(`[R10] with one of two replicas hung no request fails, and those that meet it are a little late (seed ${seed})`, async () => {
    const random = new Random(seed);
    const clock = new ManualClock();
    let asked = 0;
    const request = (subject: string, _payload: Uint8Array, timeoutMs: number) =>
      new Promise<Uint8Array>((resolve, reject) => {
        asked += 1;
        if (random.whole(0, 1) === 0)
          clock.after(5, () => {
            resolve(Buffer.from('yes'));
          });
        else
          clock.after(timeoutMs, () => {
            reject(new RequestError('timed_out', subject));
          });
      });
    const limits = { ...LIMITS, maxUnderWay: 64, maxWaiting: 4_096 };
    const asker = new RpcAsker({ link: { request }, clock, limits });
    const took: number[] = [];
    const asks = Array.from({ length: 2_000 }, () =>
      asker.ask('subject', NOTHING, decode).then(() => took.push(clock.monotonic())),
    );
    const all = Promise.all(asks);
    const begun = clock.monotonic();
    for (let i = 0; i < 1_000 && took.length < 2_000; i += 1) await clock.advance(10);
    await all;
    // 64 at once: each takes 5 ms, and 75 more for each time that it meets the one that hangs.
    expect(Math.max(...took) - begun).toBeLessThan(5_000);
    expect(asked).toBeLessThan(2_000 * 2.5);
  });

  it('[R10] where answers take long, at most 20 are sent twice in a second, however many are late', async () => {
    const bench = new Bench({ maxUnderWay: 1_000, timeoutMs: 60_000 });
    bench.ask(100);
    await bench.clock.advance(310);
    expect(bench.sent).toHaveLength(120);
    bench.ask(100);
    await bench.clock.advance(500);
    const hedges = bench.sent.length - 220;
    expect(hedges).toBeGreaterThan(3);
    expect(hedges).toBeLessThan(12);
  });

  it('[R10] 0 sends nothing twice', async () => {
    const bench = new Bench({ hedgeMs: 0 });
    bench.ask();
    await bench.clock.advance(1_400);
    expect(bench.sent).toHaveLength(1);
  });
});

describe('more requests than may be under way', () => {
  it('[R11] wait in order for a place, beyond that they are refused at once', async () => {
    const bench = new Bench({ hedgeMs: 0 });
    bench.ask(9);
    await settle();
    expect([bench.sent.length, bench.outcomes]).toEqual([4, ['overloaded', 'overloaded']]);
    for (let i = 0; i < 7; i += 1) {
      bench.sent[i]?.answer(`${i}`);
      await settle();
    }
    expect(bench.outcomes.slice(2)).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    bench.ask(4);
    await settle();
    expect(bench.sent).toHaveLength(11);
  });

  it('[R11] are refused when no place came free in 5 s, and hold up no one behind them', async () => {
    const bench = new Bench({ hedgeMs: 0, maxUnderWay: 1, timeoutMs: 60_000 });
    bench.ask(2);
    await bench.clock.advance(5_100);
    bench.ask();
    bench.sent[0]?.answer('first');
    await settle();
    expect(bench.outcomes).toEqual(['first', 'overloaded']);
    bench.sent[1]?.answer('third');
    await settle();
    expect(bench.outcomes.at(-1)).toBe('third');
  });
});

describe('nobody answers', () => {
  it('[R12] is told at once to who asks then, and one request finds out after each growing pause', async () => {
    const bench = new Bench();
    bench.failsWith = 'no_responders';
    bench.ask();
    await bench.clock.advance(110);
    expect([bench.outcomes, bench.sent.length]).toEqual([['log_unavailable'], 2]);
    // 10,000 callers who try every 100 ms, for 10 s.
    const before = bench.sent.length;
    for (let i = 0; i < 100; i += 1) {
      bench.ask(100);
      await bench.clock.advance(100);
    }
    expect(bench.outcomes).toHaveLength(10_001);
    expect(new Set(bench.outcomes)).toEqual(new Set(['log_unavailable']));
    expect(bench.sent.length - before).toBeLessThan(60);
    expect(bench.sent.length - before).toBeGreaterThan(10);

    bench.failsWith = undefined;
    await bench.clock.advance(1_000);
    const { length } = bench.sent;
    bench.ask(5);
    await settle();
    expect(bench.sent).toHaveLength(length + 1);
    bench.sent.at(-1)?.answer('back');
    await settle();
    bench.ask(2);
    await settle();
    expect([bench.outcomes.at(-1), bench.sent.length]).toEqual(['back', length + 3]);
  });

  it('[R12] counts as that when many in a row time out, not when others are answered meanwhile', async () => {
    const bench = new Bench({ maxUnderWay: 20, hedgeMs: 0 });
    const asksAndIsAnswered = async () => {
      bench.ask();
      await settle();
      bench.sent.at(-1)?.answer('yes');
      await settle();
      expect(bench.outcomes.at(-1)).toBe('yes');
    };
    bench.ask(7);
    await bench.clock.advance(1_501);
    await asksAndIsAnswered();
    // The seven's second attempts.
    await bench.clock.advance(1_601);
    await asksAndIsAnswered();
    expect(bench.outcomes.filter((outcome) => outcome === 'log_unavailable')).toHaveLength(7);

    bench.ask(8);
    await bench.clock.advance(1_501);
    const { length } = bench.sent;
    bench.ask(3);
    await settle();
    expect(bench.outcomes.slice(-3)).toEqual(['log_unavailable', 'log_unavailable', 'log_unavailable']);
    expect(bench.sent).toHaveLength(length);
  });

  it('[R12] fails those who wait for a place too', async () => {
    const bench = new Bench();
    bench.ask(7);
    await settle();
    bench.sent[0]?.fail(new RequestError('no_responders', 'subject'));
    await settle();
    expect(bench.outcomes).toEqual(['log_unavailable', 'log_unavailable', 'log_unavailable']);
  });

  it('[R12] a broken connection to NATS is not the service’s', async () => {
    const bench = new Bench();
    bench.failsWith = 'not_connected';
    bench.ask(4);
    await bench.clock.advance(110);
    bench.failsWith = undefined;
    bench.ask();
    await settle();
    bench.sent.at(-1)?.answer('yes');
    await settle();
    expect(bench.outcomes.at(-1)).toBe('yes');
  });
});
