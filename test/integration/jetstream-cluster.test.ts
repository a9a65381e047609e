/** The log on three nats-servers with three replicas, while they start and while leaders go. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LiveFollower } from '../../services/log/jetstream/live-follower.js';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { lastRev, type Entry } from '../../services/log/log.js';
import { STREAM } from '../../services/log/subjects.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { allEntries, data, newRoom, one, valuesOf } from '../contract/harness.js';
import { becomesReady, startJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { keepAppending } from '../support/keep-appending.js';
import { LogLines } from '../support/log-lines.js';
import { NatsCluster } from '../support/nats-cluster.js';
import { waitFor } from '../support/wait-for.js';

const SETTINGS = { logReplicas: 3, appendDeadlineMs: 10_000, logRequestTimeoutMs: 1_000 };
/** A leader that was killed is missed after some seconds only. */
const ELECTION_MS = 30_000;
const HEARD_NS = 2_000_000_000;

/** Name of the node that leads the stream, as far as the server asked knows. */
async function leaderOf({ link }: TestLog): Promise<string | undefined> {
  try {
    const answer = await link.request(`$JS.API.STREAM.INFO.${STREAM}`, data({}), 1_000);
    const info = JSON.parse(Buffer.from(answer).toString()) as { cluster?: { leader?: string } };
    return info.cluster?.leader;
  } catch {
    return undefined;
  }
}

/** The group is whole again: a node that has just started may not have found every other one yet. */
async function untilWhole({ link }: TestLog): Promise<void> {
  const isWhole = async (): Promise<boolean> => {
    try {
      const answer = await link.request(`$JS.API.STREAM.INFO.${STREAM}`, data({}), 1_000);
      const { cluster } = JSON.parse(Buffer.from(answer).toString()) as {
        cluster?: { replicas?: { current: boolean; active: number }[] };
      };
      const others = cluster?.replicas ?? [];
      return others.length === 2 && others.every(({ current, active }) => current && active < HEARD_NS);
    } catch {
      return false;
    }
  };
  await waitFor(isWhole, { timeoutMs: ELECTION_MS, what: 'all three nodes hear each other' });
}

async function anyLeader(opened: TestLog): Promise<string> {
  let leader: string | undefined;
  await waitFor(
    async () => {
      leader = await leaderOf(opened);
      return leader !== undefined;
    },
    { timeoutMs: ELECTION_MS, what: 'the stream has a leader' },
  );
  return leader ?? '';
}

/** The live half alone, connected to this node. */
async function observe(url: string): Promise<{ live: LiveFollower; link: NatsLink }> {
  const link = testLink(url);
  const live = new LiveFollower({ link, logger: silentLogger, clock: systemClock, tellsReconnects: true });
  link.start();
  await waitFor(() => live.status().state === 'ready', { what: 'the observer is connected' });
  await live.follow(['any'], () => undefined).ready;
  return { live, link };
}

describe('the log on a cluster', () => {
  const outputs = [new LogLines(), new LogLines()] as const;
  let cluster: NatsCluster | undefined;
  let logs: TestLog[] = [];

  beforeAll(async () => {
    cluster = await NatsCluster.prepare();
    const { url } = cluster;
    // Both ask for the stream while the nodes find each other, which is answered with errors at first.
    logs = outputs.map(({ logger }) => startJetStreamLog(url, { settings: SETTINGS, logger }));
    await cluster.start();
    for (const { log } of logs) await becomesReady(log);
  });

  afterAll(async () => {
    for (const opened of logs) await opened.close();
    await cluster?.dispose();
  });

  const parts = (): { cluster: NatsCluster; left: TestLog; right: TestLog } => {
    const [left, right] = logs;
    if (cluster === undefined || left === undefined || right === undefined) throw new Error('not started');
    return { cluster, left, right };
  };

  test('[L13] is made with three replicas once the nodes have found each other, saying nothing twice in a row', async () => {
    const { left } = parts();
    const answer = await left.link.request(`$JS.API.STREAM.INFO.${STREAM}`, data({}), 5_000);

    expect(JSON.parse(Buffer.from(answer).toString())).toMatchObject({ config: { num_replicas: 3 } });
    for (const lines of [outputs[0].lines, outputs[1].lines]) {
      const said = lines.map(({ msg, reason }) => `${msg} ${reason}`);
      expect(said.filter((line, index) => line === said[index - 1])).toEqual([]);
    }
  });

  test('[L8] heads are the leader’s: what was acknowledged last, through any node', async () => {
    const { left, right } = parts();
    const room = newRoom();

    for (let i = 1; i <= 100; i += 1) {
      const { rev } = await left.log.append(room, one(i));
      expect((await right.log.heads([room])).get(room)?.rev).toBe(rev);
    }
  });

  test('[L7] ranges reach the head that was acknowledged last, through any node', async () => {
    const { left, right } = parts();
    const room = newRoom();

    for (let i = 1; i <= 60; i += 1) {
      await left.log.append(room, one(i));
      const range = await right.log.range(room, 1, { limit: 1_000, maxBytes: 1e9 });
      expect(range.kind === 'entries' && range.entries.map(({ firstRev }) => firstRev)).toHaveLength(i);
    }
  });

  for (const how of ['stop', 'kill'] as const) {
    test(`[L4] appends go on over a leader's end (${how}): every acknowledged one is there once, and it is told`, async () => {
      const { cluster: running, left, right } = parts();
      await untilWhole(left);
      const room = newRoom();
      const until = { stop: false };
      const seen: Entry[] = [];
      const following = right.log.follow([room], (entry) => seen.push(entry));
      await following.ready;
      const appending = Promise.all(
        [left, right].flatMap(({ log }, w) =>
          Array.from({ length: 4 }, (_, c) => keepAppending(log, room, `${w}.${c}`, until)),
        ),
      );
      await waitFor(() => seen.length > 20, { what: 'appends are under way' });

      const leader = running.node(await anyLeader(left));
      const told: string[] = [];
      const observer = await observe(running.nodes.find((node) => node !== leader)?.url ?? '');
      observer.live.onDisturbance((disturbance) => told.push(disturbance));
      await leader[how]();
      const before = seen.length;
      await waitFor(() => seen.length > before + 100, { timeoutMs: ELECTION_MS, what: 'appends go on' });
      await leader.start();
      until.stop = true;
      const answers = (await appending).flatMap((each) => Array.from(each));
      for (const { log } of logs) await becomesReady(log);

      const stored = valuesOf(await allEntries(right.log, room));
      expect(stored.map(([rev]) => rev)).toEqual(stored.map((_, index) => index + 1));
      expect(new Map(stored)).toEqual(new Map(answers.map(([value, { rev }]) => [rev, value])));
      expect(told).toContain('leader_elected');
      // Live may have missed or repeated some, but never told another content.
      const byRev = new Map(stored);
      for (const [rev, value] of valuesOf(seen)) expect(value).toBe(byRev.get(rev));
      expect(lastRev(seen.at(-1) as Entry)).toBeLessThanOrEqual(stored.length);
      expect(outputs.flatMap((output) => output.about('history_lost'))).toEqual([]);
      following.stop();
      await observer.live.close();
      await observer.link.close();
    });
  }
});
