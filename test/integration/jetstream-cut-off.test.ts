/** A leader that is cut off from the others of its group, and does not know it yet. Rule L18. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EntryStore } from '../../services/log/entry-store.js';
import { STREAM } from '../../services/log/subjects.js';
import { data, newRoom, one, rejection } from '../contract/harness.js';
import { becomesReady, startJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsCluster } from '../support/nats-cluster.js';
import { waitFor } from '../support/wait-for.js';

/** The server gives up leading when it has heard nobody for 10 s; until then it answers. */
const NOTICED_MS = 9_000;
const CONCLUSIVE = { confirmed: true, conclusive: true } as const;

let cluster: NatsCluster;
let leading: TestLog;
let store: EntryStore | undefined;

/** A log on the node that leads the stream. */
beforeAll(async () => {
  cluster = await NatsCluster.prepare();
  await cluster.start();
  const asking = startJetStreamLog(cluster.url, { settings: { logReplicas: 3 } });
  await becomesReady(asking.log);
  const answer = await asking.link.request(`$JS.API.STREAM.INFO.${STREAM}`, data({}), 5_000);
  const { cluster: group } = JSON.parse(Buffer.from(answer).toString()) as { cluster: { leader: string } };
  await asking.close();
  leading = startJetStreamLog(cluster.node(group.leader).url, {
    settings: { logReplicas: 3 },
    wrapStore: (wrapped) => (store = wrapped),
  });
  await becomesReady(leading.log);
});

afterAll(async () => {
  for (const node of cluster.nodes) node.resume();
  await leading.close();
  await cluster.dispose();
});

test('[L18] nothing is concluded from what a leader says that has not heard from most of its group, which still answers', async () => {
  if (store === undefined) throw new Error('the log has no store');
  const last = store.last.bind(store);
  const room = newRoom();
  await leading.log.append(room, one('a'));
  expect(await last(room, CONCLUSIVE)).toMatchObject({ firstRev: 1 });

  const leader = leading.link.connection?.getServer() ?? '';
  const cutOff = cluster.nodes.filter(({ url }) => !url.endsWith(leader));
  expect(cutOff).toHaveLength(2);
  await Promise.all(cutOff.map((node) => node.pause()));
  const pausedAt = performance.now();
  let told: unknown;
  await waitFor(
    async () => {
      // It still takes itself for the leader, and answers.
      expect(await last(room, { confirmed: true })).toMatchObject({ firstRev: 1 });
      told = await rejection(last(room, CONCLUSIVE)).catch(() => undefined);
      return told !== undefined;
    },
    { timeoutMs: NOTICED_MS, what: 'the leader is found to be out of touch' },
  );
  expect(performance.now() - pausedAt).toBeGreaterThan(1_000);
  expect(told).toMatchObject({ code: 'log_unavailable', retryable: true });

  for (const node of cutOff) node.resume();
  await waitFor(
    async () => {
      const entry = await last(room, CONCLUSIVE).catch(() => undefined);
      return entry?.firstRev === 1;
    },
    { timeoutMs: 30_000, what: 'a leader is in touch again' },
  );
});
