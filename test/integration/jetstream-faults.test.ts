/** The log while its NATS server is away, hangs, is killed, or comes back with less than it had. */
import { cp, rm } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lastRev, type Entry } from '../../services/log/log.js';
import { allEntries, newRoom, numbered, one, rejection, valuesOf } from '../contract/harness.js';
import { becomesReady } from '../support/jetstream.js';
import { keepAppending } from '../support/keep-appending.js';
import { LogLines } from '../support/log-lines.js';
import { NatsServer } from '../support/nats-server.js';
import { Random, testSeed } from '../support/random.js';
import { SwitchProxy } from '../support/switch-proxy.js';
import { openLog, prepareServer, startLog, startServer } from '../support/until-test-ends.js';
import { waitFor } from '../support/wait-for.js';

/** A deadline is kept to within this, on a busy machine. */
const SLACK_MS = 3_000;

/** Keeps the server's files as they are now; the answer puts them back and starts it with them. */
async function snapshot(server: NatsServer): Promise<() => Promise<void>> {
  await server.stop();
  const copy = `${server.directory}/snapshot`;
  await cp(server.storeDirectory, copy, { recursive: true });
  await server.start();
  return async () => {
    await server.stop();
    await rm(server.storeDirectory, { recursive: true });
    await cp(copy, server.storeDirectory, { recursive: true });
    await server.start();
  };
}

describe('a NATS server that is away', () => {
  test('[L14] at start: the log waits, says so once, refuses at once, and is ready when the server comes', async () => {
    const server = await prepareServer();
    const output = new LogLines();
    const opened = startLog(server, { logger: output.logger });
    const { log } = opened;
    await waitFor(() => output.about('waiting').length > 0, { what: 'it said that it waits' });

    const startedAt = performance.now();
    expect(await rejection(log.append('a', one(1)))).toMatchObject({ code: 'log_unavailable' });
    expect(await rejection(log.range('a', 1, { limit: 1, maxBytes: 1 }))).toMatchObject({ code: 'log_unavailable' });
    expect(await rejection(log.heads(['a']))).toMatchObject({ code: 'log_unavailable' });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(log.status()).toEqual({ state: 'starting', detail: 'waiting for NATS' });

    // Several attempts to connect fail meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await server.start();
    await becomesReady(log);

    expect(await log.append('a', one(1))).toMatchObject({ rev: 1 });
    expect(output.about('waiting')).toHaveLength(1);
    expect(output.about('connected to NATS')).toHaveLength(1);
  });

  test('[L14] at start: who follows already gets the entries from when the server is there', async () => {
    const server = await prepareServer();
    const opened = startLog(server);
    const { log } = opened;
    const seen: Entry[] = [];
    const following = log.follow(['a'], (entry) => seen.push(entry));

    await server.start();
    await following.ready;
    await becomesReady(log);
    await log.append('a', one('x'));

    await waitFor(() => seen.length > 0, { what: 'the entry was delivered' });
    expect(valuesOf(seen)).toEqual([[1, 'x']]);
  });

  test('[L14] when it stops, appends fail within their deadline with log_unavailable, reads at once', async () => {
    const server = await startServer();
    const { log } = await openLog(server, { settings: { appendDeadlineMs: 500 } });
    await log.append('a', one(1));

    await server.stop();
    await waitFor(() => log.status().state === 'unavailable', { what: 'the log knows it' });
    const startedAt = performance.now();
    const error = await rejection(log.append('a', one(2)));

    expect(error).toMatchObject({ code: 'log_unavailable', retryable: true });
    expect(performance.now() - startedAt).toBeLessThan(500 + SLACK_MS);
    expect(await rejection(log.heads(['a']))).toMatchObject({ code: 'log_unavailable' });

    await server.start();
    await becomesReady(log);
    expect(await log.append('a', one(2))).toMatchObject({ rev: 2 });
  });

  test('[L14] when it hangs, an append fails within its deadline with outcome_unknown, and a retry is stored once', async () => {
    const server = await startServer();
    const { log } = await openLog(server, { settings: { appendDeadlineMs: 600, logRequestTimeoutMs: 200 } });
    // With a key, so that the room's keys are read before the server hangs.
    await log.append('a', one(1, { key: 'j' }));

    await server.pause();
    const startedAt = performance.now();
    const error = await rejection(log.append('a', one(2, { key: 'k' })));
    const tookMs = performance.now() - startedAt;
    server.resume();

    expect(error).toMatchObject({ code: 'outcome_unknown', retryable: true });
    expect(tookMs).toBeLessThan(600 + SLACK_MS);
    await becomesReady(log);
    expect(await log.append('a', one(2, { key: 'k' }))).toMatchObject({ rev: 2 });
    expect(valuesOf(await allEntries(log, 'a'))).toEqual(numbered([1, 2]));
  });

  test('[L14] appends that wait when it is killed are stored when it is back before their deadline', async () => {
    const server = await startServer();
    const { log } = await openLog(server, { settings: { appendDeadlineMs: 20_000 } });
    await log.append('a', one(1));

    await server.kill();
    const appending = log.append('a', one(2));
    await server.start();

    expect(await appending).toMatchObject({ rev: 2 });
  });

  test('[L6] following goes on after a reconnect, which is told', async () => {
    const server = await startServer();
    const { log } = await openLog(server);
    const seen: Entry[] = [];
    const disturbances: string[] = [];
    log.onDisturbance((disturbance) => disturbances.push(`${disturbance} ${log.status().state}`));
    const following = log.follow(['a'], (entry) => seen.push(entry));
    await following.ready;
    await log.append('a', one(1));

    await server.kill();
    await server.start();
    await waitFor(() => disturbances.includes('reconnected ready'), { what: 'the reconnect was told' });
    await log.append('a', one(2));

    await waitFor(() => seen.length > 1, { what: 'the entry after the reconnect came' });
    expect(valuesOf(seen)).toEqual([
      [1, 1],
      [2, 2],
    ]);
  });
});

describe('a NATS server that is killed', () => {
  const seed = testSeed();

  test(`[L4] in the middle of appends, three times: every acknowledged one is there once, in its place (seed ${seed})`, async () => {
    const random = new Random(seed);
    const server = await startServer();
    const settings = { appendDeadlineMs: 1_500, logRequestTimeoutMs: 500 };
    const logs = await Promise.all([openLog(server, { settings }), openLog(server, { settings })]);
    const room = newRoom();
    const until = { stop: false };
    const appending = Promise.all(
      logs.flatMap(({ log }, w) => Array.from({ length: 8 }, (_, c) => keepAppending(log, room, `${w}.${c}`, until))),
    );

    for (let kills = 0; kills < 3; kills += 1) {
      await new Promise((resolve) => setTimeout(resolve, random.whole(200, 600)));
      await server.kill();
      await new Promise((resolve) => setTimeout(resolve, random.whole(0, 300)));
      await server.start();
      await Promise.all(logs.map(({ log }) => becomesReady(log)));
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
    until.stop = true;
    const told = (await appending).flatMap((answers) => Array.from(answers));

    const { log } = await openLog(server);
    const stored = valuesOf(await allEntries(log, room));
    expect(stored.map(([rev]) => rev)).toEqual(stored.map((_, index) => index + 1));
    expect(told.length).toBeGreaterThan(50);
    expect(new Map(stored)).toEqual(new Map(told.map(([value, { rev }]) => [rev, value])));
  });
});

describe('a log that lost history', () => {
  test('[L9] is noticed at the reconnect: the room’s next append begins a new epoch', async () => {
    const server = await startServer();
    const output = new LogLines();
    const { log } = await openLog(server, { logger: output.logger });
    const [room, whole] = [newRoom(), newRoom()];
    await log.append(whole, one('kept'));
    const old = await log.append(room, one(1));
    const restore = await snapshot(server);
    await becomesReady(log);
    await log.append(room, one(2));
    await log.append(room, one(3));

    await restore();
    await becomesReady(log);

    const next = await log.append(room, one('new'));
    expect(next.epoch).not.toBe(old.epoch);
    expect(next).toMatchObject({ firstRev: 1, rev: 1 });
    expect(await log.append(whole, one('on'))).toMatchObject({ rev: 2 });
    expect(output.about('history_lost')).toHaveLength(1);
    expect(valuesOf(await allEntries(log, room))).toEqual([[1, 'new']]);
  });

  test('[L9] is noticed when others have appended since and the seq numbers are taken again', async () => {
    const server = await startServer();
    const proxy = await SwitchProxy.start(server.port);
    onTestFinished(() => proxy.stop());
    const output = new LogLines();
    const opened = await openLog({ url: `nats://127.0.0.1:${proxy.port}` }, { logger: output.logger });
    const { log } = opened;
    const room = newRoom();
    await log.append(room, one(1));
    const restore = await snapshot(server);
    await becomesReady(log);
    const lost = await log.append(room, one(2));

    proxy.cut();
    await restore();
    const { log: other } = await openLog(server);
    for (let i = 0; i < 5; i += 1) await other.append(newRoom(), one(i));
    proxy.restore();
    await waitFor(() => output.about('history_lost').length === 1, { what: 'the loss was noticed', timeoutMs: 20_000 });
    await becomesReady(log);

    const next = await log.append(room, one('new'));
    expect(next.epoch).not.toBe(lost.epoch);
    expect(next.rev).toBe(1);
  });

  test('[L9] a stream that was made anew is noticed', async () => {
    const server = await startServer();
    const output = new LogLines();
    const { log } = await openLog(server, { logger: output.logger });
    const room = newRoom();
    const old = await log.append(room, one(1));

    await server.stop();
    await rm(server.storeDirectory, { recursive: true });
    await server.start();
    await becomesReady(log);
    const next = await log.append(room, one('new'));

    expect(next).toMatchObject({ rev: 1 });
    expect(next.epoch).not.toBe(old.epoch);
    expect(output.about('history_lost')).toHaveLength(1);
  });

  test('[L9] what others numbered since a loss goes on: a producer that was idle meanwhile cuts nothing off', async () => {
    const server = await startServer();
    const { log } = await openLog(server);
    const { log: idle } = await openLog(server);
    const room = newRoom();
    const lost = await log.append(room, one('lost'));
    await idle.append(room, one('lost too'));

    await server.stop();
    await rm(server.storeDirectory, { recursive: true });
    await server.start();
    await Promise.all([becomesReady(log), becomesReady(idle)]);
    const first = await log.append(room, one(1));
    await log.append(room, one(2));
    const third = await idle.append(room, one(3));
    const { log: fresh } = await openLog(server);
    const fourth = await fresh.append(room, one(4));

    expect(first.epoch).not.toBe(lost.epoch);
    expect([third, fourth]).toMatchObject([
      { epoch: first.epoch, rev: 3 },
      { epoch: first.epoch, rev: 4 },
    ]);
    expect(valuesOf(await allEntries(log, room))).toEqual(numbered([1, 2, 3, 4]));
  });

  test('[L9] after a rollback, what a new producer numbered in the old epoch is not cut off by an old one', async () => {
    const server = await startServer();
    const { log: old } = await openLog(server);
    const room = newRoom();
    const kept = await old.append(room, one('kept'));
    const restore = await snapshot(server);
    await becomesReady(old);
    await old.append(room, one('lost'));

    await restore();
    const { log: fresh } = await openLog(server);
    await fresh.append(room, one('since'));
    await becomesReady(old);
    expect(await old.append(room, one('on'))).toMatchObject({ epoch: kept.epoch, rev: 3 });
    expect(valuesOf(await allEntries(old, room))).toEqual(numbered(['kept', 'since', 'on']));
  });

  test('[L9] a restart without loss keeps the epoch, and says nothing of loss', async () => {
    const server = await startServer();
    const output = new LogLines();
    const { log } = await openLog(server, { logger: output.logger });
    const room = newRoom();
    const old = await log.append(room, one(1));

    for (let i = 2; i <= 4; i += 1) {
      await server.kill();
      await server.start();
      await becomesReady(log);
      expect(await log.append(room, one(i))).toMatchObject({ rev: i, epoch: old.epoch });
    }

    expect(output.about('history_lost')).toHaveLength(0);
    expect(lastRev((await allEntries(log, room)).at(-1) as Entry)).toBe(4);
  });
});
