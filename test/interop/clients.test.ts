import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { slotsOf } from '../../services/edge/slot.js';
import { revisionJson } from '../../services/log/revision-json.js';
import type { EdgeSettings } from '../../services/edge/settings.js';
import { TestEdge } from '../support/edge.js';
import { revsFrom } from '../support/feed-parts.js';
import { interopClients, type Connection, type InteropClient } from '../support/interop-clients.js';
import { hasTool } from '../support/system-tool.js';
import { WireProxy } from '../support/wire-proxy.js';

const MIB = 1024 * 1024;
const LARGE_SIZES = [1, 2, 124, 125, 126, 127, 300, 1_000, 4_096, 15_700, 16_384, 20_000, 65_535, 65_536, 131_073, MIB];
const SMALL_ROOM = 'small é';
const LARGE_ROOM = 'large';
const IDS = 50;
/** Published when all are subscribed, in one turn of the event loop. */
const BURST = 20;

/** JSON text of about so many bytes: compressible, or not, of characters of one to four bytes, and all kinds of escapes. */
function dataOf(bytes: number, kind: number): string {
  if (bytes === 1) return String(kind % 10);
  if (bytes === 2) return '""';
  const pieces = ['x', 'é', '→✓', '😀', '\u2028', '\\u0000\\n\\"', 'a long word ', randomBytes(48).toString('base64')];
  let text = '';
  let left = bytes - 2;
  for (let index = kind; left > 0; index += 1) {
    const piece = kind % 3 === 2 ? randomBytes(48).toString('base64') : (pieces[index % pieces.length] ?? 'x');
    const used = Buffer.byteLength(piece) <= left ? piece : 'y'.repeat(left);
    text += used;
    left -= Buffer.byteLength(used);
  }
  return `"${text}"`;
}

/** Two connections for large messages, and one for each of 50 ids, every other one in batches. */
function connectionsOf(large: number, small: number): Connection[] {
  const ids = revsFrom(1, IDS).map((n) => (n % 3 === 0 ? n : `${'id é "\\ '.repeat(n % 10)}${n}`));
  return [
    { id: 'large', room: LARGE_ROOM, batch: false, count: large },
    { id: 'large in batches', room: LARGE_ROOM, batch: true, count: large },
    ...ids.map((id, index) => ({ id, room: SMALL_ROOM, batch: index % 2 === 1, count: small })),
  ];
}

/** The room's revisions as JSON text. */
function textsOf(edge: TestEdge, room: string): string[] {
  return edge.store
    .entriesOf(room)
    .flatMap((entry) => slotsOf(entry).map(({ revision }) => revisionJson(revision).toString()));
}

/** What is between the id and the end of each message, without the brackets of batches, joined as a batch would be. */
function insides(messages: readonly string[], { id, batch }: Connection): string {
  const before = `{"id":${JSON.stringify(id)},"data":${batch ? '[' : ''}`;
  const after = batch ? ']}' : '}';
  return messages
    .map((message) => {
      if (!message.startsWith(before) || !message.endsWith(after))
        throw new Error(`not of ${id}: ${message.slice(0, 200)}`);
      return message.slice(before.length, -after.length);
    })
    .join(',');
}

/** Runs all connections through one client, half of the revisions before they come and half afterwards. */
async function exchange(client: InteropClient, compress: boolean, settings: Partial<EdgeSettings>) {
  // A small ring, so that what is there already comes in pages.
  const edge = await TestEdge.start({ settings: { ringKeepRevisions: 2, ...settings } });
  const proxy = await WireProxy.start(edge.port);
  try {
    for (const [kind, bytes] of LARGE_SIZES.entries()) await edge.append(LARGE_ROOM, dataOf(bytes, kind));
    for (const n of revsFrom(1, 10)) await edge.append(SMALL_ROOM, dataOf(n * 100, n), dataOf(n, n + 1));
    const connections = connectionsOf(2 * LARGE_SIZES.length, 20 + BURST);
    const job = client.run({ url: `ws://127.0.0.1:${proxy.port}/v1/ws`, compress, connections });
    await job.ready;
    const before = edge.edge.counters();
    for (const [kind, bytes] of LARGE_SIZES.entries()) await edge.append(LARGE_ROOM, dataOf(bytes, kind + 1));
    await Promise.all(revsFrom(1, BURST).map((n) => edge.append(SMALL_ROOM, dataOf(n * 200, n))));
    const messages = await job.messages;
    const after = edge.edge.counters();
    return {
      connections,
      messages,
      offers: proxy.connections.map(({ offered, answered }) => ({ offered, answered })),
      wireBytes: proxy.connections.reduce((sum, { serverBytes }) => sum + serverBytes, 0),
      textBytes: messages.flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0),
      texts: new Map([LARGE_ROOM, SMALL_ROOM].map((room) => [room, textsOf(edge, room)])),
      serialized: after.bodiesSerialized,
      serializedLive: after.bodiesSerialized - before.bodiesSerialized,
      deflated: after.bodiesDeflated,
    };
  } finally {
    await proxy.stop();
    await edge.stop();
  }
}

/** A server may answer these to any offer. */
const ALWAYS_ALLOWED = new Set(['server_no_context_takeover', 'client_no_context_takeover']);

/** Whether the answer to an offer is one that RFC 7692 allows: what was offered, and nothing that was not. */
function isValidAnswer(offered: string | undefined, answered: string | undefined): boolean {
  if (answered === undefined) return true;
  const [name, ...parameters] = answered.split(';').map((part) => part.trim());
  const isOffered = offered?.split(',').some((offer) => offer.split(';')[0]?.trim() === 'permessage-deflate') === true;
  return isOffered && name === 'permessage-deflate' && parameters.every((parameter) => ALWAYS_ALLOWED.has(parameter));
}

const MODES: [string, boolean, Partial<EdgeSettings>][] = [
  ['compressed once', true, {}],
  ['everything compressed', true, { deflateMinSaving: 0 }],
  ['not compressed', false, {}],
];
/** For comparison only: with one client. */
const PER_SOCKET: (typeof MODES)[0] = ['compressed for each socket', true, { deflate: 'per-socket' }];

describe.each(interopClients().filter(({ name, tool }) => tool === undefined || hasTool(tool, `the tests of ${name}`)))(
  '$name',
  (client) => {
    afterAll(() => client.stop());

    it.each(client.name === 'ws' ? [...MODES, PER_SOCKET] : MODES)(
      '[W9] %s: every message byte for byte',
      async (_mode, compress, settings) => {
        const result = await exchange(client, compress, {
          ...settings,
          ...(!compress && !client.choosesCompression ? { deflate: 'off' } : {}),
        });
        for (const [index, connection] of result.connections.entries()) {
          const expected = result.texts.get(connection.room)?.join(',') ?? '';
          const got = insides(result.messages[index] ?? [], connection);
          // Not toEqual: a difference of megabytes could not be read.
          if (got !== expected) throw new Error(`connection ${connection.id}: ${firstDifference(got, expected)}`);
          if (!connection.batch) expect(result.messages[index]).toHaveLength(connection.count);
        }
        expect(result.offers).toHaveLength(IDS + 2);
        for (const { offered, answered } of result.offers) {
          expect(isValidAnswer(offered, answered)).toBe(true);
          expect(answered !== undefined).toBe(compress);
          expect(offered !== undefined).toBe(compress || !client.choosesCompression);
        }
        if (compress) {
          expect(result.deflated).toBeGreaterThan(0);
          if (settings.deflate === 'per-socket') expect(result.deflated).toBeGreaterThan(result.serialized);
          else expect(result.deflated).toBeLessThanOrEqual(result.serialized);
          expect(result.wireBytes).toBeLessThan(0.8 * result.textBytes);
        } else {
          expect(result.deflated).toBe(0);
          expect(result.wireBytes).toBeGreaterThanOrEqual(result.textBytes);
        }
        // What came live: a body for each revision, and for batches at most as many again; and all that once more in the
        // pages of clients that lag. Whatever the number of ids.
        expect(result.serializedLive).toBeLessThanOrEqual(4 * (LARGE_SIZES.length + BURST));
      },
    );
  },
);

function firstDifference(got: string, expected: string): string {
  let at = 0;
  while (got[at] === expected[at]) at += 1;
  return `at ${at} of ${expected.length} (${got.length}): ${JSON.stringify(got.slice(at, at + 40))} for ${JSON.stringify(expected.slice(at, at + 40))}`;
}
