/** A revision service's memory on three nats-servers with three replicas, while the stream's leaders are killed: R5, R7. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { STREAM } from '../../services/log/subjects.js';
import { startRevision, type RunningRevision } from '../../services/revision/main.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { allEntries, data } from '../contract/harness.js';
import { becomesReady, startJetStreamLog, type TestLog } from '../support/jetstream.js';
import { keepAppending } from '../support/keep-appending.js';
import { NatsCluster } from '../support/nats-cluster.js';
import { settings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

const SETTINGS = { logReplicas: 3, appendDeadlineMs: 10_000, logRequestTimeoutMs: 1_000 };
const ROOMS = ['one', 'two', 'three', 'four'];
/** A leader that was killed is missed after some seconds only. */
const ELECTION_MS = 30_000;

let cluster: NatsCluster;
let writer: TestLog;
let followed: TestLog;
let service: RunningRevision;

beforeEach(async () => {
  cluster = await NatsCluster.prepare();
  writer = startJetStreamLog(cluster.url, { settings: SETTINGS });
  followed = startJetStreamLog(cluster.url, { settings: SETTINGS });
  const { log, link } = followed;
  service = await startRevision({ settings, log, whole: log, link, logger: silentLogger, clock: systemClock });
  await cluster.start();
  for (const { log: each } of [writer, followed]) await becomesReady(each);
});

afterEach(async () => {
  await service.stop();
  await followed.close();
  await writer.close();
  await cluster.dispose();
});

async function leader(): Promise<string> {
  const answer = await writer.link.request(`$JS.API.STREAM.INFO.${STREAM}`, data({}), 5_000);
  return (JSON.parse(Buffer.from(answer).toString()) as { cluster: { leader: string } }).cluster.leader;
}

/** Asks for heads and ranges until told to end: each head is at least what was acknowledged before it was asked for. */
async function keepAsking(acknowledged: ReadonlyMap<string, number>, until: { stop: boolean }): Promise<number> {
  let answered = 0;
  while (!until.stop) {
    const before = new Map(acknowledged);
    try {
      const heads = await service.reader.heads(ROOMS.map((room) => ({ room, position: null })));
      for (const { room, head } of heads) expect(head?.rev ?? 0).toBeGreaterThanOrEqual(before.get(room) ?? 0);
      const after = { epoch: '', rev: 0 };
      for (const room of ROOMS) {
        const answer = await service.reader.range({ room, after, limit: 1e6, maxBytes: 1e9 });
        const first = answer.kind === 'entries' ? (answer.entries[0]?.firstRev ?? 1) : -1;
        expect(first).toBe(1);
      }
      answered += 1;
    } catch (error) {
      // While there is no leader nothing is answered.
      expect(error).toMatchObject({ code: 'log_unavailable' });
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return answered;
}

test('[R5] [R7] heads from memory are never below what was acknowledged, over a leader that is killed', async () => {
  const acknowledged = new Map<string, number>();
  const until = { stop: false };
  const appending = ROOMS.map((room) =>
    keepAppending(
      {
        append: async (name, append) => {
          const appended = await writer.log.append(name, append);
          acknowledged.set(name, Math.max(appended.rev, acknowledged.get(name) ?? 0));
          return appended;
        },
      },
      room,
      room,
      until,
    ),
  );
  const asking = keepAsking(acknowledged, until);
  const total = (): number => [...acknowledged.values()].reduce((sum, rev) => sum + rev, 0);
  await waitFor(() => service.counters().headsConfirmed > 20, { timeoutMs: ELECTION_MS, what: 'heads from memory' });

  const killed = cluster.node(await leader());
  await killed.kill();
  const [atKill, confirmed] = [total(), service.counters().headsConfirmed];
  await waitFor(() => total() > atKill + 100, { timeoutMs: ELECTION_MS, what: 'appends go on' });
  await waitFor(() => service.counters().headsConfirmed > confirmed + 20, {
    timeoutMs: ELECTION_MS,
    what: 'heads from memory, under the new leader',
  });
  await killed.start();
  until.stop = true;
  await Promise.all(appending);
  expect(await asking).toBeGreaterThan(40);

  expect(service.counters().restarts).toBe(0);
  for (const room of ROOMS) {
    const stored = await allEntries(writer.log, room);
    const answer = await service.reader.range({ room, after: { epoch: '', rev: 0 }, limit: 1e6, maxBytes: 1e9 });
    const entries = answer.kind === 'entries' ? answer.entries : [];
    expect(entries.map(({ tag }) => tag)).toEqual(stored.slice(0, entries.length).map(({ tag }) => tag));
    expect(entries.length).toBeGreaterThan(0);
  }
});
