/** The stand-in of a pad server: what it says to the client package and to clients that resume, as recorded of Etherpad. */
import { createRequire } from 'node:module';
import type { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { clientReady } from '../../services/producer/sources/etherpad-messages.js';
import { SocketIoConnection } from '../../services/producer/sources/socket-io.js';
import { systemClock } from '../../services/shared/clock.js';
import { PadText, type AttributedText, type PoolJson } from '../support/etherpad/changeset.js';
import { EtherpadStandIn } from '../support/etherpad/stand-in.js';
import { Random, testSeed } from '../support/random.js';

const WAIT = { timeout: 20_000, interval: 20 };
const SEED = testSeed();

type PadClient = EventEmitter & { close?: () => void };
const require = createRequire(import.meta.url);
const { connect } = require('etherpad-cli-client') as { connect: (url: string) => PadClient };

interface Message {
  readonly type?: string;
  readonly disconnect?: string;
  readonly data?: { type?: string; newRev?: number; noChanges?: boolean; timeDelta?: number | null };
}

let server: EtherpadStandIn;
let cleanUps: (() => void)[];

beforeEach(async () => {
  cleanUps = [];
  server = await EtherpadStandIn.start();
});

afterEach(async () => {
  for (const cleanUp of cleanUps) cleanUp();
  await server.stop();
});

/** A client of our own; the messages that it is sent. */
function join(ready: unknown): Message[] {
  const messages: Message[] = [];
  const connection = new SocketIoConnection({
    url: new URL(`ws://127.0.0.1:${server.port}/socket.io/?padId=notes`),
    version: 4,
    timeoutMs: 5_000,
    clock: systemClock,
    onConnected: () => {
      connection.send(ready);
    },
    onMessage: (payload) => messages.push(payload as Message),
    onEnd: () => undefined,
  });
  cleanUps.push(() => {
    connection.close();
  });
  return messages;
}

async function untilFollowed(count: number): Promise<void> {
  await vi.waitFor(() => expect(server.followers).toBe(count), WAIT);
}

function told(messages: readonly Message[]): [string | undefined, number | undefined][] {
  return messages.map(({ data }) => [data?.type, data?.newRev]);
}

it(`[T5] etherpad-cli-client, unmodified, has the pad's text and attributes at the end (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  for (let edits = 0; edits < 20; edits += 1) server.edit('notes', (pad) => pad.editAtRandom(random));
  const client = connect(`${server.url}/p/notes`);
  cleanUps.push(() => client.close?.());
  let state: { atext: AttributedText; apool: { toJsonable(): PoolJson }; baseRev: number } | undefined;
  client.on('connected', (padState: typeof state) => (state = padState));
  await vi.waitFor(() => expect(state).toBeDefined(), WAIT);
  for (let edits = 0; edits < 200; edits += 1) server.edit('notes', (pad) => pad.editAtRandom(random));
  await vi.waitFor(() => expect(state?.baseRev).toBe(220), WAIT);
  if (state === undefined) throw new Error('it is connected');
  expect(PadText.of(state.atext, state.apool.toJsonable()).content).toEqual(server.pad('notes').content);
});

it('[T5] who resumes is sent what it missed, and the same once more at the next edit, the first without a timeDelta', async () => {
  for (let edits = 0; edits < 3; edits += 1) server.edit('notes', (pad) => pad.append('word '));
  const messages = join(clientReady('notes', 1));
  await untilFollowed(1);
  server.edit('notes', (pad) => pad.append('on '));
  await vi.waitFor(() => expect(messages).toHaveLength(5), WAIT);
  expect(told(messages)).toEqual([
    ['CLIENT_RECONNECT', 2],
    ['CLIENT_RECONNECT', 3],
    ['NEW_CHANGES', 2],
    ['NEW_CHANGES', 3],
    ['NEW_CHANGES', 4],
  ]);
  expect(messages.slice(2).map(({ data }) => data?.timeDelta === null)).toEqual([true, false, false]);
});

it('[T5] who resumes at the head is told that nothing changed; above the head there is silence, edits included', async () => {
  server.edit('notes', (pad) => pad.append('word '));
  const atHead = join(clientReady('notes', 1));
  const above = join(clientReady('notes', 7));
  await untilFollowed(2);
  for (let edits = 0; edits < 3; edits += 1) server.edit('notes', (pad) => pad.append('word '));
  await vi.waitFor(() => expect(told(atHead).at(-1)).toEqual(['NEW_CHANGES', 4]), WAIT);
  expect(atHead[0]?.data).toEqual({ type: 'CLIENT_RECONNECT', noChanges: true, newRev: 1 });
  expect(above).toEqual([]);
});

it('[T5] the same token again cuts the first off; one of a wrong length gets no access', async () => {
  const ready = clientReady('notes');
  const first = join(ready);
  await untilFollowed(1);
  join(ready);
  await vi.waitFor(() => expect(first.at(-1)).toEqual({ disconnect: 'userdup' }), WAIT);
  const refused = join({ ...ready, token: 't.abcde' });
  await vi.waitFor(() => expect(refused).toEqual([{ accessStatus: 'deny' }]), WAIT);
});
