/** The parts of the JetStream log that need no server. */
import { describe, expect, test } from 'vitest';
import { HistoryGuard } from '../../services/log/jetstream/history-guard.js';
import { Slots } from '../../services/log/jetstream/slots.js';
import { checkVersion, wantedStream, type StreamInfo } from '../../services/log/jetstream/stream.js';
import { logSettings, natsSettings } from '../../services/log/settings.js';
import { readSettings, SettingsError } from '../../services/shared/settings.js';

function info(created: string, lastSeq: number): StreamInfo {
  return { config: {}, created, state: { last_seq: lastSeq, messages: lastSeq } };
}

function holds(tag: string | null): () => Promise<string | null> {
  return () => Promise.resolve(tag);
}

describe('the server’s version', () => {
  test('[L13] 2.10.27 is the oldest that may hold replicas, 2.9.0 the oldest at all', () => {
    for (const version of ['2.10.27', '2.10.28', '2.11.0', '2.15.1', '3.0.0', '2.12.0-RC.1']) {
      expect(() => {
        checkVersion(version, 3);
      }).not.toThrow();
    }
    for (const version of ['2.10.26', '2.9.10', '1.99.99', '']) {
      expect(() => {
        checkVersion(version, 3);
      }).toThrow(`nats-server ${version} is too old for replicas 3: 2.10.27 or newer is needed`);
    }
    expect(() => {
      checkVersion('2.9.10', 1);
    }).not.toThrow();
    expect(() => {
      checkVersion('2.8.4', 1);
    }).toThrow('2.9.0 or newer is needed');
  });
});

describe('the history guard', () => {
  test('[L9] a stream that goes on behind the newest entry seen contradicts nothing', async () => {
    const guard = new HistoryGuard();
    expect(await guard.contradiction(info('a', 0), holds(null))).toBeUndefined();
    guard.saw({ seq: 7, tag: 't7' });
    guard.saw({ seq: 5, tag: 't5' });

    expect(await guard.contradiction(info('a', 7), holds('t7'))).toBeUndefined();
    expect(await guard.contradiction(info('a', 90), holds('t7'))).toBeUndefined();
  });

  test('[L9] a stream that ends below it does, once', async () => {
    const guard = new HistoryGuard();
    guard.saw({ seq: 7, tag: 't7' });

    expect(await guard.contradiction(info('a', 6), holds(null))).toBe('the stream ends at seq 6, it had seq 7');
    expect(await guard.contradiction(info('a', 6), holds(null))).toBeUndefined();
  });

  test('[L9] another entry in its place does', async () => {
    const guard = new HistoryGuard();
    guard.saw({ seq: 7, tag: 't7' });

    expect(await guard.contradiction(info('a', 9), holds('other'))).toContain('seq 7 holds another entry');
  });

  test('[L9] its absence does only in a stream that was made at another time', async () => {
    const guard = new HistoryGuard();
    await guard.contradiction(info('a', 0), holds(null));
    guard.saw({ seq: 7, tag: 't7' });

    expect(await guard.contradiction(info('a', 9), holds(null))).toBeUndefined();
    expect(await guard.contradiction(info('b', 9), holds(null))).toContain('was made anew');
  });

  test('[L9] another time alone does not: replicas of one stream differ in it', async () => {
    const guard = new HistoryGuard();
    await guard.contradiction(info('a', 0), holds(null));
    guard.saw({ seq: 7, tag: 't7' });

    expect(await guard.contradiction(info('b', 9), holds('t7'))).toBeUndefined();
  });
});

describe('slots', () => {
  test('[L7] run so many at once, the others in order, and refuse those beyond the waiting', async () => {
    const slots = new Slots(2, 2);
    const ends: (() => void)[] = [];
    const started: number[] = [];
    const run = (name: number): Promise<number> =>
      slots.run(async () => {
        started.push(name);
        await new Promise<void>((resolve) => ends.push(resolve));
        return name;
      });
    const running = [run(1), run(2), run(3), run(4)];

    await expect(run(5)).rejects.toMatchObject({ code: 'overloaded', retryable: true });
    expect(started).toEqual([1, 2]);
    for (let i = 0; i < 4; i += 1) {
      ends[i]?.();
      await running[i];
      await Promise.resolve();
    }

    expect(started).toEqual([1, 2, 3, 4]);
  });

  test('[L7] are free again after a failure', async () => {
    const slots = new Slots(1, 1);
    await expect(slots.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');

    expect(await slots.run(() => Promise.resolve('next'))).toBe('next');
  });
});

describe('settings', () => {
  test('[L13] the stream is wanted as the settings say', () => {
    const settings = readSettings(logSettings, { logReplicas: '3', logMaxBytes: '5000000' }, {});

    expect(wantedStream(settings).fields).toMatchObject({
      num_replicas: 3,
      max_bytes: 5_000_000,
      discard: 'new',
      max_age: 0,
    });
  });

  test('[C1] addresses of NATS come as a list, and what is wrong is named', () => {
    expect(readSettings(natsSettings, {}, {}).nats).toEqual([]);
    expect(readSettings(natsSettings, {}, { NATS_URL: 'nats://a:4222, tls://b:4223' }).nats).toEqual([
      'nats://a:4222',
      'tls://b:4223',
    ]);
    for (const wrong of ['a:4222', 'http://a', 'nats://', 'nats://a:4222,', '']) {
      expect(() => readSettings(natsSettings, {}, { NATS_URL: wrong })).toThrow(SettingsError);
    }
    for (const wrong of ['2', '0', 'three']) {
      expect(() => readSettings(logSettings, { logReplicas: wrong }, {})).toThrow('--log-replicas must be one of 1, 3');
    }
  });
});
