/** The Socket.IO connection against a WebSocket server that says exactly what the test has it say. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { SocketIoConnection, type EngineVersion } from '../../services/producer/sources/socket-io.js';
import { systemClock } from '../../services/shared/clock.js';

const WAIT = { timeout: 10_000, interval: 10 };
const OPEN = '0{"sid":"x","upgrades":[],"pingInterval":25000,"pingTimeout":20000}';

let server: WebSocketServer;
let heard: string[];
let requested: string[];
let events: unknown[];
let connection: SocketIoConnection;

beforeEach(async () => {
  heard = [];
  requested = [];
  events = [];
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
});

afterEach(async () => {
  connection.close();
  for (const socket of server.clients) socket.terminate();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

/** Connects; the server begins with `greeting` and answers what `answer` says. */
function connect(
  greeting: readonly string[],
  options: {
    version?: EngineVersion;
    timeoutMs?: number;
    answer?: (packet: string, socket: WebSocket) => void;
  } = {},
): void {
  server.on('connection', (socket, request) => {
    requested.push(request.url ?? '');
    socket.on('message', (data: Buffer) => {
      heard.push(data.toString());
      options.answer?.(data.toString(), socket);
    });
    for (const packet of greeting) socket.send(packet);
  });
  connection = new SocketIoConnection({
    url: new URL(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/socket.io/?padId=a%20b`),
    version: options.version,
    timeoutMs: options.timeoutMs ?? 2_000,
    clock: systemClock,
    onConnected: (version) => events.push({ connected: version }),
    onMessage: (payload) => events.push({ message: payload }),
    onEnd: (reason) => events.push({ ended: reason }),
  });
}

function accept(packet: string, socket: WebSocket): void {
  if (packet === '40') socket.send('40{"sid":"y"}');
}

function pong(packet: string, socket: WebSocket): void {
  if (packet === '2') socket.send('3');
}

async function untilTold(event: unknown): Promise<void> {
  await vi.waitFor(() => expect(events).toContainEqual(event), WAIT);
}

it('[X8] a server of the older kind greets unasked, and is sent no greeting of ours', async () => {
  connect([OPEN, '40']);
  await untilTold({ connected: 3 });
  connection.send({ a: 1 });
  await vi.waitFor(() => expect(heard).toEqual(['42["message",{"a":1}]']), WAIT);
  expect(requested).toEqual(['/socket.io/?padId=a+b&EIO=4&transport=websocket']);
});

it('[X8] a server of the newer kind waits for the greeting', async () => {
  connect([OPEN], { answer: accept });
  await untilTold({ connected: 4 });
  expect(heard).toEqual(['40']);
});

it('[X8] a server that was of the newer kind and now is of the older one is spoken to as such', async () => {
  connect([OPEN, '40'], { version: 4 });
  await untilTold({ connected: 3 });
  expect(events).toHaveLength(1);
});

it('[X8] the newer kind’s pings are answered, the older kind is pinged', async () => {
  connect([OPEN, '40', '2probe']);
  await vi.waitFor(() => expect(heard).toContain('3probe'), WAIT);
  connection.close();
  heard = [];
  server.removeAllListeners('connection');
  connect(['0{"pingInterval":60,"pingTimeout":2000}', '40'], { answer: pong });
  await vi.waitFor(() => expect(heard.filter((packet) => packet === '2').length).toBeGreaterThan(3), WAIT);
  expect(events).not.toContainEqual({ ended: expect.anything() as string });
});

it.each([
  ['that never says anything', [], /not connected within 300 ms/u],
  ['that never greets', [OPEN], /not connected within 300 ms/u],
])('[X8] a server %s is given up', async (_name, greeting, reason) => {
  connect(greeting, { timeoutMs: 300 });
  await untilTold({ ended: expect.stringMatching(reason) as string });
});

it('[X8] a server that stops pinging, though its WebSocket lives, is given up', async () => {
  connect(['0{"pingInterval":50,"pingTimeout":100}'], { answer: accept });
  await untilTold({ connected: 4 });
  await untilTold({ ended: 'the server no longer pings' });
  expect(events).toHaveLength(2);
});

it('[X8] a server that is silent, WebSocket pings included, is given up', async () => {
  connect([OPEN], { answer: accept, timeoutMs: 300 });
  await untilTold({ connected: 4 });
  for (const socket of server.clients) socket.pause();
  await untilTold({ ended: 'no sign of life for 300 ms' });
  expect(events).toHaveLength(2);
});

it.each([
  ['no Engine.IO packet', ['x'], /no Engine.IO packet/u],
  ['an empty message', [''], /no Engine.IO packet/u],
  ['an open packet without times', ['0{"sid":"x"}'], /open packet/u],
  ['an open packet that is not JSON', ['0{'], /open packet/u],
  ['a second open packet', [OPEN, OPEN], /open packet/u],
  ['an event that is not JSON', [OPEN, '40', '42["message",'], /event that is none/u],
  ['an event without a name', [OPEN, '40', '42[]'], /event that is none/u],
  ['a refusal', [OPEN, '44{"message":"no"}'], /refused by the server/u],
  ['a disconnect', [OPEN, '40', '41'], /disconnected by the server/u],
  ['a close', [OPEN, '1'], /closed by the server/u],
])('[X9] %s ends the connection, once', async (_name, greeting, reason) => {
  connect(greeting);
  await untilTold({ ended: expect.stringMatching(reason) as string });
  connection.close();
  for (const socket of server.clients) socket.send('42["message",1]');
  expect(events.filter((event) => Object.hasOwn(event as object, 'ended'))).toHaveLength(1);
});

it('[X9] other events, acknowledgements and binary frames are passed over', async () => {
  connect([OPEN, '40', '42["other",1]', '430[]', '6', '4217["message",{"n":1}]', '42["message"]']);
  for (const socket of server.clients) socket.send(Buffer.from([1, 2]));
  await untilTold({ message: undefined });
  expect(events).toEqual([{ connected: 3 }, { message: { n: 1 } }, { message: undefined }]);
});
