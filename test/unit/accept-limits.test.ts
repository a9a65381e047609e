/** Who may connect: the bounds, and what whoever is refused is told. */
import { describe, expect, it } from 'vitest';
import { AcceptLimits, socketsWithin, TokenBucket } from '../../services/edge/accept-limits.js';
import { EdgeCounters } from '../../services/edge/counters.js';
import { maxOpenFiles } from '../../services/shared/open-files.js';
import { ManualClock } from '../support/manual-clock.js';

function limitsWith(limits: { maxSockets?: number; rate?: number; burst?: number } = {}) {
  const clock = new ManualClock();
  const counters = new EdgeCounters();
  const given = { maxSockets: 100, rate: 0, burst: 1, ...limits };
  return { clock, counters, limits: new AcceptLimits({ ...given, clock, counters, random: Math.random }) };
}

/** As Linux tells them. */
function procLimits(soft: string): string {
  return `Max processes  1 1 processes\nMax open files            ${soft}    524288   files\n`;
}

describe('the token bucket', () => {
  it('[Q4] gives its burst at once and its rate from then on, and keeps no more than the burst', async () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(10, 5, clock);
    const taken = () => {
      let count = 0;
      while (bucket.take()) count += 1;
      return count;
    };
    expect(taken()).toBe(5);
    await clock.advance(99);
    expect(taken()).toBe(0);
    await clock.advance(1);
    expect(taken()).toBe(1);
    await clock.advance(250);
    expect(taken()).toBe(2);
    await clock.advance(60_000);
    expect(taken()).toBe(5);
  });

  it('[Q4] loses no part of a token, however often it is asked', async () => {
    const clock = new ManualClock();
    const bucket = new TokenBucket(100, 2, clock);
    let taken = 0;
    for (let i = 0; i < 1_000; i += 1) {
      await clock.advance(1);
      if (bucket.take()) taken += 1;
    }
    expect(taken).toBeGreaterThanOrEqual(101);
    expect(taken).toBeLessThanOrEqual(102);
  });
});

describe('the limits', () => {
  it('[Q4] by default there is no limit to the rate', () => {
    const { limits, counters } = limitsWith({ maxSockets: 1_000_000 });
    for (let i = 0; i < 50_000; i += 1) expect(limits.refusal(i)).toBeUndefined();
    expect(counters).toMatchObject({ refusedFull: 0, refusedRate: 0 });
  });

  it('[Q4] beyond them the answer is 503 with a Retry-After of 1 to 5 s, by chance, and the connection ends', () => {
    const { limits, counters } = limitsWith({ maxSockets: 10, rate: 1, burst: 2 });
    expect([limits.isFull(9), limits.isFull(10)]).toEqual([false, true]);
    expect([limits.refusal(0), limits.refusal(1)]).toEqual([undefined, undefined]);
    const times = new Set<string>();
    for (let i = 0; i < 200; i += 1) {
      const refusal = limits.refusal(i % 2 === 0 ? 2 : 10);
      expect(refusal).toMatchObject({ status: '503 Service Unavailable', closes: true, error: { code: 'overloaded' } });
      for (const [name, value] of refusal?.headers ?? []) if (name === 'Retry-After') times.add(value);
    }
    expect([...times].sort()).toEqual(['1', '2', '3', '4', '5']);
    expect(counters).toMatchObject({ refusedFull: 100, refusedRate: 100, refusedStopping: 0 });
  });

  it('[Q4] who was counted before takes no token, but a place', () => {
    const { limits } = limitsWith({ maxSockets: 10, rate: 1, burst: 1 });
    expect(limits.refusal(0)).toBeUndefined();
    expect(limits.refusal(1)?.error.code).toBe('overloaded');
    expect(limits.refusal(1, true)).toBeUndefined();
    expect(limits.refusal(10, true)?.error.code).toBe('overloaded');
  });

  it('[Q1] a stopping edge says so, and where to come is decided anew at once', () => {
    const { limits, counters } = limitsWith();
    const refusal = limits.stopping();
    expect([refusal.error.code, refusal.headers, refusal.closes]).toEqual([
      'shutting_down',
      [['Retry-After', '1']],
      true,
    ]);
    expect(counters.refusedStopping).toBe(1);
  });
});

describe('the limit of open files', () => {
  it('[Q5] is read where the system tells it', () => {
    expect(maxOpenFiles(() => procLimits('20000'))).toBe(20_000);
    expect(maxOpenFiles(() => procLimits('unlimited'))).toBe(Infinity);
    expect(
      maxOpenFiles(() => {
        throw new Error('no such file');
      }),
    ).toBe(Infinity);
    expect(maxOpenFiles()).toBeGreaterThan(100);
  });

  it('[Q5] leaves files for what is no socket of a client', () => {
    expect([20_000, 1_024, 65, 10].map(socketsWithin)).toEqual([19_000, 960, 1, 1]);
    expect(socketsWithin(Infinity)).toBe(Infinity);
  });
});
