/** deploy/nats/cluster.conf and its readiness probe on three real servers, and revcast on them with replicas 3. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeptProcess } from '../support/built-program.js';
import { DeployedNats } from '../support/deployed-nats.js';
import { openJetStreamLog, testLink } from '../support/jetstream.js';
import { asUser, userSettings } from '../support/nats-users.js';
import { waitFor } from '../support/wait-for.js';
import { one } from '../contract/harness.js';

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

    const settings = { logReplicas: 3, logMaxBytes: 1024 ** 3 };
    const producer = await openJetStreamLog(nats.url, { settings, nats: userSettings('producer') });
    expect(await producer.log.append('room', one('a'))).toMatchObject({ rev: 1 });
    expect(await replicasOf()).toBe(3);
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
});

/** Of the stream, as the admin sees it. */
async function replicasOf(): Promise<number> {
  const link = testLink(nats.url, { nats: userSettings('admin') });
  link.start();
  await waitFor(() => link.up, { what: 'the admin is connected' });
  const answer = await link.request('$JS.API.STREAM.INFO.REVISIONS', new Uint8Array(0), 5_000);
  await link.close();
  return (JSON.parse(Buffer.from(answer).toString()) as { config: { num_replicas: number } }).config.num_replicas;
}
