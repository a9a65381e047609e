/** deploy/nats/cluster.conf and its readiness probe on three real servers, and revcast on them with replicas 3. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { KeptProcess } from '../support/built-program.js';
import { DeployedNats } from '../support/deployed-nats.js';
import { openJetStreamLog, testLink } from '../support/jetstream.js';
import { keepAppending } from '../support/keep-appending.js';
import { asUser, userSettings } from '../support/nats-users.js';
import { waitFor } from '../support/wait-for.js';
import { one } from '../contract/harness.js';

const SETTINGS = { logReplicas: 3, logMaxBytes: 1024 ** 3 } as const;

let nats: DeployedNats;

beforeAll(async () => {
  nats = await DeployedNats.prepare();
});
afterAll(async () => {
  await nats.dispose();
});

async function allSay(indices: readonly number[], expected: string): Promise<void> {
  await waitFor(
    async () => (await Promise.all(indices.map((index) => nats.ready(index)))).every((said) => said === expected),
    {
      timeoutMs: 30_000,
      what: `servers ${indices.join(', ')} say "${expected}"`,
    },
  );
}

describe('three NATS servers as they are deployed', () => {
  test('[M7] are ready when the group has a leader and three members, not before, and keep each entry three times', async () => {
    const [first, second, third] = nats.nodes;
    await first?.start();
    await allSay([0], 'not healthy');
    // But it lives: nothing is to restart it while the others are away.
    expect(await nats.lives(0)).toBe(true);
    await second?.start();
    await allSay([0, 1], 'the group does not have 3 members');
    await third?.start();
    await allSay([0, 1, 2], '');

    const words = ['setup', '--nats', nats.url, '--log-replicas', '3', '--log-max-bytes', String(1024 ** 3)];
    const setup = KeptProcess.revcast(words, asUser('admin'));
    const { code } = await setup.ended;
    expect({ code, stderr: setup.stderr }).toEqual({ code: 0, stderr: '' });

    const producer = await openJetStreamLog(nats.url, { settings: SETTINGS, nats: userSettings('producer') });
    expect(await producer.log.append('room', one('a'))).toMatchObject({ rev: 1 });
    expect((await streamInfo()).config.num_replicas).toBe(3);
    await first?.kill();
    await allSay([1, 2], '');
    await waitFor(() => appended(), { timeoutMs: 30_000, what: 'an append with one server away' });
    await producer.close();

    async function appended(): Promise<boolean> {
      try {
        return (await producer.log.append('room', one('b'))).rev > 1;
      } catch {
        return false;
      }
    }
  });

  test('[M8] one that leads and is ended as its pod is hands on what it leads and then lets its clients go, and appends go on', async () => {
    await nats.node(0).start();
    await allSay([0, 1, 2], '');
    const name = (await streamInfo()).cluster.leader ?? '';
    const leader = Number(name.at(-1));
    // It has a client that stays, or it would have nobody to wait for.
    const client = await connected(nats.node(leader).url);
    const producer = await openJetStreamLog(nats.url, { settings: SETTINGS, nats: userSettings('producer') });
    const until = { stop: false };
    const appending = keepAppending(producer.log, 'lame duck', 'v', until);

    await Promise.all([nats.leave(leader), waitForLeader((led) => led !== name)]);
    until.stop = true;
    const told = await appending;
    expect([...told.values()].map(({ rev }) => rev)).toEqual([...told.keys()].map((_, index) => index + 1));
    const log = await nats.node(leader).readLog();
    expect(log).toContain('Entering lame duck mode');
    expect(log).toContain('Closing existing clients');
    await client.close();
    await producer.close();
    await nats.node(leader).start();
    await allSay([0, 1, 2], '');
  });

  test('[M9] one alone with another route password never becomes ready; all three with it do, and keep what is stored', async () => {
    const before = await producedIn('kept');
    await nats.node(2).stop();
    nats.changeRoutePassword(2, 'route-secret-2');
    await nats.node(2).start();
    await waitFor(
      async () => (await nats.ready(0)) === '' && (await nats.node(0).readLog()).includes('authentication error'),
      {
        timeoutMs: 30_000,
        what: 'the others refuse it, and go on',
      },
    );
    expect(await nats.ready(2)).not.toBe('');

    for (const index of [0, 1]) nats.changeRoutePassword(index, 'route-secret-2');
    await Promise.all(nats.nodes.map((node) => node.stop()));
    await Promise.all(nats.nodes.map((node) => node.start()));
    await allSay([0, 1, 2], '');
    expect(await producedIn('kept')).toBe(before + 1);
  });
});

/** The revision that an append got. */
async function producedIn(room: string): Promise<number> {
  const producer = await openJetStreamLog(nats.url, { settings: SETTINGS, nats: userSettings('producer') });
  const { rev } = await producer.log.append(room, one('a'));
  await producer.close();
  return rev;
}

async function waitForLeader(fits: (leader: string) => boolean): Promise<void> {
  await waitFor(
    async () => {
      const leader = (await streamInfo().catch(() => undefined))?.cluster.leader ?? '';
      return leader !== '' && fits(leader);
    },
    { timeoutMs: 30_000, what: 'the stream has another leader' },
  );
}

interface StreamInfo {
  readonly config: { readonly num_replicas: number };
  readonly cluster: { readonly leader?: string };
}

/** As the admin sees the stream. */
async function streamInfo(): Promise<StreamInfo> {
  const link = await connected(nats.url);
  const answer = await link.request('$JS.API.STREAM.INFO.REVISIONS', new Uint8Array(0), 5_000);
  await link.close();
  return JSON.parse(Buffer.from(answer).toString()) as StreamInfo;
}

async function connected(url: string): Promise<NatsLink> {
  const link = testLink(url, { nats: userSettings('admin') });
  link.start();
  await waitFor(() => link.up, { what: `the admin is connected to ${url}` });
  return link;
}
