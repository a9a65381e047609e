/** The image by itself: what is in it, who it runs as, and that its process 1 behaves as one. */
import { Network, type StartedNetwork } from 'testcontainers';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { engine, image, testName, sweep } from '../../support/containers/engine.js';
import { status, TestContainer } from '../../support/containers/test-container.js';
import { waitFor } from '../../support/wait-for.js';

const MB = 1_000_000;
const MAX_MB_OVER_BASE = 80;
const HEALTH_MS = 30_000;
const HEALTH_CHECK = ['node', '/app/health.mjs'];

let network: StartedNetwork;
let container: TestContainer | undefined;

beforeAll(async () => {
  await sweep();
  network = await new Network({ nextUuid: testName }).start();
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') console.info(await container?.log());
  await container?.remove();
  container = undefined;
});

afterAll(async () => {
  await network.stop();
});

async function start(
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
  port = 8080,
): Promise<TestContainer> {
  const name = command[0] ?? '';
  container = await TestContainer.start({
    name,
    image: image('REVCAST_IMAGE'),
    network,
    command,
    env,
    ports: [port, 8081],
    startedPath: '/healthz',
    readOnly: true,
  });
  return container;
}

async function imageSize(name: string): Promise<number> {
  const { dockerode } = (await engine()).container;
  return (await dockerode.getImage(name).inspect()).Size;
}

test('[I1] the image is at most 80 MB larger than its base', async () => {
  const overBase = (await imageSize(image('REVCAST_IMAGE'))) - (await imageSize(image('BASE')));
  console.info(`the image is ${(overBase / MB).toFixed(1)} MB over its base`);
  expect(overBase).toBeLessThanOrEqual(MAX_MB_OVER_BASE * MB);
});

test('[I1] it has one build of uWebSockets.js, and runs on Node 24 and Debian 13 as nobody in particular', async () => {
  const edge = await start(['edge'], { NATS_URL: 'nats://nowhere.invalid:4222' });

  expect((await edge.exec(['node', '--version'])).output).toMatch(/^v24\./u);
  expect((await edge.exec(['cat', '/etc/debian_version'])).output).toMatch(/^13/u);
  expect((await edge.exec(['id', '-u'])).output.trim()).toBe('10001');
  const builds = (await edge.exec(['sh', '-c', 'ls /app/node_modules/uWebSockets.js/*.node'])).output
    .trim()
    .split('\n');
  expect(builds).toHaveLength(1);
  expect(await edge.log()).not.toContain('cannot send what was compressed once');
});

test('[I2] a container is healthy while its service serves, also where its log cannot be reached', async () => {
  const edge = await start(['edge', '--edge-port', '8090'], { NATS_URL: 'nats://nowhere.invalid:4222' }, 8090);

  expect(await status(`${edge.url}/readyz`)).toBe(503);
  await waitFor(async () => (await edge.health()) === 'healthy', { timeoutMs: HEALTH_MS, what: 'it is healthy' });
  await edge.signal('SIGSTOP');
  expect((await edge.exec(HEALTH_CHECK)).exitCode).not.toBe(0);
  await edge.signal('SIGCONT');
  expect((await edge.exec(HEALTH_CHECK)).exitCode).toBe(0);
});

test('[I3] SIGTERM to process 1 drains: what is queued is delivered, clients are told to reconnect, the exit code is 0', async () => {
  const dev = await start(['dev']);
  const messages: string[] = [];
  const socket = new WebSocket(`${dev.url.replace('http', 'ws')}/v1/ws`);
  const closed = new Promise<number>((resolve) => {
    socket.on('close', resolve);
  });
  socket.on('open', () => {
    socket.send('{"id":"1","method":"subscribe","params":{"room":"doc"}}');
  });
  socket.on('message', (message: Buffer) => messages.push(message.toString()));
  await waitFor(() => messages.length === 1, { what: 'the subscribe is answered' });
  const answer = await fetch(`http://${dev.address(8081)}/v1/rooms/doc/revisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"data":{"text":"last"}}',
  });
  expect(answer.status).toBe(201);

  expect(await dev.stop()).toBe(0);
  expect(await closed).toBe(1012);
  expect(messages).toHaveLength(2);
  expect(messages[1]).toContain('"data":{"text":"last"}');
});
