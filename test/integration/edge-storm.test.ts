import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RangeQuery, RevisionReader } from '../../services/revision/contract.js';
import { RevisionService } from '../../services/revision/service.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { systemClock } from '../../services/shared/clock.js';
import { TestEdge } from '../support/edge.js';
import { revsFrom } from '../support/feed-parts.js';
import { PlainClient } from '../support/plain-client.js';
import { settings as revisionSettings } from '../support/revision-parts.js';

const CLIENTS = 200;
const POSITIONS = 20;
const PAGE = 100;
const ROOM = 'storm';

let edge: TestEdge;
const ranges: RangeQuery[] = [];

beforeAll(async () => {
  const store = new MemoryStore();
  const log = new MemoryLog({ clock: systemClock, store });
  const service = new RevisionService({ log, clock: systemClock, settings: revisionSettings });
  const reader: RevisionReader = {
    heads: (known) => service.heads(known),
    snapshot: (room) => service.snapshot(room),
    range(query) {
      ranges.push(query);
      return service.range(query);
    },
  };
  edge = await TestEdge.start({ store, reader, settings: { pageRevisions: PAGE, ringKeepRevisions: 20 } });
});

afterAll(async () => {
  await edge.stop();
});

it('[F21] clients that come back all at once get everything once, while revisions go on, for the distinct pages', async () => {
  const steady = await PlainClient.connect(edge.wsUrl);
  await steady.subscribe(ROOM);
  await edge.appendMany(ROOM, 900);
  await steady.upTo(ROOM, 900);
  const positions = Array.from({ length: POSITIONS }, (_, index) => 410 + 17 * index);
  const sinces = positions.map((rev) => {
    const entry = edge.store.entriesOf(ROOM)[rev - 1];
    if (entry === undefined) throw new Error(`no revision ${rev}`);
    return { epoch: entry.epoch, rev, tag: entry.tag };
  });
  const before = ranges.length;
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => PlainClient.connect(edge.wsUrl)));
  const joining = clients.map((client, index) => client.subscribe(ROOM, { since: sinces[index % POSITIONS] }));
  for (let i = 0; i < 60; i += 1) await edge.append(ROOM, `{"more":${i}}`);
  const last = await edge.append(ROOM, '{"last":true}');
  await Promise.all(joining);
  for (const [index, client] of clients.entries()) {
    expect(await client.upTo(ROOM, last.rev)).toEqual(revsFrom((positions[index % POSITIONS] ?? 0) + 1, last.rev));
  }
  expect(await steady.upTo(ROOM, last.rev)).toEqual(revsFrom(1, last.rev));
  const distinctPages = Math.ceil(last.rev / PAGE) - Math.floor(409 / PAGE);
  expect(ranges.length - before).toBeLessThanOrEqual(distinctPages + 5);
  for (const client of [steady, ...clients]) client.close();
});
