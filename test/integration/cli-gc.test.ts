/** `revcast gc` as it is called: what it prints, its exit codes, and what is refused. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STORED_SUBJECTS, STREAM } from '../../services/log/subjects.js';
import { systemClock } from '../../services/shared/clock.js';
import { startCli, type CliRun } from '../support/cli-context.js';
import { openJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { waitFor } from '../support/wait-for.js';

const DAY_MS = 86_400_000;

let server: NatsServer;
let store: TestLog;
let daysAgo = 0;
const clock = { ...systemClock, now: () => Date.now() - daysAgo * DAY_MS };

beforeAll(async () => {
  server = await NatsServer.start();
});
afterAll(async () => {
  await store.close();
  await server.dispose();
});

function gc(words: readonly string[], env: Record<string, string> = {}): Promise<CliRun> {
  return startCli(['gc', ...words], { env }).ended;
}

async function append(room: string, ...days: number[]): Promise<void> {
  for (const day of days) {
    daysAgo = day;
    await store.log.append(room, { revisions: [{ data: Buffer.from('1') }] });
  }
}

async function firstRev(room: string): Promise<number> {
  const range = await store.log.range(room, 'first', { limit: 1, maxBytes: 1 });
  return range.kind === 'entries' ? (range.entries[0]?.firstRev ?? 0) : 0;
}

describe('revcast gc', () => {
  it('[G4] without NATS or an age it says what is needed; an age that forgets keys is refused: exit code 2', async () => {
    const none = await gc([]);
    expect(none.exitCode).toBe(2);
    expect(none.stderr).toContain('--nats or NATS_URL is needed: it removes from the log on NATS; a log in memory');
    expect(none.stderr).toContain('--max-age or GC_MAX_AGE is needed');
    for (const bad of ['30', '1w', '-1d', '']) {
      const { exitCode, stderr } = await gc(['--nats', server.url, `--max-age=${bad}`]);
      expect({ bad, exitCode }).toEqual({ bad, exitCode: 2 });
      expect(stderr).toContain('for example 30d');
    }
    const young = await gc(['--nats', server.url, '--max-age', '5m']);
    expect(young).toMatchObject({ exitCode: 2, stdout: '' });
    expect(young.stderr).toContain('KEY_WINDOW_MINUTES');
    const room = await gc(['--nats', server.url, '--max-age', '5d', '--room', 'ok', '--room', 'x'.repeat(201)]);
    expect(room.exitCode).toBe(2);
    expect(room.stderr).toContain('must be the name of a room');
  });

  it('[G4] a NATS without the stream, or with a foreign one, is left alone: exit code 1', async () => {
    const words = ['--nats', server.url, '--max-age', '30d'];
    const missing = await gc(words);
    expect(missing).toMatchObject({ exitCode: 1, stdout: '' });
    expect(missing.stderr).toContain('there is no stream REVISIONS');
    const link = testLink(server.url);
    link.start();
    await waitFor(() => link.up, { what: 'the link is up' });
    const api = (verb: string, body: object) =>
      link.requestMessage(`$JS.API.STREAM.${verb}.${STREAM}`, Buffer.from(JSON.stringify(body)), { timeoutMs: 2_000 });
    await api('CREATE', { name: STREAM, subjects: ['orders.>'] });
    const foreign = await gc(words);
    expect(foreign).toMatchObject({ exitCode: 1, stdout: '' });
    expect(foreign.stderr).toContain('is not revcast');
    await api('DELETE', {});
    await link.close();
    store = await openJetStreamLog(server.url, { clock });
    expect(STORED_SUBJECTS).toBe('rev.>');
  });

  it('[G4] says what it would remove, removes it of the rooms that are named, then of all, then nothing', async () => {
    await append('a', 50, 45, 40, 1);
    await append('b é\u00a0c', 60, 59, 58);
    await append('c', 90);
    await append('d', 3, 2, 1);
    const words = ['--nats', server.url, '--max-age', '30d'];
    const dry = await gc([...words, '--dry-run']);
    expect(dry).toEqual({ exitCode: 0, stderr: '', stdout: 'would remove 5 entries of 2 rooms; looked at 4 rooms\n' });
    expect([await firstRev('a'), await firstRev('b é\u00a0c')]).toEqual([1, 1]);

    const named = await gc([...words, '--room', 'b é\u00a0c', '--room', 'd', '--keep-revisions', '2']);
    expect(named.stdout).toMatch(/^removed 1 entries, about \d+ bytes, of 1 rooms; looked at 2 rooms\n$/u);
    expect([await firstRev('a'), await firstRev('b é\u00a0c')]).toEqual([1, 2]);

    const all = await gc([], { NATS_URL: server.url, GC_MAX_AGE: '720h' });
    expect(all.stdout).toMatch(/^removed 4 entries, about [1-9]\d* bytes, of 2 rooms; looked at 4 rooms\n$/u);
    expect([await firstRev('a'), await firstRev('b é\u00a0c'), await firstRev('c'), await firstRev('d')]).toEqual([
      4, 3, 1, 1,
    ]);
    const again = await gc(words);
    expect(again.stdout).toBe('removed 0 entries, about 0 bytes, of 0 rooms; looked at 4 rooms\n');
  });

  it('[G4] what could not be dealt with is named, the rest is done: exit code 1', async () => {
    await append('e', 70, 65);
    const { exitCode, stderr, stdout } = await gc('--max-age 30d --room none --room e'.split(' '), {
      NATS_URL: server.url,
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('room "none" has no revisions');
    expect(stdout).toMatch(/^removed 1 entries/u);
    const lost = startCli(['gc', '--nats', 'nats://127.0.0.1:1', '--max-age', '30d']);
    lost.stop();
    expect(await lost.ended).toMatchObject({ exitCode: 1, stderr: 'revcast: stopped\n' });
  });
});
