/**
 * The Etherpad source on a real Etherpad 1.8.14 (Engine.IO 3): what the room holds is compared with the pad's own HTTP
 * API, every changeset, every author, text and attributes. Not part of `make test`: `make etherpad` fetches it and runs this.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { MemoryLog } from '../../services/log/memory-log.js';
import { systemClock } from '../../services/shared/clock.js';
import { Changeset, newPool, PadText } from '../support/etherpad/changeset.js';
import { readPadRoom, startPadSource, type StartedPadSource } from '../support/etherpad/source-parts.js';
import { Random, testSeed } from '../support/random.js';
import { EtherpadServer } from './etherpad-server.js';
import { PadWriter } from './pad-writer.js';

const WAIT = { timeout: 60_000, interval: 200 };
const SEED = testSeed();
const EDITS = Number(process.env['EDITS'] ?? 150);

let server: EtherpadServer;
let log: MemoryLog;
let sources: StartedPadSource[];
let pads = 0;
let pad: string;

beforeAll(async () => {
  server = await EtherpadServer.start();
});
afterAll(() => server.dispose());

beforeEach(async () => {
  log = new MemoryLog({ clock: systemClock });
  sources = [];
  pads += 1;
  pad = `pad${pads}`;
  await server.api('createPad', { padID: pad, text: 'The beginning\nof a pad\n' });
});

afterEach(async () => {
  for (const { source } of sources) await source.stop();
  await log.close();
});

function follow(room = 'pad', name = pad): StartedPadSource {
  const started = startPadSource(server.url, log, {}, { pad: name, room });
  sources.push(started);
  return started;
}

interface Compared {
  readonly epoch: string;
  readonly revisions: number;
}

/** Compares room and pad until they agree; how many changesets were compared. */
async function untilSame(room = 'pad'): Promise<Compared> {
  const head = await server.head(pad);
  const held = await vi.waitFor(async () => {
    const found = await readPadRoom(log, room);
    expect((await log.heads([room])).get(room)?.rev).toBe(head);
    if (found === null) throw new Error('the room has not begun');
    return found;
  }, WAIT);
  const json = await server.pool(pad);
  const pool = newPool(json);
  let text: PadText | undefined;
  for (let rev = 0; rev <= head; rev += 1) {
    const changeset = await server.changeset(pad, rev);
    text ??= PadText.of(Changeset.makeAText('\n'), newPool().toJsonable());
    text.apply({ changeset, apool: json });
    const published = held.revisions[rev - held.firstRev - 1];
    if (rev <= held.firstRev) continue;
    const wire = Changeset.prepareForWire(changeset, pool);
    expect(published).toMatchObject({ rev, changeset: wire.translated });
    expect(published?.apool.numToAttrib).toEqual(wire.pool.toJsonable().numToAttrib);
    expect(published?.storedAuthor ?? '').toBe(published?.author);
  }
  expect(held.text.text).toBe(await server.text(pad));
  expect(held.text.content).toEqual(text?.content);
  return { epoch: held.epoch, revisions: held.revisions.length };
}

async function write(edits: number, random: Random): Promise<void> {
  const writer = await PadWriter.join(server.url, pad);
  try {
    for (let edit = 0; edit < edits; edit += 1) {
      await writer.edit(random);
      if (edit % 10 !== 9) continue;
      await server.api('appendText', { padID: pad, text: `over the API ${edit}\n` });
      await writer.reaches(await server.head(pad));
    }
  } finally {
    writer.leave();
  }
}

it(`[X1] [X3] every changeset of two authors and of the API is published, attributes too (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  await write(20, random);
  const { faults, lines } = follow();
  await untilSame();
  await write(EDITS, random);
  await server.api('setHTML', { padID: pad, html: '<b>bold</b> and <i>italic</i><br>next line' });
  const { revisions } = await untilSame();
  expect(revisions).toBeGreaterThan(EDITS);
  expect(faults).toEqual([]);
  expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  console.log(`compared with the pad's own API: ${revisions} changesets, text and attributes`);
}, 300_000);

it(`[X4] what was written while the server was restarted and the source was away is fetched (seed ${SEED})`, async () => {
  const random = new Random(SEED + 1);
  const { lines } = follow();
  await write(20, random);
  const { epoch } = await untilSame();
  await server.end('SIGTERM');
  await vi.waitFor(() => expect(lines.some(({ msg }) => msg === 'publishing waits')).toBe(true), WAIT);
  await server.start();
  await write(20, random);
  expect((await untilSame()).epoch).toBe(epoch);

  await sources[0]?.source.stop();
  await write(30, random);
  follow();
  await write(10, random);
  expect((await untilSame()).epoch).toBe(epoch);
}, 300_000);

it('[X6] a pad that was deleted and made again begins the room anew', async () => {
  follow();
  await write(20, new Random(SEED + 2));
  const { epoch } = await untilSame();
  await server.api('deletePad', { padID: pad });
  // The source asks for it again, and that makes it.
  const next = await vi.waitFor(async () => {
    const compared = await untilSame();
    expect(compared.epoch).not.toBe(epoch);
    return compared.epoch;
  }, WAIT);
  await write(10, new Random(SEED + 3));
  expect((await untilSame()).epoch).toBe(next);
}, 300_000);

it('[X6] a pad that lost its newest revisions in a crash begins anew, one that did not goes on', async () => {
  follow();
  await write(20, new Random(SEED + 4));
  await untilSame();
  // It writes its file a little later than it tells of an edit.
  await server.api('appendText', { padID: pad, text: 'the last words\n' });
  await server.end('SIGKILL');
  await server.start();
  const { epoch } = await untilSame();
  await write(10, new Random(SEED + 5));
  expect((await untilSame()).epoch).toBe(epoch);
}, 300_000);

it('[X5] two sources on one room, one by the read-only id, publish each revision once', async () => {
  const { readOnlyID } = (await server.api('getReadOnlyID', { padID: pad })) as { readOnlyID: string };
  const both = [follow(), follow('pad', readOnlyID)];
  await write(60, new Random(SEED + 6));
  expect((await untilSame()).revisions).toBeGreaterThan(0);
  for (const { faults } of both) expect(faults).toEqual([]);
}, 300_000);
