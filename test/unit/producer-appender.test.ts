import { describe, expect, it } from 'vitest';
import type { Appended, Log, Snapshot } from '../../services/log/log.js';
import { Appender } from '../../services/producer/appender.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { SMALL_LIMITS } from '../support/producer-api.js';

const APPENDED: Appended = { epoch: 'e', firstRev: 1, rev: 1, tag: '0a0b0c0d', seq: 1, time: 1, duplicate: false };

/** A log that answers when it is told to. */
class SlowLog implements Pick<Log, 'append' | 'putSnapshot'> {
  readonly answers: (() => void)[] = [];
  append(): Promise<Appended> {
    return new Promise((resolve) => {
      this.answers.push(() => {
        resolve(APPENDED);
      });
    });
  }
  putSnapshot(): Promise<Snapshot> {
    return this.append().then((appended) => ({ ...appended, data: Buffer.alloc(0) }));
  }
  answerAll(): void {
    for (const answer of this.answers.splice(0)) answer();
  }
}

function slowAppender(limits: Partial<typeof SMALL_LIMITS> = {}) {
  const log = new SlowLog();
  const parts = { log, logger: silentLogger, clock: systemClock, limits: { ...SMALL_LIMITS, ...limits } };
  return { log, appender: new Appender(parts) };
}

const data = (bytes: number) => ({ revisions: [{ data: Buffer.alloc(bytes, '1') }] });

describe('the appender', () => {
  it('[P10] refuses appends beyond the number under way, and takes them again when there is room', async () => {
    const { log, appender } = slowAppender({ maxInFlight: 2 });
    const taken = [appender.append('a', data(1)), appender.append('b', data(1))];
    await expect(appender.append('c', data(1))).rejects.toMatchObject({ code: 'overloaded', retryable: true });
    expect(appender.inFlight).toBe(2);
    log.answerAll();
    await Promise.all(taken);
    const next = appender.append('c', data(1));
    log.answerAll();
    expect(await next).toEqual(APPENDED);
    expect(appender.inFlight).toBe(0);
  });

  it('[P10] refuses appends beyond the bytes under way, but never one alone', async () => {
    const { log, appender } = slowAppender({ maxInFlightBytes: 60 });
    const big = appender.append('a', data(100));
    await expect(appender.append('a', data(1))).rejects.toMatchObject({ code: 'overloaded' });
    log.answerAll();
    await big;
    const small = [appender.append('a', data(30)), appender.append('a', data(30))];
    await expect(appender.append('a', data(1))).rejects.toMatchObject({ code: 'overloaded' });
    log.answerAll();
    await Promise.all(small);
  });

  it('[P10] checks what sources append as it checks requests', async () => {
    const { appender, log } = slowAppender();
    const one = Buffer.from('1');
    await expect(appender.append('a', { revisions: [] })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(
      appender.append('a', { revisions: [{ data: one }, { data: Buffer.alloc(101) }] }),
    ).rejects.toMatchObject({ code: 'too_large', details: { where: 'revisions[1].data' } });
    await expect(appender.append('a', { revisions: [{ data: one, author: '' }] })).rejects.toMatchObject({
      code: 'invalid_request',
      details: { where: 'revisions[0].author' },
    });
    await expect(appender.append('a', { ...data(1), expectedRev: Number.NaN })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    expect([log.answers.length, appender.inFlight]).toEqual([0, 0]);
  });

  it('[P11] stops when what is under way is answered, and takes nothing more', async () => {
    const { log, appender } = slowAppender();
    const under = appender.append('a', data(1));
    let stopped = false;
    const stop = appender.stop(10_000).then(() => {
      stopped = true;
    });
    await expect(appender.append('a', data(1))).rejects.toMatchObject({ code: 'shutting_down' });
    expect(stopped).toBe(false);
    log.answerAll();
    await Promise.all([stop, appender.stop(10_000)]);
    expect(await under).toEqual(APPENDED);
  });

  it('[P11] stops without an answer when the time is up', async () => {
    const { log, appender } = slowAppender();
    const under = appender.append('a', data(1));
    await appender.stop(10);
    log.answerAll();
    expect(await under).toEqual(APPENDED);
  });
});
