/** Credentials of a service that clients reach, in hands that they were not made for, on a whole cluster in containers. */
import { afterEach, expect, test } from 'vitest';
import { hintSubject, liveSubject, snapshotSubject, storedSubject } from '../../../services/log/subjects.js';
import { CLIENT_PORT } from '../../support/containers/nats-nodes.js';
import { ContainerScenario } from '../../support/containers/scenario.js';
import { BareUser } from '../../support/nats-users.js';
import { testSeed } from '../../support/random.js';

const seed = testSeed();
let scenario: ContainerScenario | undefined;

afterEach(async ({ task }) => {
  await scenario?.end(task.result?.state === 'fail');
});

test(`[A2] with an edge's credentials nothing can be appended, on any node, and nobody is given anything else (seed ${seed})`, async () => {
  scenario = await ContainerScenario.start({ name: 'credentials of an edge', seed });
  const { nats } = scenario.cluster;
  const subjects = scenario.rooms.flatMap((room) => [
    storedSubject(room),
    liveSubject(room),
    hintSubject(room),
    snapshotSubject(room),
  ]);
  const administration = ['CREATE', 'UPDATE', 'PURGE', 'DELETE', 'MSG.DELETE'].map(
    (verb) => `$JS.API.STREAM.${verb}.REVISIONS`,
  );
  for (const node of nats.nodes) {
    const edge = await BareUser.connect({ url: `nats://${node.address(CLIENT_PORT)}` }, 'edge');
    try {
      expect(await edge.mayPublish([...subjects, ...administration])).toEqual([]);
    } finally {
      await edge.close();
    }
  }
  await scenario.publishes(100);
  await scenario.verify();
});
