import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Appended, Log } from '../../services/log/log.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { startProducer, type RunningProducer } from '../../services/producer/main.js';
import type { ProducerSettings } from '../../services/producer/settings.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { testSettings } from '../support/producer-api.js';

const APPENDED: Appended = { epoch: 'e', firstRev: 1, rev: 1, tag: '0a0b0c0d', seq: 1, time: 1, duplicate: false };
const started: RunningProducer[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((producer) => producer.stop()));
});

const putSnapshot = () => Promise.reject(new Error('the test has no snapshots'));

async function start(
  options: {
    log?: Pick<Log, 'append' | 'heads' | 'status'>;
    settings?: Partial<ProducerSettings>;
  } = {},
): Promise<RunningProducer> {
  const log = options.log === undefined ? new MemoryLog({ clock: systemClock }) : { ...options.log, putSnapshot };
  const settings = testSettings(options.settings);
  const producer = await startProducer({ settings, log, logger: silentLogger, clock: systemClock });
  started.push(producer);
  return producer;
}

const publish = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/rooms/doc/revisions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Sends the bytes on one connection and answers all that comes back until it is closed. */
function raw(url: string, ...writes: (string | Buffer)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      for (const bytes of writes) socket.write(bytes);
    });
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => {
      resolve(received);
    });
  });
}

function post(body: string | Buffer, headers = ''): Buffer {
  const head = `POST /v1/rooms/doc/revisions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${headers}`;
  return Buffer.concat([Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n`), Buffer.from(body)]);
}

const statuses = (received: string) =>
  Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/gu), ([, status]) => Number(status));

describe('a running producer', () => {
  it('[P1] listens where it says, stores, and serves its document', async () => {
    const { url, appender } = await start();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/u);
    const response = await publish(url, { data: { a: [1, 'é'] }, key: 'k' });
    expect([response.status, await response.json()]).toMatchObject([201, { room: 'doc', rev: 1 }]);
    const second = await appender.append('doc', { revisions: [{ data: Buffer.from('2') }] });
    expect(second.rev).toBe(2);
    const document = await fetch(`${url}/openapi.json`);
    expect(document.headers.get('content-type')).toContain('application/json');
    expect(await document.json()).toMatchObject({ openapi: '3.1.0' });
  });

  it('[P1] tells why it cannot listen', async () => {
    const { url } = await start();
    const port = Number(new URL(url).port);
    await expect(start({ settings: { producerPort: port } })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: listen EADDRINUSE`,
    );
  });

  it('[P2] keeps the connection through every bad request, and nothing of them is stored', async () => {
    const { url } = await start({ settings: { producerMaxBodyBytes: 1_024 } });
    const received = await raw(
      url,
      post('{"data":'),
      post(Buffer.from([0x7b, 0xff])),
      post('[]'),
      post('{"data":1}', 'idempotency-key: a\r\nidempotency-key: b\r\n'),
      post(`{"data":"${'x'.repeat(5_000)}"}`),
      post(''),
      post('{"data":1}', 'connection: close\r\n'),
    );
    expect(statuses(received)).toEqual([400, 400, 400, 400, 413, 400, 201]);
    expect(received).toContain('"Idempotency-Key is given more than once"');
    expect(received).toContain('"rev":1,"firstRev":1');
  });

  it('[P2] answers what is not HTTP in its own error shape', async () => {
    const { url } = await start();
    const garbage = await raw(url, '\u0016\u0003\u0001 hello\r\n\r\n');
    expect(statuses(garbage)).toEqual([400]);
    expect(JSON.parse(garbage.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'invalid_request' } });
    const long = await raw(url, `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`);
    expect(statuses(long)).toEqual([431]);
    expect(long).toContain('"headers_too_large"');
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it('[P2] outlives clients that break off in the middle of a body', async () => {
    const { url } = await start();
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        return new Promise<void>((resolve) => {
          const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
            socket.write(post('{"data":12345}').subarray(0, -(i % 13) - 1), () => socket.resetAndDestroy());
          });
          socket.on('error', () => undefined);
          socket.on('close', () => {
            resolve();
          });
        });
      }),
    );
    const response = await publish(url, { data: 1 });
    expect(await response.json()).toMatchObject({ rev: 1 });
  });

  it('[P3] lets a client that sends far too much read the 413', async () => {
    const { url } = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = (bytes: number) =>
      new Promise<number>((resolve, reject) => {
        const headers = { 'content-type': 'application/json' };
        const path = `${url}/v1/rooms/doc/revisions`;
        const outgoing = request(path, { method: 'POST', headers, agent }, (response) => {
          response.resume().on('end', () => {
            resolve(response.statusCode ?? 0);
          });
        });
        outgoing.on('error', reject);
        outgoing.end(`{"data":${' '.repeat(bytes)}1}`);
      });
    expect([await send(20_000_000), await send(1_100_000), await send(1_000_000)]).toEqual([413, 413, 201]);
    agent.destroy();
  });

  it('[P7] of concurrent requests with one key stores one', async () => {
    const { url } = await start();
    const responses = await Promise.all(Array.from({ length: 30 }, () => publish(url, { data: 1, key: 'k' })));
    const answers = (await Promise.all(responses.map((response) => response.json()))) as Record<string, unknown>[];
    expect(answers.filter((answer) => answer['duplicate'] === false).length).toBe(1);
    expect(new Set(answers.map((answer) => answer['rev']))).toEqual(new Set([1]));
    expect(await (await publish(url, { data: 2 })).json()).toMatchObject({ rev: 2 });
  });
});

/** A log whose appends wait until they are answered. */
function heldLog() {
  const held: (() => void)[] = [];
  const append = () =>
    new Promise<Appended>((resolve) => {
      held.push(() => {
        resolve(APPENDED);
      });
    });
  return {
    held,
    log: { append, heads: () => Promise.resolve(new Map()), status: () => ({ state: 'ready' }) as const },
  };
}

describe('stopping', () => {
  it('[P11] finishes what is under way, and takes no new connection', async () => {
    const { held, log } = heldLog();
    const producer = await start({ log, settings: { producerDrainMs: 60_000 } });
    const under = publish(producer.url, { data: 1 });
    await vi.waitFor(() => expect(held.length).toBe(1), { timeout: 10_000 });
    const before = performance.now();
    const stop = producer.stop();
    await vi.waitFor(() => expect(fetch(`${producer.url}/healthz`)).rejects.toThrow('fetch failed'), {
      timeout: 10_000,
    });
    held[0]?.();
    expect((await under).status).toBe(201);
    await Promise.all([stop, producer.stop()]);
    // Well below the bound of 60 s: no kept-alive connection holds it up.
    expect(performance.now() - before).toBeLessThan(20_000);
  });

  it('[P11] answers a request whose head was still arriving with shutting_down', async () => {
    const { held, log } = heldLog();
    const producer = await start({ log, settings: { producerDrainMs: 60_000 } });
    const under = publish(producer.url, { data: 1 });
    await vi.waitFor(() => expect(held.length).toBe(1), { timeout: 10_000 });
    let received = '';
    const socket = connect(Number(new URL(producer.url).port), '127.0.0.1');
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    const closed = once(socket, 'close');
    const late = post('{"data":1}');
    // In one packet with a whole request, so that its answer says that the beginning has arrived too.
    socket.write(Buffer.concat([Buffer.from('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'), late.subarray(0, 20)]));
    await vi.waitFor(() => expect(statuses(received)).toEqual([200]), { timeout: 10_000 });
    const stop = producer.stop();
    socket.write(late.subarray(20));
    await closed;
    expect(statuses(received)).toEqual([200, 503]);
    expect(received).toMatch(/retry-after: 1\r\n[^]*"shutting_down"/u);
    held[0]?.();
    expect((await under).status).toBe(201);
    await stop;
    expect(held.length).toBe(1);
  });

  it('[P11] cuts what does not finish in time', async () => {
    const { held, log } = heldLog();
    const producer = await start({ log, settings: { producerDrainMs: 100 } });
    const cut = publish(producer.url, { data: 1 }).catch((error: unknown) => error);
    await vi.waitFor(() => expect(held.length).toBe(1), { timeout: 10_000 });
    await producer.stop();
    expect(await cut).toMatchObject({ message: 'fetch failed' });
  });
});
