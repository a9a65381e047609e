/** The Etherpad source on a real nats-server whose log loses what it had: all of a room, or its newest part. */
import { cp, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { STREAM, storedSubject } from '../../services/log/subjects.js';
import { readPadRoom, startPadSource, type StartedPadSource } from '../support/etherpad/source-parts.js';
import { EtherpadStandIn } from '../support/etherpad/stand-in.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { Random, testSeed } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

const WAIT = { timeout: 60_000, interval: 50 };
const SEED = testSeed();

let server: NatsServer;
let pads: EtherpadStandIn;
let logs: TestLog[];
let sources: StartedPadSource[];

beforeEach(async () => {
  server = await NatsServer.start();
  pads = await EtherpadStandIn.start();
  logs = [await openJetStreamLog(server.url), await openJetStreamLog(server.url), await openJetStreamLog(server.url)];
  // Two sources, each with a log of its own; the third is the test's.
  sources = logs.slice(1).map(({ log }) => startPadSource(pads.url, log));
  await untilRoomHoldsPad();
  await waitFor(() => pads.resumed === 2, { what: 'both sources follow the pad' });
});

afterEach(async () => {
  for (const { source } of sources) await source.stop();
  for (const log of logs) await log.close();
  await pads.stop();
  await server.dispose();
});

function reader(): TestLog {
  const [first] = logs;
  if (first === undefined) throw new Error('the logs are open');
  return first;
}

/** The room's epoch, once it holds all revisions of the pad from where it began, and the same text. */
async function untilRoomHoldsPad(): Promise<string> {
  return vi.waitFor(async () => {
    const pad = pads.pad('notes');
    const room = await readPadRoom(reader().log);
    if (room === null) throw new Error('the room has not begun');
    expect(room.firstRev + room.revisions.length).toBe(pad.head);
    for (const { rev, changeset } of room.revisions) expect(changeset).toBe(pad.revision(rev).changeset);
    expect(room.text.content).toEqual(pad.content);
    return room.epoch;
  }, WAIT);
}

async function edit(random: Random, count: number): Promise<void> {
  for (let edits = 0; edits < count; edits += 1) {
    pads.edit('notes', (pad) => pad.editAtRandom(random));
    if (edits % 5 === 4) await untilRoomHoldsPad();
  }
}

it(`[X13] a room whose history was removed begins anew with what the pad has (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  await edit(random, 20);
  const epoch = await untilRoomHoldsPad();
  const request = Buffer.from(JSON.stringify({ filter: storedSubject('pad:notes') }));
  await reader().link.request(`$JS.API.STREAM.PURGE.${STREAM}`, request, 5_000);
  await edit(random, 20);
  const next = await untilRoomHoldsPad();
  expect(next).not.toBe(epoch);
  await edit(random, 20);
  expect(await untilRoomHoldsPad()).toBe(next);
  for (const { faults } of sources) expect(faults).toEqual([]);
});

it(`[X13] a log that was rolled back gets what it lost once more, under one numbering (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  await edit(random, 10);
  const copy = path.join(server.directory, 'copy');
  await server.stop();
  await cp(server.storeDirectory, copy, { recursive: true });
  await server.start();
  await edit(random, 20);
  await server.kill();
  await rm(server.storeDirectory, { recursive: true });
  await cp(copy, server.storeDirectory, { recursive: true });
  await server.start();
  // Nobody edits the pad: the sources look by themselves.
  await untilRoomHoldsPad();
  // Both have met the loss when both have appended.
  await edit(random, 20);
  const epoch = await untilRoomHoldsPad();
  await edit(random, 20);
  expect(await untilRoomHoldsPad()).toBe(epoch);
  for (const { faults } of sources) expect(faults).toEqual([]);
});
