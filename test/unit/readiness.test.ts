import { expect, it } from 'vitest';
import type { LogStatus } from '../../services/log/log.js';
import { Readiness } from '../../services/log/readiness.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError } from '../../services/shared/errors.js';

const READY: LogStatus = { state: 'ready' };
const gone = () => Promise.reject(new RevcastError('log_unavailable', 'stream not found'));

it('[H1] a log that is believed ready and does not answer is not ready', async () => {
  const readiness = new Readiness({ status: () => READY, ask: gone, clock: systemClock });
  expect(await readiness.check()).toEqual({ ok: false, detail: 'log_unconfirmed: stream not found' });
});

it('[H1] the log is asked once for all who ask within a second', async () => {
  let asked = 0;
  const ask = () => {
    asked += 1;
    return Promise.resolve();
  };
  const readiness = new Readiness({ status: () => READY, ask, clock: systemClock });
  const answers = await Promise.all([readiness.check(), readiness.check(), readiness.check()]);
  expect(answers.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(await readiness.check()).toEqual({ ok: true, detail: '' });
  expect(asked).toBe(1);
});
