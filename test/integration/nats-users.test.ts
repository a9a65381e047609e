/**
 * revcast as separate processes, each as its own NATS user of deploy/nats/users.conf: all that the services do works
 * with it, and what does not fit is said.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { LiveFollower } from '../../services/log/jetstream/live-follower.js';
import { hintSubject, SNAPSHOT_STREAM, snapshotSubject, storedSubject, STREAM } from '../../services/log/subjects.js';
import { systemClock } from '../../services/shared/clock.js';
import { KeptProcess } from '../support/built-program.js';
import { Cluster, type ServiceKind, type ServiceOptions, type ServiceProcess } from '../support/cluster.js';
import { testLink } from '../support/jetstream.js';
import { LogLines } from '../support/log-lines.js';
import { asUser, BareUser, passwordOf, startNatsWithUsers, userSettings } from '../support/nats-users.js';
import { PlainClient } from '../support/plain-client.js';
import { waitFor } from '../support/wait-for.js';

const PUBLISHED_BY_SOCKET = 4;
const OLD_ENTRIES = 40;

const cleanUps: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function startCluster(change?: (users: string) => string): Promise<Cluster> {
  const cluster = await Cluster.create(await startNatsWithUsers(change));
  cleanUps.push(() => cluster.dispose());
  return cluster;
}

function add(cluster: Cluster, kind: ServiceKind, options: ServiceOptions = {}, name: string = kind) {
  return cluster.add(kind, name, { ...options, env: { ...asUser(kind), ...options.env } });
}

async function revcast(words: readonly string[], env: Record<string, string>) {
  const run = KeptProcess.revcast(words, env);
  const { code } = await run.ended;
  return { code, stdout: run.stdout, stderr: run.stderr };
}

function setUp({ nats }: Cluster) {
  return revcast(['setup', '--nats', nats.url], asUser('admin'));
}

async function client(edge: ServiceProcess): Promise<PlainClient> {
  const connected = await PlainClient.connect(`${edge.url.replace('http', 'ws')}/v1/ws`);
  cleanUps.push(() => {
    connected.close();
  });
  return connected;
}

async function publish(producer: ServiceProcess, room: string, body: object): Promise<{ rev: number; epoch: string }> {
  const response = await fetch(`${producer.url}/v1/rooms/${room}/revisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as { rev: number; epoch: string };
  expect({ status: response.status, answer }).toMatchObject({ status: 201 });
  return answer;
}

async function readiness(service: ServiceProcess): Promise<{ status: number; text: string }> {
  const response = await fetch(`${service.url}/readyz`);
  return { status: response.status, text: await response.text() };
}

function violations(log: string): string[] {
  return log.split('\n').filter((line) => /permissions violation|not_permitted/iu.test(line));
}

function logged(service: ServiceProcess, code: string): boolean {
  return service.log.includes(`"code":"${code}"`);
}

/** The edge asks for heads when it is asked for its readiness. */
async function asksAndLogs(edge: ServiceProcess): Promise<boolean> {
  await readiness(edge).catch(() => undefined);
  return logged(edge, 'nats_not_permitted');
}

describe('services as NATS users', () => {
  test('[A1] all of it works: live, catch-up, snapshots, sockets that publish, keys over restarts, gc', async () => {
    const cluster = await startCluster();
    expect(await setUp(cluster)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/REVISIONS is there[\s\S]*SNAPSHOTS is there/u) as string,
    });
    const producer = await add(cluster, 'producer');
    // Nothing in memory: every range is read from NATS.
    const revision = await add(cluster, 'revision', {
      args: ['--revision-tail-bytes', '0', '--revision-cache-bytes', '0'],
    });
    const edge = await add(cluster, 'edge', { args: ['--edge-publish-rooms', '*'] });
    await cluster.ready();

    const member = await client(edge);
    expect(await member.subscribe('doc')).toMatchObject({ subscribed: true });
    for (let rev = 1; rev <= OLD_ENTRIES; rev += 1) await publish(producer, 'doc', { data: rev, key: `k${rev}` });
    await member.upTo('doc', OLD_ENTRIES);
    for (let i = 0; i < PUBLISHED_BY_SOCKET; i += 1)
      expect(await member.request('publish', { room: 'doc', data: i })).toMatchObject({ published: true });

    const snapshot = await fetch(`${producer.url}/v1/rooms/doc/snapshot`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ rev: 30, data: { all: true } }),
    });
    expect(snapshot.status).toBe(200);
    const [late, since] = [await client(edge), await client(edge)];
    await late.subscribe('doc', { since: 0 });
    expect(await since.subscribe('doc', { since: 'snapshot' })).toMatchObject({ snapshot: { rev: 30 } });
    const head = OLD_ENTRIES + PUBLISHED_BY_SOCKET;
    expect(await late.upTo('doc', head)).toHaveLength(head);
    expect(await since.upTo('doc', head)).toHaveLength(head - 30);

    await producer.kill();
    producer.start();
    await producer.ready();
    expect(await publish(producer, 'doc', { data: 7, key: 'k7' })).toMatchObject({ rev: 7, duplicate: true });

    const gcWords = ['gc', '--nats', cluster.nats.url, '--max-age', '0s', '--key-window-minutes', '0'];
    expect(await revcast([...gcWords, '--dry-run'], asUser('gc'))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^would remove 30 entries/u) as string,
    });
    expect(await revcast(gcWords, asUser('gc'))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^removed 30 entries/u) as string,
    });
    expect(await publish(producer, 'doc', { data: 'last' })).toMatchObject({ rev: head + 1 });
    await member.upTo('doc', head + 1);

    expect(violations(await cluster.nats.readLog())).toEqual([]);
    for (const service of [producer, revision, edge]) expect(violations(service.log)).toEqual([]);
  });

  test('[A1] a hint of the producer reaches edges', async () => {
    const server = await startNatsWithUsers();
    cleanUps.push(() => server.dispose());
    const link = testLink(server.url, { nats: userSettings('edge') });
    cleanUps.push(() => link.close());
    link.start();
    const producer = testLink(server.url, { nats: userSettings('producer') });
    cleanUps.push(() => producer.close());
    producer.start();
    await waitFor(() => link.up && producer.up, { what: 'both are connected' });
    const { logger } = new LogLines();
    const live = new LiveFollower({ link, logger, clock: systemClock, tellsReconnects: true });
    const told: unknown[] = [];
    live.onDisturbance((disturbance, room) => told.push([disturbance, room]));
    await live.follow(['doc'], () => undefined).ready;

    await waitFor(
      () => {
        producer.publish(hintSubject('doc'), new Uint8Array(0));
        return told.length > 0;
      },
      { what: 'the hint came' },
    );
    expect(told[0]).toEqual(['hinted', 'doc']);
    await live.close();
  });

  test('[A3] an answer goes to the inboxes of edges, not where an edge would have it go', async () => {
    const cluster = await startCluster();
    await setUp(cluster);
    const revision = await add(cluster, 'revision');
    await cluster.ready();
    const [asker, listener] = [
      await BareUser.connect(cluster.nats, 'edge'),
      await BareUser.connect(cluster.nats, 'edge'),
    ];
    const heard: string[] = [];
    listener.connection.subscribe('live.>', { callback: (_error, { subject }) => heard.push(subject) });
    await listener.connection.flush();

    asker.connection.publish('rpc.revision.heads', new Uint8Array(0), { reply: 'live.3.cm9vbQ' });
    await waitFor(() => logged(revision, 'reply_not_an_inbox'), { what: 'the revision service says so' });

    expect(revision.log).toContain('live.3.cm9vbQ');
    // An inbox, and not an edge's: there NATS refuses it.
    asker.connection.publish('rpc.revision.heads', new Uint8Array(0), { reply: '_INBOX_producer.x' });
    await waitFor(() => logged(revision, 'nats_not_permitted'), { what: 'NATS refuses it' });
    await listener.connection.flush();
    expect(heard).toEqual([]);
    await asker.close();
    await listener.close();
  });

  test('[A3] an edge cannot have a producer write its answer into the log', async () => {
    const cluster = await startCluster();
    await setUp(cluster);
    const producer = await add(cluster, 'producer');
    await cluster.ready();
    await publish(producer, 'doc', { data: 'first' });
    const asker = await BareUser.connect(cluster.nats, 'edge');

    const requests = [Buffer.from([0xff, 0xff, 0xff]), new Uint8Array(0)];
    for (const subject of [storedSubject('doc'), snapshotSubject('doc'), hintSubject('doc'), 'rev.0.other']) {
      for (const request of requests) asker.connection.publish('rpc.producer.append', request, { reply: subject });
    }
    await waitFor(() => logged(producer, 'reply_not_an_inbox'), { what: 'the producer says so' });
    await asker.connection.flush();

    expect(await publish(producer, 'doc', { data: 'second' })).toMatchObject({ rev: 2 });
    const admin = await BareUser.connect(cluster.nats, 'admin');
    const messages = async (stream: string): Promise<number> => {
      const answer = await admin.connection.request(`$JS.API.STREAM.INFO.${stream}`);
      return (JSON.parse(Buffer.from(answer.data).toString()) as { state: { messages: number } }).state.messages;
    };
    expect([await messages(STREAM), await messages(SNAPSHOT_STREAM)]).toEqual([2, 0]);
    await asker.close();
    await admin.close();
  });

  test('[A4] a missing permission is said with its subject, and what needs it fails instead of hanging', async () => {
    const cluster = await startCluster((users) => users.replace('allow: ["rpc.revision.heads", ', 'allow: ['));
    await setUp(cluster);
    await add(cluster, 'revision');
    const edge = await add(cluster, 'edge');
    await waitFor(() => asksAndLogs(edge), { timeoutMs: 30_000, what: 'the edge says so' });

    expect(edge.log).toContain('"subject":"rpc.revision.heads"');
    expect(await readiness(edge)).toMatchObject({
      status: 503,
      text: expect.stringMatching(/NATS does not permit it \(rpc\.revision\.heads\)/u) as string,
    });
    const member = await client(edge);
    expect(await member.subscribe('doc', { since: 0 })).toMatchObject({ error: { code: 'log_unavailable' } });
  });

  test('[A4] a wrong inbox is said, and requests fail instead of hanging', async () => {
    const cluster = await startCluster();
    await setUp(cluster);
    const producer = await add(cluster, 'producer', { env: { NATS_INBOX: '_INBOX_other' } });
    await waitFor(() => logged(producer, 'nats_not_permitted'), { timeoutMs: 30_000, what: 'the producer says so' });

    expect(producer.log).toContain('"subject":"_INBOX_other.>"');
    expect(await readiness(producer)).toMatchObject({ status: 503 });
  });

  test('[A5] where the streams are missing, a service says who makes them, and is ready once they are made', async () => {
    const cluster = await startCluster();
    const producer = await add(cluster, 'producer');
    await waitFor(() => logged(producer, 'stream_missing'), { timeoutMs: 30_000, what: 'the producer says so' });
    const { status, text } = await readiness(producer);

    expect(status).toBe(503);
    expect(text).toMatch(/no stream SNAPSHOTS.*revcast setup/u);
    expect(await setUp(cluster)).toMatchObject({ code: 0 });
    await producer.ready();
    expect(await setUp(cluster)).toMatchObject({ code: 0 });
  });

  test('[A5] setup changes nothing that is there with other settings, and says who it is not', async () => {
    const { nats } = await startCluster();
    const words = ['setup', '--nats', nats.url, '--setup-timeout-ms', '2000'];
    expect(await revcast(words, asUser('admin'))).toMatchObject({ code: 0 });

    const other = await revcast([...words, '--log-max-bytes', '2000000'], asUser('admin'));
    const edge = await revcast(words, asUser('edge'));
    const nobody = await revcast(words, { ...asUser('admin'), NATS_PASSWORD: 'guessed-pw' });

    expect(other).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${STREAM} exists with other settings: max_bytes`) as string,
    });
    expect(edge).toMatchObject({ code: 1, stderr: expect.stringMatching(/NATS does not permit it/u) as string });
    expect(nobody).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no connection to .*Authorization Violation/u) as string,
    });
    expect(nobody.stderr).not.toContain('guessed-pw');
  });

  test('[A6] a password in a file is read again, so that it can be changed; what is refused is said without it', async () => {
    const cluster = await startCluster();
    await setUp(cluster);
    const file = join(cluster.nats.directory, 'password');
    await writeFile(file, 'not-yet-known\n');
    const env = { NATS_PASSWORD: '', NATS_PASSWORD_FILE: file };
    const producer = await add(cluster, 'producer', { env });
    await waitFor(() => logged(producer, 'nats_user_refused'), { timeoutMs: 30_000, what: 'the producer says so' });
    expect((await readiness(producer)).status).toBe(503);

    await writeFile(file, `${passwordOf('producer')}\n`);
    await producer.ready();

    await cluster.nats.stop();
    cluster.nats.env = { ...cluster.nats.env, NATS_PRODUCER_PASSWORD: 'the-next-one' };
    await cluster.nats.start();
    await writeFile(file, 'the-next-one\n');
    await waitFor(async () => (await readiness(producer)).status === 200, { timeoutMs: 30_000, what: 'ready again' });
    for (const secret of ['not-yet-known', passwordOf('producer'), 'the-next-one'])
      expect(producer.log).not.toContain(secret);
  });
});
