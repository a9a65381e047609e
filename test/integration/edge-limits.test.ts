/** How many clients an edge takes, how fast, and for how long: over each transport, as clients see it. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { TestEdge } from '../support/edge.js';
import { PadHistory } from '../support/etherpad/pad-history.js';
import { PadPage, PadRoom, RawViewer } from '../support/etherpad/viewers.js';
import { PlainClient } from '../support/plain-client.js';
import { RawClient } from '../support/raw-client.js';
import { SseClient } from '../support/sse-client.js';
import { waitFor } from '../support/wait-for.js';

const run = promisify(execFile);
const ETHERPAD = { etherpadRooms: 'pad:{pad}' };

let edge: TestEdge;
let closers: (() => void)[] = [];

beforeEach(() => {
  closers = [];
});

afterEach(async () => {
  for (const close of closers) close();
  await edge.stop();
});

/** How a handshake was answered that was refused. */
async function refusal(path: string): Promise<IncomingMessage> {
  const socket = new WebSocket(`ws://127.0.0.1:${edge.port}${path}`);
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  response.resume();
  return response;
}

function isBusy({ statusCode, headers }: IncomingMessage): void {
  expect(statusCode).toBe(503);
  expect(headers['retry-after']).toMatch(/^[1-5]$/u);
  expect(headers.connection).toBe('close');
}

async function connect(): Promise<PlainClient> {
  const client = await PlainClient.connect(edge.wsUrl);
  closers.push(() => {
    client.close();
  });
  return client;
}

describe('limits', () => {
  it('[Q4] over each transport a full edge answers 503 with Retry-After and ends the connection; /readyz says so', async () => {
    edge = await TestEdge.start({ settings: { ...ETHERPAD, maxSockets: 2 } });
    const first = await connect();
    await connect();
    isBusy(await refusal('/v1/ws'));
    isBusy(await refusal('/socket.io/?EIO=4&transport=websocket'));
    for (const path of ['/v1/sse?room=a', '/socket.io/?EIO=4&transport=polling']) {
      const { stdout } = await run('curl', ['-si', '--max-time', '10', `${edge.url}${path}`]);
      expect(stdout).toMatch(/^HTTP\/1\.1 503 /u);
      expect(stdout).toMatch(/^Retry-After: [1-5]\r$/imu);
      expect(stdout).toMatch(/^Connection: close\r$/imu);
      expect(stdout).toContain('"overloaded"');
    }
    const ready = await fetch(`${edge.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true, detail: 'full: 2 sockets' }]);
    expect(edge.edge.counters()).toMatchObject({ refusedFull: 4, refusedRate: 0, sockets: 2, socketsOpened: 2 });
    first.close();
    await waitFor(() => edge.edge.counters().sockets === 1, { what: 'a place' });
    await connect();
  });

  it('[Q4] more at once than the burst are refused, and the rest comes in at the rate', async () => {
    edge = await TestEdge.start({ settings: { acceptRate: 20, acceptBurst: 10 } });
    const begun = performance.now();
    const outcomes = await Promise.allSettled(Array.from({ length: 60 }, () => connect()));
    const tookS = (performance.now() - begun) / 1_000;
    const taken = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(taken).toBeGreaterThanOrEqual(10);
    expect(taken).toBeLessThanOrEqual(11 + Math.ceil(tookS * 20));
    expect(edge.edge.counters().refusedRate).toBe(60 - taken);
    let tries = 0;
    await waitFor(
      async () => {
        tries += 1;
        return connect().then(
          () => true,
          () => false,
        );
      },
      { what: 'a further one is taken' },
    );
    expect(tries).toBeGreaterThanOrEqual(1);
  });

  it('[Q4] a client that polls first is counted once', async () => {
    edge = await TestEdge.start({ settings: { ...ETHERPAD, acceptRate: 1, acceptBurst: 1 } });
    const response = await fetch(`${edge.url}/socket.io/?EIO=4&transport=polling`);
    const { sid } = JSON.parse((await response.text()).slice(1)) as { sid: string };
    const socket = new WebSocket(`ws://127.0.0.1:${edge.port}/socket.io/?EIO=4&transport=websocket&sid=${sid}`);
    closers.push(() => {
      socket.terminate();
    });
    await once(socket, 'open');
    expect((await fetch(`${edge.url}/socket.io/?EIO=4&transport=polling`)).status).toBe(503);
  });

  it('[Q5] the limit of open files is the most there is, and the process goes on answering', async () => {
    edge = await TestEdge.start({ openFiles: 70 });
    const clients = await Promise.all(Array.from({ length: 6 }, () => connect()));
    isBusy(await refusal('/v1/ws'));
    expect(await clients[0]?.request('ping')).toEqual({});
  });
});

describe('the age of connections', () => {
  it('[Q6] over each transport, the old are told to connect again, at ages that differ, and miss nothing', async () => {
    edge = await TestEdge.start({ settings: { ...ETHERPAD, maxConnectionAgeMs: 1_000, connectionAgeJitter: 40 } });
    const pad = new PadRoom(edge.log, new PadHistory());
    await pad.begin();
    const ages: number[] = [];
    const page = new PadPage(edge.url);
    const viewer = await RawViewer.connect(edge.port);
    closers.push(() => {
      page.close();
      viewer.destroy();
    });
    const aging = async () => {
      const client = await connect();
      const begun = performance.now();
      await client.subscribe('a');
      expect(await client.untilClosed()).toEqual({ code: 1012, reason: 'connected for long enough' });
      ages.push(performance.now() - begun);
    };
    const stream = await SseClient.open(`${edge.url}/v1/sse?room=a`);
    await Promise.all([...Array.from({ length: 30 }, aging), stream.untilEnded(), viewer.untilClosed()]);
    expect([stream.ended, stream.retries.length]).toEqual(['whole', 2]);
    expect(viewer.closed?.code).toBe(1012);
    expect(Math.min(...ages)).toBeGreaterThan(550);
    expect(Math.max(...ages) - Math.min(...ages)).toBeGreaterThan(200);
    pad.pad.append('w');
    await pad.publish();
    await waitFor(() => page.rev === pad.pad.head, { what: 'the page is at the head' });
    expect([page.faults, page.told.whole]).toEqual([[], 1]);
    expect(edge.edge.counters().socketsAged).toBeGreaterThanOrEqual(32);
  });

  it('[Q3] one that answers nothing, or does not read, is cut all the same', async () => {
    edge = await TestEdge.start({ settings: { maxConnectionAgeMs: 300, closeTimeoutMs: 400 } });
    const slow = await RawClient.upgraded(edge.port);
    slow.sendText('{"id":"1","method":"subscribe","params":{"room":"a"}}');
    await waitFor(() => slow.texts.length === 1, { what: 'the answer' });
    slow.socket.pause();
    for (let i = 0; i < 8; i += 1) await edge.append('a', JSON.stringify('x'.repeat(3_000_000)));
    await waitFor(() => edge.edge.counters().socketsCut === 1, { what: 'it is cut' });
    expect(edge.edge.counters()).toMatchObject({ sockets: 0, socketsAged: 1 });
    slow.destroy();
  });
});
