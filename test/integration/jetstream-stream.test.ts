/** The stream behind the log: made, compared, full, trimmed, removed, and with foreign messages in it. */
import { describe, expect, test } from 'vitest';
import { encodeEntry } from '../../services/log/entry-codec.js';
import type { Entry } from '../../services/log/log.js';
import { liveSubject, STREAM, storedSubject } from '../../services/log/subjects.js';
import { RevcastError } from '../../services/shared/errors.js';
import { allEntries, many, newRoom, numbered, one, rawEntry, rejection, valuesOf } from '../contract/harness.js';
import { becomesReady, streamApi } from '../support/jetstream.js';
import { LogLines } from '../support/log-lines.js';
import { connect, openLog, startLog, startServer } from '../support/until-test-ends.js';
import { waitFor } from '../support/wait-for.js';

const MIB = 1024 * 1024;

describe('the stream', () => {
  test('[L13] is made as the settings say, and found by everyone after', async () => {
    const server = await startServer();
    await Promise.all([openLog(server), openLog(server), openLog(server)]);
    const link = await connect(server);

    expect(await streamApi(link, `STREAM.INFO.${STREAM}`)).toMatchObject({
      config: {
        subjects: ['rev.>'],
        storage: 'file',
        num_replicas: 1,
        allow_direct: true,
        republish: { src: 'rev.>', dest: 'live.>' },
        discard: 'new',
        max_age: 0,
        max_msgs_per_subject: 100_000,
        max_bytes: 1024 * MIB,
      },
    });
  });

  test('[L13] with other settings is refused: the error names each field, theirs and ours; nothing is changed', async () => {
    const server = await startServer();
    const link = await connect(server);
    const theirs = { name: STREAM, subjects: ['rev.>'], max_bytes: 5 * MIB, discard: 'old', allow_direct: true };
    await streamApi(link, `STREAM.CREATE.${STREAM}`, theirs);
    const output = new LogLines();
    const opened = startLog(server, { logger: output.logger });
    const { log } = opened;

    await waitFor(() => log.status().state === 'unavailable', { what: 'the stream was refused' });

    const status = log.status();
    const detail = status.state === 'unavailable' ? status.detail : '';
    expect(detail).toContain(`max_bytes is ${5 * MIB}, wanted ${1024 * MIB}`);
    expect(detail).toContain('discard is "old", wanted "new"');
    expect(detail).toContain('republish.src is not set, wanted "rev.>"');
    expect(detail).not.toContain('allow_direct');
    expect(await rejection(log.append(newRoom(), one(1)))).toMatchObject({ code: 'log_unavailable', message: detail });
    expect(await rejection(log.heads(['a']))).toMatchObject({ code: 'log_unavailable', message: detail });
    expect(output.about('stream_refused')).toHaveLength(1);
    expect(await streamApi(link, `STREAM.INFO.${STREAM}`)).toMatchObject({
      config: { max_bytes: 5 * MIB, discard: 'old' },
    });
  });

  test('[L13] that the operator removes or corrects is used then, without a restart', async () => {
    const server = await startServer();
    const link = await connect(server);
    await streamApi(link, `STREAM.CREATE.${STREAM}`, { name: STREAM, subjects: ['rev.>'] });
    const opened = startLog(server);
    const { log } = opened;
    await waitFor(() => log.status().state === 'unavailable', { what: 'the stream was refused' });

    await streamApi(link, `STREAM.DELETE.${STREAM}`);

    await becomesReady(log);
    expect(await log.append(newRoom(), one(1))).toMatchObject({ rev: 1 });
  });

  test('[L13] settings that we do not set are the operator’s', async () => {
    const server = await startServer();
    const { link } = await openLog(server);
    const { config } = (await streamApi(link, `STREAM.INFO.${STREAM}`)) as { config: object };
    await streamApi(link, `STREAM.UPDATE.${STREAM}`, {
      ...config,
      description: 'ours',
      duplicate_window: 1_000_000_000,
    });

    const { log } = await openLog(server);

    expect(log.status()).toEqual({ state: 'ready' });
  });

  test('[L13] with three replicas on one server is an error that says so, not a crash', async () => {
    const server = await startServer();
    const output = new LogLines();
    const opened = startLog(server, { logger: output.logger, settings: { logReplicas: 3 } });
    const { log } = opened;

    await waitFor(() => log.status().state === 'unavailable', { what: 'the server refused' });

    expect(log.status()).toMatchObject({ detail: expect.stringContaining('replicas > 1') as string });
    expect(output.about('log_unavailable')).toHaveLength(1);
  });

  test('[L13] on a server without JetStream is an error that asks for it', async () => {
    const server = await startServer({ jetStream: false });
    const opened = startLog(server);

    await waitFor(() => opened.log.status().state === 'unavailable', { what: 'the log noticed' });

    expect(opened.log.status()).toMatchObject({ detail: expect.stringContaining('is JetStream enabled?') as string });
  });

  test('[L9] that is removed while it is used is made again, and rooms begin again under new epochs', async () => {
    const server = await startServer();
    const output = new LogLines();
    const { log, link } = await openLog(server, { logger: output.logger });
    const room = newRoom();
    const before = await log.append(room, many([1, 2, 3]));
    const disturbances: string[] = [];
    log.onDisturbance((disturbance) => disturbances.push(disturbance));

    await streamApi(link, `STREAM.DELETE.${STREAM}`);
    const after = await log.append(room, one('again'));

    expect(after).toMatchObject({ firstRev: 1, rev: 1 });
    expect(after.epoch).not.toBe(before.epoch);
    expect(output.about('history_lost')).toHaveLength(1);
    expect(disturbances).toContain('reconnected');
  });

  test('[L2] that is full refuses with log_full, and keeps what it has', async () => {
    const server = await startServer();
    const { log } = await openLog(server, { settings: { logMaxBytes: MIB } });
    const room = newRoom();
    const part = 'x'.repeat(100_000);
    const stored: unknown[] = [];
    let refused: unknown;
    for (let i = 0; i < 20 && refused === undefined; i += 1) {
      try {
        await log.append(room, one(`${i} ${part}`));
        stored.push(`${i} ${part}`);
      } catch (error) {
        refused = error;
      }
    }

    expect(refused).toMatchObject({ code: 'log_full', retryable: true, httpStatus: 503 });
    expect(valuesOf(await allEntries(log, room))).toEqual(numbered(stored));
    // A small one may still fit, and is numbered behind the rest.
    expect(await log.append(room, one('small'))).toMatchObject({ rev: stored.length + 1 });
  });

  test('[L7] keeps at most so many entries of a room, and never less than the newest', async () => {
    const server = await startServer();
    const { log } = await openLog(server, { settings: { logMaxEntriesPerRoom: 5 } });
    const [room, quiet] = [newRoom(), newRoom()];
    await log.append(quiet, one('only'));
    for (let i = 1; i <= 12; i += 1) await log.append(room, one(i));

    const range = await log.range(room, 1, { limit: 100, maxBytes: 1e6 });

    expect(range).toMatchObject({ kind: 'truncated', firstRev: 8, head: { rev: 12 } });
    expect(valuesOf(await allEntries(log, room)).map(([rev]) => rev)).toEqual([8, 9, 10, 11, 12]);
    expect(valuesOf(await allEntries(log, quiet))).toEqual([[1, 'only']]);
    expect(await log.append(room, one(13))).toMatchObject({ rev: 13 });
  });

  test('[L5] what is published on live by someone else, or does not decode, is dropped, and said', async () => {
    const server = await startServer();
    const output = new LogLines();
    const { log, link } = await openLog(server, { logger: output.logger });
    const room = newRoom();
    const seen: Entry[] = [];
    const following = log.follow([room], (entry) => seen.push(entry));
    await following.ready;

    link.publish(liveSubject(room), Buffer.from('no entry'), 'x');
    link.publish(liveSubject(room), encodeEntry(rawEntry(room)), 'x');
    await streamApi(link, 'INFO');
    await log.append(room, one('sound'));

    await waitFor(() => seen.length > 0, { what: 'the sound entry was delivered' });
    expect(valuesOf(seen)).toEqual([[1, 'sound']]);
    expect(output.about('live_entry_dropped').length).toBeGreaterThan(0);
  });

  test('[L2] a foreign message in a room’s place stops that room with an error that names it, and no other', async () => {
    const server = await startServer();
    const [{ log, link }, { log: fresh }] = [await openLog(server), await openLog(server)];
    const [room, other] = [newRoom(), newRoom()];
    await log.append(room, one('a'));
    const answer = await link.request(storedSubject(room), Buffer.from('foreign'), 5_000);
    const { seq } = JSON.parse(Buffer.from(answer).toString()) as { seq: number };

    const unreadable = { code: 'internal', message: expect.stringContaining(`seq ${seq} of room`) as string };
    expect(await rejection(fresh.append(room, one('b')))).toMatchObject(unreadable);
    expect([...(await fresh.heads([room, other])).keys()]).toEqual([other]);
    expect(await rejection(log.append(room, one('b')))).toBeInstanceOf(RevcastError);
    expect(await log.append(other, one('c'))).toMatchObject({ rev: 1 });

    await streamApi(link, `STREAM.MSG.DELETE.${STREAM}`, { seq });
    expect(await fresh.append(room, one('b'))).toMatchObject({ rev: 2 });
    expect(await log.append(room, one('c'))).toMatchObject({ rev: 3 });
  });

  test('[L7] entries as large as fit are stored, followed, and read with those around them', async () => {
    const server = await startServer();
    const { log } = await openLog(server);
    const room = newRoom();
    const seen: Entry[] = [];
    const following = log.follow([room], (entry) => seen.push(entry));
    await following.ready;
    const values = Array.from({ length: 24 }, (_, index) => `${index} ${'x'.repeat(1_046_000)}`);

    for (const value of values) await log.append(room, one(value));

    await waitFor(() => seen.length === values.length, { what: 'all were delivered' });
    expect(valuesOf(seen)).toEqual(numbered(values));
    expect(valuesOf(await allEntries(log, room))).toEqual(numbered(values));
  });

  test('[L7] a range of a room among many others is found with and without a hint', async () => {
    const server = await startServer();
    const { log } = await openLog(server);
    const others = Array.from({ length: 400 }, () => newRoom());
    const room = newRoom();
    for (let i = 0; i < 30; i += 1) {
      await Promise.all(others.map((other) => log.append(other, one(i))));
      await log.append(room, one(i));
      if (i % 10 === 0) for (let j = 0; j < 20; j += 1) await log.append(room, one(`${i}.${j}`));
    }
    const entries = await allEntries(log, room);
    expect(entries).toHaveLength(90);

    for (const [index, entry] of entries.entries()) {
      const options = { limit: 30, maxBytes: 1e6 };
      const plain = await log.range(room, entry.firstRev, options);
      const hinted = await log.range(room, entry.firstRev, { ...options, hint: entry.seq });
      expect(plain.kind === 'entries' && plain.entries).toEqual(entries.slice(index, index + 30));
      expect(hinted).toEqual(plain);
    }
  });
});
