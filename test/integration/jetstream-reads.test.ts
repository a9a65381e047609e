/** What ranges of older revisions cost in requests, where many rooms interleave and entries have many revisions. */
import { afterEach, expect, test } from 'vitest';
import { lastRev, type Range } from '../../services/log/log.js';
import { STREAM } from '../../services/log/subjects.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const ROOMS = Array.from({ length: 20 }, (_, i) => `room-${i}`);
const ENTRIES = 30;
const ENTRY = 50;
/** The newest entry, the hinted one, two of the range, and the room for one step back. */
const FEW = 6;

let server: NatsServer | undefined;
let opened: TestLog | undefined;

afterEach(async () => {
  await opened?.close();
  await server?.dispose();
});

function revsOf(range: Range): number[] {
  if (range.kind !== 'entries') throw new Error(`the range is ${range.kind}`);
  return range.entries.flatMap((entry) => entry.revisions.map((_, i) => entry.firstRev + i));
}

test('[L7] a range of large entries is read with few requests where its hint is near, also if that is a little late', async () => {
  server = await NatsServer.start();
  opened = await openJetStreamLog(server.url);
  const { log, link } = opened;
  const seqs: number[] = [];
  const revisions = Array.from({ length: ENTRY }, () => ({ data: Buffer.from('1') }));
  for (let i = 0; i < ENTRIES; i += 1) {
    const stored = await Promise.all(ROOMS.map((room) => log.append(room, { revisions })));
    seqs.push(stored[7]?.seq ?? 0);
  }
  const sent = (): number => link.connection?.stats().outMsgs ?? 0;
  const from = 10 * ENTRY + 1;
  // The entry before the range, its first one, and one behind that.
  for (const hint of [seqs[9], seqs[10], seqs[12]]) {
    const before = sent();
    const range = await log.range('room-7', from, {
      limit: 2 * ENTRY,
      maxBytes: 1e9,
      ...(hint === undefined ? {} : { hint }),
    });
    expect(sent() - before).toBeLessThanOrEqual(FEW);
    expect(revsOf(range)).toEqual(Array.from({ length: 2 * ENTRY }, (_, i) => from + i));
  }
});

test('[L7] a hint behind what is kept finds the oldest kept, and small entries behind a large one are all read', async () => {
  server = await NatsServer.start();
  opened = await openJetStreamLog(server.url, { settings: { logMaxEntriesPerRoom: 60 } });
  const { log } = opened;
  const large = Array.from({ length: 1_000 }, () => ({ data: Buffer.from('1') }));
  const seqs: number[] = [];
  for (let i = 0; i < 40; i += 1) seqs.push((await log.append('doc', { revisions: large })).seq);
  for (let i = 0; i < 40; i += 1) seqs.push((await log.append('doc', { revisions: [{ data: Buffer.from('2') }] })).seq);
  const hint = seqs[21] ?? 0;
  const gone = await log.range('doc', 19_001, { limit: 10, maxBytes: 1e9, hint });
  expect(gone).toMatchObject({ kind: 'truncated', firstRev: 20_001 });
  const all = await log.range('doc', 39_001, { limit: 2_000, maxBytes: 1e9, hint: seqs[39] ?? 0 });
  expect(revsOf(all)).toEqual(Array.from({ length: 1_040 }, (_, i) => 39_001 + i));
  const [last] = all.kind === 'entries' ? all.entries.slice(-1) : [];
  expect(last === undefined ? 0 : lastRev(last)).toBe(40_040);
});

test('[L8] where a room’s newest entry was deleted alone, the one before is its head, and a new writer goes on behind it', async () => {
  server = await NatsServer.start();
  opened = await openJetStreamLog(server.url);
  const revisions = [{ data: Buffer.from('1') }];
  let seq = 0;
  let epoch = '';
  for (let i = 0; i < 3; i += 1) ({ seq, epoch } = await opened.log.append('doc', { revisions }));
  await opened.link.request(`$JS.API.STREAM.MSG.DELETE.${STREAM}`, Buffer.from(JSON.stringify({ seq })), 5_000);
  // The first look is the one that the server answers wrongly.
  expect((await opened.log.heads(['doc'])).get('doc')).toMatchObject({ epoch, rev: 2 });
  expect((await opened.log.heads(['none'])).get('none')).toBeNull();
  const other = await openJetStreamLog(server.url);
  expect(await other.log.append('doc', { revisions })).toMatchObject({ epoch, rev: 3 });
  await other.close();
});

test('[L8] where a room’s newest entry was deleted alone, a writer that is the first to look goes on behind the one before', async () => {
  server = await NatsServer.start();
  opened = await openJetStreamLog(server.url);
  const revisions = [{ data: Buffer.from('1') }];
  let seq = 0;
  let epoch = '';
  for (let i = 0; i < 3; i += 1) ({ seq, epoch } = await opened.log.append('doc', { revisions }));
  await opened.link.request(`$JS.API.STREAM.MSG.DELETE.${STREAM}`, Buffer.from(JSON.stringify({ seq })), 5_000);
  const other = await openJetStreamLog(server.url);
  expect(await other.log.append('doc', { revisions })).toMatchObject({ epoch, rev: 3 });
  await other.close();
});
