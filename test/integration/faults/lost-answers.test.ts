/** Appends are stored, and their acknowledgements are lost on the way back to the producer. */
import { afterEach, expect, test } from 'vitest';
import { AnswerProxy } from '../../support/answer-proxy.js';
import { FaultScenario } from '../../support/fault-scenario.js';
import { NatsServer } from '../../support/nats-server.js';
import { Random, testSeed } from '../../support/random.js';

/** What the server says when it has stored an append. */
const ACKNOWLEDGEMENT = /^\{"stream":"REVISIONS", ?"seq":\d+/u;
const LOSS = 0.2;
const CUTS = 4;

const seed = testSeed();
let proxy: AnswerProxy | undefined;
let scenario: FaultScenario | undefined;

afterEach(async () => {
  await scenario?.dispose();
  await proxy?.stop();
});

test(`[L4] appends whose acknowledgement is lost are found by reading, never stored twice (seed ${seed})`, async () => {
  const random = new Random(seed + 2);
  const nats = await NatsServer.start();
  let loss = LOSS;
  proxy = await AnswerProxy.start(nats.port, (payload) => ACKNOWLEDGEMENT.test(payload) && random.chance(loss));
  const behindProxy = { nats: proxy.url, args: ['--log-request-timeout-ms', '300'] };
  const services = { 'producer-1': behindProxy, 'producer-2': behindProxy };
  scenario = await FaultScenario.start({ seed, name: 'lost answers', nats, services });
  await scenario.publishes(300);
  // The answers are lost together with the connection.
  for (let i = 0; i < CUTS; i += 1) {
    loss = 1;
    await new Promise((resolve) => setTimeout(resolve, random.whole(50, 400)));
    proxy.cut();
    loss = LOSS;
    await scenario.publishes(50);
  }
  scenario.joinLate(8);
  await scenario.allJoined();
  loss = 0;
  await scenario.verify();
  expect(proxy.swallowed).toBeGreaterThan(30);
  expect(scenario.told).toEqual({});
  // Within the deadline every outcome was found out.
  expect(Object.fromEntries(scenario.publisher.refusals)).toEqual({});
});
