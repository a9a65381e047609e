/**
 * The Etherpad source as operators run it: producers of the built program on a real nats-server, two on one pad, killed
 * and started again while the pad is written, and so is the NATS server and the pad's. The pad server is the stand-in.
 */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { logSettings } from '../../services/log/settings.js';
import { readSettings } from '../../services/shared/settings.js';
import { Cluster, type ServiceProcess } from '../support/cluster.js';
import { readPadRoom } from '../support/etherpad/source-parts.js';
import { EtherpadStandIn } from '../support/etherpad/stand-in.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { Random, testSeed } from '../support/random.js';

const WAIT = { timeout: 60_000, interval: 100 };
const SEED = testSeed();
const EDIT_EVERY_MS = 5;

let pads: EtherpadStandIn;
let cluster: Cluster;
let producers: ServiceProcess[];
let reader: TestLog;
let writing: NodeJS.Timeout | undefined;

beforeEach(async () => {
  pads = await EtherpadStandIn.start();
  cluster = await Cluster.create();
  const args = ['--etherpad-url', pads.url, '--etherpad-pads', 'notes', '--etherpad-snapshot-revisions', '100'];
  producers = [await cluster.add('producer', 'first', args), await cluster.add('producer', 'second', args)];
  await cluster.ready();
  reader = await openJetStreamLog(cluster.nats.url, { settings: readSettings(logSettings, {}, {}) });
});

afterEach(async () => {
  clearInterval(writing);
  await reader.close();
  await cluster.dispose();
  await pads.stop();
});

function write(random: Random): void {
  writing = setInterval(() => {
    pads.edit('notes', (pad) => pad.editAtRandom(random));
  }, EDIT_EVERY_MS);
}

/** Revisions that are in the room, once and in order, each as the pad has it; and the text at the end. */
async function untilRoomHoldsPad(): Promise<{ epoch: string; revisions: number }> {
  return vi.waitFor(async () => {
    const pad = pads.pad('notes');
    const room = await readPadRoom(reader.log);
    if (room === null) throw new Error('the room has not begun');
    const { epoch, firstRev, revisions, text } = room;
    expect(firstRev + revisions.length).toBe(pad.head);
    for (const { rev, changeset, author } of revisions) {
      const { changeset: expected, author: expectedAuthor } = pad.revision(rev);
      expect({ rev, changeset, author }).toEqual({ rev, changeset: expected, author: expectedAuthor });
    }
    expect(text.content).toEqual(pad.content);
    return { epoch, revisions: revisions.length };
  }, WAIT);
}

async function untilRoomIsAt(rev: number): Promise<void> {
  await vi.waitFor(async () => {
    const head = (await reader.log.heads(['pad:notes'])).get('pad:notes');
    expect(head?.rev).toBeGreaterThanOrEqual(rev);
  }, WAIT);
}

it(`[X4] [X5] producers, NATS and the pad server are killed by turns while the pad is written (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  await untilRoomIsAt(0);
  const { epoch } = await untilRoomHoldsPad();
  write(random);
  for (const producer of [...producers, ...producers]) {
    await untilRoomIsAt(pads.pad('notes').head);
    await producer.kill();
    await untilRoomIsAt(pads.pad('notes').head + 20);
    producer.start();
  }
  await cluster.nats.kill();
  const { head } = pads.pad('notes');
  await vi.waitFor(() => expect(pads.pad('notes').head).toBeGreaterThan(head + 50), WAIT);
  await cluster.nats.start();
  await untilRoomIsAt(pads.pad('notes').head);
  await pads.stop();
  await pads.listen();
  await untilRoomIsAt(pads.pad('notes').head);
  clearInterval(writing);
  const held = await untilRoomHoldsPad();
  expect(held.epoch).toBe(epoch);
  expect(held.revisions).toBeGreaterThan(150);
  // The snapshot came along.
  const snapshot = await reader.log.snapshot('pad:notes');
  expect(snapshot?.rev).toBeGreaterThan(100);
});
