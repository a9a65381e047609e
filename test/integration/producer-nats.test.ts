import { afterEach, describe, expect, it } from 'vitest';
import type { Log } from '../../services/log/log.js';
import { startProducer, type RunningProducer } from '../../services/producer/main.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { becomesReady, startJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { testSettings } from '../support/producer-api.js';
import { waitFor } from '../support/wait-for.js';

/** Well below the default, so that the test need not wait long, and above a reconnect's time. */
const DEADLINE_MS = 2_000;
/** What a loaded machine may add to the deadline. */
const SLACK_MS = 8_000;

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function producerOn(server: NatsServer): Promise<{ producer: RunningProducer; opened: TestLog }> {
  const opened = startJetStreamLog(server.url, { settings: { appendDeadlineMs: DEADLINE_MS } });
  cleanups.push(() => opened.close());
  const parts = { settings: testSettings(), log: opened.log, logger: silentLogger, clock: systemClock };
  const producer = await startProducer(parts);
  cleanups.push(() => producer.stop());
  return { producer, opened };
}

async function prepareServer(): Promise<NatsServer> {
  const server = await NatsServer.prepare();
  cleanups.push(() => server.dispose());
  return server;
}

interface Published {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly json: Readonly<Record<string, unknown>>;
}

async function publish(url: string, body: Readonly<Record<string, unknown>>): Promise<Published> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/v1/rooms/doc/revisions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    json: (await response.json()) as Record<string, unknown>,
  };
}

const ready = async (url: string) => (await fetch(`${url}/readyz`)).status === 200;

async function storedData(log: Log): Promise<unknown[]> {
  const range = await log.range('doc', 'first', { limit: 10_000, maxBytes: 100_000_000 });
  if (range.kind !== 'entries') return [];
  return range.entries.flatMap((entry) =>
    entry.revisions.map(({ data }) => JSON.parse(Buffer.from(data).toString()) as unknown),
  );
}

describe('a producer on a NATS server that goes and comes', () => {
  it('[P5] waits for a server that is not there yet: not ready, 503 at once or within the deadline', async () => {
    const server = await prepareServer();
    const { producer, opened } = await producerOn(server);
    expect(await ready(producer.url)).toBe(false);
    expect((await fetch(`${producer.url}/healthz`)).status).toBe(200);
    const before = performance.now();
    expect(await publish(producer.url, { data: 1 })).toMatchObject({
      status: 503,
      retryAfter: '2',
      json: { error: { code: 'log_unavailable' } },
    });
    expect(performance.now() - before).toBeLessThan(DEADLINE_MS + SLACK_MS);
    await server.start();
    await becomesReady(opened.log);
    expect(await ready(producer.url)).toBe(true);
    expect(await publish(producer.url, { data: 1 })).toMatchObject({ status: 201, json: { rev: 1 } });
  });

  it('[P5] answers 503 while it is killed; the same key later stores once, however often it is sent', async () => {
    const server = await prepareServer();
    await server.start();
    const { producer, opened } = await producerOn(server);
    await becomesReady(opened.log);
    const first = await publish(producer.url, { data: 'first' });
    expect(first.status).toBe(201);

    await server.kill();
    const before = performance.now();
    const refused = await publish(producer.url, { data: 'second', key: 'k' });
    expect(performance.now() - before).toBeLessThan(DEADLINE_MS + SLACK_MS);
    expect(refused).toMatchObject({ status: 503, retryAfter: '2' });
    await waitFor(async () => !(await ready(producer.url)), { what: 'the producer is not ready' });

    await server.start();
    await waitFor(() => ready(producer.url), { timeoutMs: 30_000, what: 'the producer is ready again' });
    const stored = await publish(producer.url, { data: 'second', key: 'k' });
    expect(stored).toMatchObject({ status: 201, json: { rev: 2, epoch: first.json['epoch'] } });
    const again = await publish(producer.url, { data: 'second', key: 'k' });
    expect(again).toMatchObject({ status: 201, json: { rev: 2, duplicate: true, tag: stored.json['tag'] } });
    expect(await storedData(opened.log)).toEqual(['first', 'second']);
  });

  it('[P5] killed and started under load: publishers that retry with their key store each revision once', async () => {
    const server = await prepareServer();
    await server.start();
    const { producer, opened } = await producerOn(server);
    await becomesReady(opened.log);
    const expected: string[] = [];
    let unanswered = 0;
    const publisher = async (name: string) => {
      for (let i = 0; i < 150; i += 1) {
        const data = `${name}.${i}`;
        expected.push(data);
        await waitFor(
          async () => {
            const { status } = await publish(producer.url, { data, key: data });
            if (status !== 201) unanswered += 1;
            return status === 201;
          },
          { timeoutMs: 60_000, what: `${data} is stored` },
        );
      }
    };
    const publishers = Promise.all(['a', 'b', 'c', 'd'].map(publisher));
    for (const atLeast of [100, 250]) {
      await waitFor(() => expected.length >= atLeast, { timeoutMs: 60_000, what: `${atLeast} revisions` });
      await server.kill();
      await waitFor(() => unanswered > 0, { timeoutMs: 30_000, what: 'a publisher is refused' });
      unanswered = 0;
      await server.start();
    }
    await publishers;
    const stored = await storedData(opened.log);
    expect(stored.length).toBe(600);
    expect(new Set(stored)).toEqual(new Set(expected));
    for (const name of ['a', 'b', 'c', 'd']) {
      const own = stored.filter((data) => String(data).startsWith(name));
      expect(own).toEqual(Array.from({ length: 150 }, (_, i) => `${name}.${i}`));
    }
  });
});
