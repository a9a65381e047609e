/**
 * One client that is 100,000 revisions behind, while its room goes on: revisions per second that it is given until it has
 * what was the head when it came, and the largest resident memory of edge and revision service meanwhile. Also half
 * as far behind, in processes of their own: that memory does not grow with the distance.
 */
import type { BenchOptions } from './bench-options.js';
import { Child } from './load/child.js';
import type { Position } from './load/herd.js';
import type { HerdApi } from './load/herd-client.js';
import { monotonicMs } from './load/monotonic.js';
import { round } from './load/paired.js';
import { payload } from './load/payload.js';
import type { EdgeOnNatsApi } from './servers/edge-on-nats.js';
import type { RevisionApi } from './servers/revision.js';
import { Table } from './table.js';
import { openJetStreamLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const REVISIONS = 100_000;
const QUICK_REVISIONS = 20_000;
const ROOM = 'deep';
const BYTES = 300;
/** Revisions of an entry, as group commit makes them. */
const ENTRY = 20;
const LIVE_PER_SECOND = 50;
const TIMEOUT_MS = 110_000;
const MS_PER_S = 1_000;

interface Row {
  readonly bench: 'deep';
  readonly revisions: number;
  readonly perSecond: number;
  readonly edgePeakMb: number;
  readonly revisionPeakMb: number;
  readonly edgeBeforeMb: number;
  readonly revisionBeforeMb: number;
  readonly logReads: number;
}

type Publish = (count: number) => Promise<Position>;

/** `n`: revisions. */
export async function runDeep({ n, json, quick }: BenchOptions): Promise<void> {
  const revisions = n ?? (quick ? QUICK_REVISIONS : REVISIONS);
  const table = newTable(json);
  const nats = await NatsServer.start();
  const opened = await openJetStreamLog(nats.url);
  const publish: Publish = async (count) => {
    const data = Array.from({ length: count }, () => ({ data: payload(BYTES) }));
    const { epoch, rev, tag } = await opened.log.append(ROOM, { revisions: data });
    return { epoch, rev, tag };
  };
  try {
    const positions: Position[] = [];
    for (let rev = 0; rev < revisions; rev += ENTRY) positions.push(await publish(ENTRY));
    for (const share of [0.5, 1]) {
      const from = positions[Math.round((1 - share) * (positions.length - 1))];
      if (from !== undefined) table.add(await catchUp(nats.url, publish, from));
    }
    table.end(`revisions of ${BYTES} bytes, ${ENTRY} an entry, one a message; ${LIVE_PER_SECOND}/s more meanwhile`);
  } finally {
    await opened.close();
    await nats.dispose();
  }
}

/** In new processes: a client that stands at `from` comes. */
async function catchUp(nats: string, publish: Publish, from: Position): Promise<Row> {
  const revision = Child.start<RevisionApi>(new URL('servers/revision.ts', import.meta.url));
  const edge = Child.start<EdgeOnNatsApi>(new URL('servers/edge-on-nats.ts', import.meta.url));
  const client = Child.start<HerdApi>(new URL('load/herd-client.ts', import.meta.url));
  try {
    await revision.call('start', { nats });
    const { port } = await edge.call('start', { nats });
    const { rev: headRev } = await publish(1);
    const what = { room: ROOM, batch: false, deflate: false, bytes: BYTES };
    await client.call('connect', { ...what, port, clients: 1, firstClient: 0, headRev });
    await client.call('dropAll', undefined);
    await edge.call('resetPeak', undefined);
    await revision.call('resetPeak', undefined);
    const [edgeBefore, revisionBefore] = [
      await edge.call('resident', undefined),
      await revision.call('resident', undefined),
    ];
    const reads = await revision.call('logReads', undefined);
    const live = { goesOn: true };
    const published = publishWhile(publish, () => live.goesOn);
    const startMs = monotonicMs();
    await client.call('reconnect', { positions: [from], headRev });
    const reachedMs = await client.call('reached', { rev: headRev, timeoutMs: TIMEOUT_MS }, TIMEOUT_MS * 2);
    const [edgeAfter, revisionAfter] = [
      await edge.call('resident', undefined),
      await revision.call('resident', undefined),
    ];
    live.goesOn = false;
    const last = await published;
    const { complete, holes, repeats } = await client.call('result', { rev: last.rev });
    if (complete !== 1 || holes > 0 || repeats > 0) throw new Error(`deep: ${holes} holes, ${repeats} repeats`);
    const revisions = headRev - from.rev;
    return {
      bench: 'deep',
      revisions,
      perSecond: round((revisions / (reachedMs - startMs)) * MS_PER_S, 0),
      edgePeakMb: round(edgeAfter.peakMb, 1),
      revisionPeakMb: round(revisionAfter.peakMb, 1),
      edgeBeforeMb: round(edgeBefore.nowMb, 1),
      revisionBeforeMb: round(revisionBefore.nowMb, 1),
      logReads: (await revision.call('logReads', undefined)) - reads,
    };
  } finally {
    await Promise.all([client.stop(), edge.stop(), revision.stop()]);
  }
}

/** One revision at a time; the position that the room then has. */
async function publishWhile(publish: Publish, isWanted: () => boolean): Promise<Position> {
  for (;;) {
    const position = await publish(1);
    if (!isWanted()) return position;
    await new Promise((resolve) => setTimeout(resolve, MS_PER_S / LIVE_PER_SECOND));
  }
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['revisions', ({ revisions }) => String(revisions)],
    ['per second', ({ perSecond }) => String(perSecond)],
    ['edge MB before', ({ edgeBeforeMb }) => String(edgeBeforeMb)],
    ['peak', ({ edgePeakMb }) => String(edgePeakMb)],
    ['revision service MB before', ({ revisionBeforeMb }) => String(revisionBeforeMb)],
    ['peak', ({ revisionPeakMb }) => String(revisionPeakMb)],
    ['log reads', ({ logReads }) => String(logReads)],
  ]);
}
