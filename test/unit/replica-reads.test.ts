/** Reads of replicas of which one does not answer, by a clock that the test moves. */
import { expect, test } from 'vitest';
import type { JetStreamApi } from '../../services/log/jetstream/api.js';
import { ConsumerReader } from '../../services/log/jetstream/consumer-reader.js';
import { ReplicaReads } from '../../services/log/jetstream/replica-reads.js';
import { RequestError } from '../../services/log/jetstream/request-error.js';
import { silentLogger } from '../../services/shared/logger.js';
import { rejection } from '../contract/harness.js';
import { ManualClock } from '../support/manual-clock.js';

const NOTHING = new Uint8Array(0);
const ANSWER = { subject: 'answer' };
const REQUEST_TIMEOUT_MS = 1_500;

/** Replicas that answer, or say why not, as `fails` says; each request is kept with the time it was given. */
function network() {
  const clock = new ManualClock();
  const patience: (number | undefined)[] = [];
  let fails: RequestError | undefined;
  const request = <T>(answer: T, options: { timeoutMs?: number } = {}): Promise<T> => {
    patience.push(options.timeoutMs);
    return fails === undefined ? Promise.resolve(answer) : Promise.reject(fails);
  };
  const api = {
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    send: (_subject: string, _payload: Uint8Array, options?: { timeoutMs?: number }) => request(ANSWER, options),
    call: (verb: string, _body?: object, options?: { timeoutMs?: number }) =>
      verb.startsWith('CONSUMER.DELETE') ? Promise.resolve({}) : request({ num_pending: 0 }, options),
  } as unknown as JetStreamApi;
  const replicas = new ReplicaReads(api, clock);
  return {
    clock,
    patience,
    replicas,
    consumers: new ConsumerReader({ api, replicas, clock, logger: silentLogger }),
    fail: (failure?: RequestError) => {
      fails = failure;
    },
  };
}

const silence = () => new RequestError('timed_out', 'a subject');

test('[L17] where a replica does not answer within 0.4 s the leader is asked, and for 5 s after that at once', async () => {
  const { clock, patience, replicas, fail } = network();
  expect(await replicas.ask('a', NOTHING)).toBe(ANSWER);
  fail(silence());
  expect(await replicas.ask('a', NOTHING)).toBeUndefined();
  fail();
  await clock.advance(4_999);
  expect(await replicas.ask('a', NOTHING)).toBeUndefined();
  expect(patience).toEqual([400, 400]);

  await clock.advance(1);

  expect(await replicas.ask('a', NOTHING)).toBe(ANSWER);
});

test('[L17] what says that nobody can be asked is not taken for a replica that hangs', async () => {
  const { replicas, fail } = network();
  for (const failure of ['no_responders', 'not_connected', 'disconnected', 'not_permitted'] as const) {
    fail(new RequestError(failure, 'a subject'));
    expect(await rejection(replicas.ask('a', NOTHING))).toMatchObject({ failure });
  }
  expect(replicas.doubted).toBe(false);
});

test('[L17] a consumer that does not answer is made anew, with more patience each time, and the last failure is told', async () => {
  const { clock, patience, replicas, consumers, fail } = network();
  fail(silence());
  const failed = rejection(consumers.read({ room: 'doc', seq: 7 }, 100, () => true));
  await clock.advance(10_000);

  expect(await failed).toMatchObject({ failure: 'timed_out' });
  expect(patience).toEqual([750, 500, 1_000, REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS]);

  replicas.doubt();
  patience.length = 0;
  const read = consumers.read({ room: 'doc', seq: 7 }, 100, () => true);
  await clock.advance(1);
  fail();
  await clock.advance(1_000);
  await read;

  expect(patience).toEqual([250, 500]);
});
