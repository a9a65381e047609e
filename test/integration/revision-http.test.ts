import { connect } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import type { Log } from '../../services/log/log.js';
import { startRevision } from '../../services/revision/main.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { openJetStreamLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { DisturbedLog, memoryLog, settings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

const ROOM = 'doc-1';
const PATH = `/v1/rooms/${ROOM}/revisions?format=ndjson`;
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function serving(
  log: Pick<Log, 'range' | 'heads' | 'snapshot' | 'status'>,
  limits: Partial<typeof settings> = {},
) {
  const service = await startRevision({
    settings: { ...settings, revisionDrainMs: 200, ...limits },
    log,
    logger: silentLogger,
    clock: systemClock,
  });
  cleanups.push(() => service.stop());
  return service;
}

/** A room of 48 MB, far more than a socket's buffers hold; and how often it is read. */
async function largeRoom() {
  const { log, store } = memoryLog();
  const data = Buffer.from(JSON.stringify('x'.repeat(240_000)));
  for (let rev = 1; rev <= 200; rev += 1) await log.append(ROOM, { revisions: [{ data }] });
  const source = new DisturbedLog(log);
  const status = () => log.status();
  const served = {
    range: source.range.bind(source),
    heads: source.heads.bind(source),
    snapshot: source.snapshot.bind(source),
    status,
  };
  return { served, source, store };
}

/** A client that asks for the stream, and reads only when it is told to. */
async function lazyReader(url: string) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  cleanups.push(async () => socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  return socket;
}

/** Resolves when the count has not changed for a while. */
async function settles(count: () => number): Promise<number> {
  let last = -1;
  let since = performance.now();
  await waitFor(
    () => {
      if (count() !== last) since = performance.now();
      last = count();
      return last > 0 && performance.now() - since > 300;
    },
    { timeoutMs: 20_000, what: 'nothing more is read' },
  );
  return last;
}

describe('the revision service over HTTP', () => {
  it('[R4] streams 5,000 revisions from a real log byte for byte, and a few as JSON', async () => {
    const server = await NatsServer.start();
    cleanups.push(() => server.dispose());
    const opened = await openJetStreamLog(server.url);
    cleanups.push(() => opened.close());
    const texts = Array.from(
      { length: 5_000 },
      (_, index) => `{"n":${index},"text":"é😀\\u00e9 ${'x'.repeat(index % 700)}"}`,
    );
    for (let from = 0; from < texts.length; from += 250) {
      const revisions = texts.slice(from, from + 250).map((text) => ({ data: Buffer.from(text), author: 'Zoë' }));
      await opened.log.append(ROOM, { revisions });
    }
    const service = await serving(opened.log);

    const response = await fetch(service.url + PATH);
    expect(response.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8');
    expect(response.headers.get('revcast-head')).toBe('5000');
    const lines = (await response.text()).split('\n');
    expect(lines.pop()).toBe('');
    expect(lines).toHaveLength(5_000);
    lines.forEach((line, index) => {
      const start = `{"rev":${index + 1},"tag":"`;
      expect(line.startsWith(start) && line.endsWith(`,"author":"Zoë","data":${texts[index]}}`)).toBe(true);
    });

    const json = await fetch(`${service.url}/v1/rooms/${ROOM}/revisions?from=4990`);
    const body = await json.text();
    expect(body).toContain(`"revisions":[${lines.slice(4_989).join(',')}],"head":{"epoch":`);
    expect(JSON.parse(body)).toMatchObject({ room: ROOM, head: { rev: 5_000 }, next: null });
    const status = await (await fetch(`${service.url}/v1/rooms/${ROOM}`)).json();
    expect(status).toMatchObject({ room: ROOM, rev: 5_000, firstRev: 1, epoch: response.headers.get('revcast-epoch') });
  });

  it('[R4] reads a stream on only as its reader takes it, and ends it whole', async () => {
    const { served, source } = await largeRoom();
    const service = await serving(served);
    const socket = await lazyReader(service.url);
    const pagesRead = await settles(() => source.asked.range);
    expect(pagesRead).toBeLessThan(60);
    let bytes = 0;
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      tail = (tail + chunk.toString('latin1')).slice(-20);
    });
    socket.resume();
    await once(socket, 'end');
    expect(bytes).toBeGreaterThan(48_000_000);
    expect(tail.endsWith('x"}\n\r\n0\r\n\r\n')).toBe(true);
    expect(source.asked.range).toBeGreaterThan(90);
  });

  it('[R4] cuts a stream whose reader takes nothing, and one whose reader is gone, and frees their places', async () => {
    const { served, source } = await largeRoom();
    const service = await serving(served, { revisionStallMs: 500, revisionHttpRequests: 1 });
    const status = async () => (await fetch(`${service.url}/v1/rooms/${ROOM}`)).status;
    const stalled = await lazyReader(service.url);
    await waitFor(() => source.asked.range > 0, { what: 'the stream is read' });
    expect(await status()).toBe(503);
    await waitFor(async () => (await status()) === 200, { timeoutMs: 20_000, what: 'the stalled stream is cut' });
    stalled.destroy();

    const gone = await lazyReader(service.url);
    const before = source.asked.range;
    await waitFor(() => source.asked.range > before, { what: 'the stream is read' });
    gone.destroy();
    await waitFor(async () => (await status()) === 200, { timeoutMs: 20_000, what: 'the place is free' });
  });

  it('[R4] a history that goes away under a stream leaves it cut, never ended as if it were whole', async () => {
    const { served, store, source } = await largeRoom();
    const service = await serving(served);
    const response = await fetch(service.url + PATH);
    const reader = response.body?.getReader();
    if (reader === undefined) throw new Error('there is a body');
    await reader.read();
    await settles(() => source.asked.range);
    store.removeHistory(ROOM);
    const readOn = async () => {
      while (!(await reader.read()).done);
    };
    await expect(readOn()).rejects.toThrow('terminated');
  });

  it('[R4] a stop cuts streams that do not end in time', async () => {
    const { served, source } = await largeRoom();
    const service = await serving(served);
    const socket = await lazyReader(service.url);
    await settles(() => source.asked.range);
    await service.stop();
    socket.resume();
    await once(socket, 'close');
    await expect(fetch(`${service.url}/healthz`)).rejects.toThrow('fetch failed');
  });
});
