import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ReaderDouble } from '../support/edge-doubles.js';
import { TestEdge } from '../support/edge.js';
import { PlainClient } from '../support/plain-client.js';
import { handshake, RawClient, type HandshakeParts } from '../support/raw-client.js';
import { waitFor } from '../support/wait-for.js';

/** The example of RFC 6455, section 1.3. */
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=';

let edge: TestEdge;

beforeAll(async () => {
  edge = await TestEdge.start();
});

afterAll(async () => {
  await edge.stop();
});

async function answerTo(request: string): Promise<{ status: number; body: string; head: string }> {
  const client = await RawClient.open(edge.port, request);
  const answer = await client.answer();
  client.destroy();
  return answer;
}

function get(path: string, method = 'GET'): Promise<{ status: number; body: string; head: string }> {
  return answerTo(`${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`);
}

describe('handshakes', () => {
  it('[W8] a sound one is upgraded, by the key that it gave', async () => {
    const client = await RawClient.upgraded(edge.port, { 'Sec-WebSocket-Key': KEY });
    expect(client.header('sec-websocket-accept')).toBe(ACCEPT);
    expect([client.header('upgrade')?.toLowerCase(), client.header('connection')?.toLowerCase()]).toEqual([
      'websocket',
      'upgrade',
    ]);
    expect([client.header('sec-websocket-extensions'), client.header('sec-websocket-protocol')]).toEqual([
      undefined,
      undefined,
    ]);
    client.sendText('{"id":"1","method":"ping"}');
    await waitFor(() => client.texts.length > 0, { what: 'a pong' });
    expect(client.texts).toEqual(['{"id":"1","data":{}}']);
    client.destroy();
  });

  it('[W8] words of its headers in any case and company', async () => {
    const client = await RawClient.upgraded(edge.port, { Upgrade: 'WebSocket', Connection: 'keep-alive, uPgrade' });
    expect(client.status).toBe(101);
    client.destroy();
  });

  const REFUSED: [string, HandshakeParts, number, RegExp][] = [
    ['no key', { headers: { 'Sec-WebSocket-Key': '' } }, 400, /Sec-WebSocket-Key/u],
    ['a short key', { headers: { 'Sec-WebSocket-Key': 'abc' } }, 400, /Sec-WebSocket-Key/u],
    ['a key that is no base64', { headers: { 'Sec-WebSocket-Key': '*'.repeat(24) } }, 400, /Sec-WebSocket-Key/u],
    ['version 8', { headers: { 'Sec-WebSocket-Version': '8' } }, 426, /^Sec-WebSocket-Version: 13$/imu],
    ['no version', { headers: { 'Sec-WebSocket-Version': '' } }, 426, /^Sec-WebSocket-Version: 13$/imu],
    ['no Upgrade', { headers: { Upgrade: '' } }, 426, /^Upgrade: websocket$/imu],
    ['another Upgrade', { headers: { Upgrade: 'h2c' } }, 426, /^Upgrade: websocket$/imu],
    ['no Connection', { headers: { Connection: '' } }, 426, /^Upgrade: websocket$/imu],
    ['another Connection', { headers: { Connection: 'keep-alive' } }, 426, /^Upgrade: websocket$/imu],
    ['POST', { method: 'POST' }, 405, /^Allow: GET$/imu],
    ['another path', { path: '/ws' }, 404, /not_found/u],
    ['a path below', { path: '/v1/ws/x' }, 404, /not_found/u],
  ];
  it.each(REFUSED)('[W8] %s: refused, with what is wrong', async (_what, parts, status, says) => {
    const answer = await answerTo(handshake(parts));
    expect(answer.status).toBe(status);
    expect(`${answer.head}\n${answer.body}`).toMatch(says);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: expect.any(String) as string } });
  });

  it('[W8] a GET that is none: 426', async () => {
    const { status, body } = await get('/v1/ws');
    expect([status, body]).toEqual([426, expect.stringContaining('version 13')]);
  });

  it.each([
    ['HTTP/1.0', handshake({ version: '1.0' }), 505],
    ['no Host', handshake({ headers: { Host: '' } }), 400],
    ['no HTTP', 'hello\r\n\r\n', 505],
  ])('[W8] %s: refused and closed', async (_what, request, status) => {
    const client = await RawClient.open(edge.port, request);
    await waitFor(() => client.ended, { what: 'the end' });
    expect(client.status).toBe(status);
  });

  it('[W8] a connection that is cut in its handshake leaves nothing behind', async () => {
    for (const part of ['', 'GET /v1', 'GET /v1/ws HTTP/1.1\r\nHost: a\r\nUpg']) {
      const socket = connect(edge.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write(part);
      socket.destroy();
    }
    await waitFor(() => edge.edge.counters().sockets === 0, { what: 'no sockets' });
    expect((await get('/healthz')).status).toBe(200);
  });
});

describe('compression', () => {
  it.each([
    ['permessage-deflate', 'permessage-deflate'],
    ['permessage-deflate; client_max_window_bits', 'permessage-deflate'],
    ['permessage-deflate; server_no_context_takeover; client_no_context_takeover', 'permessage-deflate'],
    ['permessage-deflate; server_max_window_bits=10, permessage-deflate', 'permessage-deflate'],
    ['permessage-deflate; server_max_window_bits=10', undefined],
    ['permessage-deflate; client_max_window_bits=99', undefined],
    ['permessage-deflate; unknown', undefined],
    ['x-webkit-deflate-frame', undefined],
    ['permessage-deflate; =', undefined],
  ])('[W9] %s: %s', async (offer, accepted) => {
    const client = await RawClient.upgraded(edge.port, { 'Sec-WebSocket-Extensions': offer });
    const answer = client.header('sec-websocket-extensions');
    // Both no_context_takeover parameters may be answered to any offer.
    const [name, ...parameters] = (answer ?? '').split(';').map((part) => part.trim());
    expect(name === '' ? undefined : name).toBe(accepted);
    const allowed = new Set(['client_no_context_takeover', 'server_no_context_takeover']);
    expect(parameters.filter((parameter) => !allowed.has(parameter))).toEqual([]);
    client.destroy();
  });

  it('[W9] several header lines are one offer', async () => {
    const request = handshake({
      headers: { 'Sec-WebSocket-Extensions': 'permessage-deflate; server_max_window_bits=9' },
    });
    const twice = request.replace('\r\n\r\n', '\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n');
    const client = await RawClient.open(edge.port, twice);
    await waitFor(() => client.head !== '', { what: 'an answer' });
    expect(client.header('sec-websocket-extensions')).toMatch(/^permessage-deflate/u);
    client.destroy();
  });

  it('[W9] EDGE_DEFLATE=off, and a build that cannot: never', async () => {
    for (const options of [{ settings: { deflate: 'off' as const } }, { compressOnce: () => Promise.resolve(false) }]) {
      const off = await TestEdge.start(options);
      const client = await PlainClient.connect(off.wsUrl, { perMessageDeflate: true });
      expect(client.ws.extensions).toBe('');
      await client.subscribe('a');
      await off.append('a', JSON.stringify('x'.repeat(5_000)));
      expect(await client.upTo('a', 1)).toEqual([1]);
      await off.stop();
    }
  });

  it('[W9] a compressed message from the client is understood', async () => {
    const client = await PlainClient.connect(edge.wsUrl, { perMessageDeflate: { threshold: 0 } });
    expect(client.ws.extensions).toBe('permessage-deflate');
    expect(await client.request('ping', { text: 'x'.repeat(3_000) })).toEqual({});
    client.close();
  });
});

describe('limits', () => {
  it('[W10] beyond its sockets an edge answers 503 with Retry-After, and takes others when some have gone', async () => {
    const small = await TestEdge.start({ settings: { maxSockets: 2 } });
    const clients = [await PlainClient.connect(small.wsUrl), await PlainClient.connect(small.wsUrl)];
    const refused = await RawClient.open(small.port, handshake());
    const { status, head, body } = await refused.answer();
    expect([status, JSON.parse(body)]).toEqual([
      503,
      { error: expect.objectContaining({ code: 'overloaded' }) as object },
    ]);
    expect(head).toMatch(/^Retry-After: [1-5]$/imu);
    clients[0]?.close();
    await waitFor(() => small.edge.counters().sockets === 1, { what: 'a place' });
    const next = await PlainClient.connect(small.wsUrl);
    expect(await next.request('ping')).toEqual({});
    await small.stop();
  });

  it('[W10] a port that is taken is said, and nothing is left running', async () => {
    await expect(TestEdge.start({ settings: { port: edge.port } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});

describe('health', () => {
  it('[H1] healthz says that it runs, readyz that the log answers; other paths and methods do not exist', async () => {
    expect(await get('/healthz')).toMatchObject({ status: 200, body: '{"ok":true}' });
    expect(await get('/readyz')).toMatchObject({ status: 200, body: '{"ready":true,"detail":""}' });
    expect((await get('/')).status).toBe(404);
    expect((await get('/v2/ws')).status).toBe(404);
  });

  it('[H1] not ready, with the reason, while the log does not answer; ready when it does; WebSockets are taken all the same', async () => {
    const reader = new ReaderDouble(edge.store);
    const other = await TestEdge.start({ reader });
    const ready = async () => {
      const response = await fetch(`${other.url}/readyz`);
      return { status: response.status, body: (await response.json()) as { detail: string } };
    };
    reader.unavailable = true;
    expect(await ready()).toEqual({
      status: 503,
      body: { ready: false, detail: expect.stringContaining('nobody answers') as string },
    });
    const client = await PlainClient.connect(other.wsUrl);
    expect((await client.subscribe('a')).error?.code).toBe('log_unavailable');
    reader.unavailable = false;
    await waitFor(async () => (await ready()).status === 200, { what: 'ready again' });
    expect((await client.subscribe('a')).subscribed).toBe(true);
    await other.stop();
  });
});
