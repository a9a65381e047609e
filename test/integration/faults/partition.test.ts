/** The network between an edge and NATS is cut: nothing is refused, nothing is reset, nothing comes. */
import { afterEach, expect, test } from 'vitest';
import { mayMakeNamespaces } from '../../support/allowed.js';
import { FaultScenario } from '../../support/fault-scenario.js';
import { NatsServer } from '../../support/nats-server.js';
import { testSeed } from '../../support/random.js';
import { SilentNetwork } from '../../support/silent-network.js';

/** Shorter and longer than it takes an edge to notice (3 s). */
const CUTS_MS = [1_500, 8_000] as const;

const seed = testSeed();
const able = mayMakeNamespaces('the test of a network that is cut');
let network: SilentNetwork | undefined;
let scenario: FaultScenario | undefined;

afterEach(async () => {
  try {
    await scenario?.dispose();
  } finally {
    await network?.dispose();
  }
});

test.runIf(able)(
  `[D5] an edge that was cut off from NATS repairs what it missed, and its clients notice only the delay (seed ${seed})`,
  async () => {
    network = await SilentNetwork.create();
    const nats = await NatsServer.start({ host: network.natsHost });
    const services = { 'edge-1': { host: network.edgeHost, prefix: network.prefix } };
    scenario = await FaultScenario.start({ seed, name: 'partition', nats, services });
    for (const cutMs of CUTS_MS) {
      await scenario.publishes(100);
      await network.cut();
      const before = scenario.checker.received;
      await scenario.publishes(30);
      // The other edge's clients go on.
      expect(scenario.checker.received).toBeGreaterThan(before);
      for (const client of scenario.clients.slice(0, 10)) client.drop();
      await new Promise((resolve) => setTimeout(resolve, cutMs));
      await network.heal();
    }
    await scenario.publishes(100);
    scenario.joinLate(8);
    await scenario.allJoined();
    await scenario.verify();
    expect(scenario.told).toEqual({});
    expect(Object.fromEntries(scenario.publisher.refusals)).toEqual({});
    expect(scenario.checker.longestAbsence().behindMs).toBeGreaterThan(CUTS_MS[1] / 2);
  },
);
