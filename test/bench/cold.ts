/**
 * Reads in the middle of rooms that nobody has in memory: 1,000 rooms whose entries lie between each other, each asked once
 * for a range, with the `seq` hint and without it. By turns in each room, so that both meet the same mood of the machine
 * and of the server's own caches. Reads are requests to the server, at a real nats-server with its stream on disk.
 */
import type { BenchOptions } from './bench-options.js';
import { round } from './load/paired.js';
import { monotonicMs } from './load/monotonic.js';
import { Table } from './table.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const ROOMS = 1_000;
const QUICK_ROOMS = 150;
const REVISIONS = 10_000;
/** Revisions of an entry, as group commit makes them. */
const ENTRY = 100;
const MIDDLE = 5_001;
const LIMIT = 200;
const APPENDS_AT_ONCE = 64;
/** How the rooms grow: in proportion, late, early. */
const BENDS = [1, 3, 0.3, 2, 0.5] as const;

interface Row {
  readonly bench: 'cold';
  readonly rooms: number;
  readonly hint: boolean;
  /** Requests to the server, and the time, for all rooms. */
  readonly reads: number;
  readonly ms: number;
  readonly readsPerRange: number;
  readonly msPerRange: number;
}

/** `n`: rooms. */
export async function runCold({ n, json, quick }: BenchOptions): Promise<void> {
  const rooms = Array.from({ length: n ?? (quick ? QUICK_ROOMS : ROOMS) }, (_, index) => `cold ${index}`);
  const server = await NatsServer.start();
  const opened = await openJetStreamLog(server.url);
  try {
    const hints = await fill(opened, rooms);
    const reads = countReads(opened);
    const spent = { with: { ms: 0, reads: 0 }, without: { ms: 0, reads: 0 } };
    for (const [index, room] of rooms.entries()) {
      for (const way of index % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const)) {
        const [beforeMs, beforeReads] = [monotonicMs(), reads.count];
        await readMiddle(opened, room, way === 'with' ? hints.get(room) : undefined);
        spent[way].ms += monotonicMs() - beforeMs;
        spent[way].reads += reads.count - beforeReads;
      }
    }
    const table = newTable(json);
    for (const hint of [true, false]) table.add(row(rooms.length, hint, spent[hint ? 'with' : 'without']));
    table.end(`ranges of ${LIMIT} revisions in the middle of ${REVISIONS}, ${ENTRY} an entry`);
  } finally {
    await opened.close();
    await server.dispose();
  }
}

/**
 * Fills the rooms, whose entries lie between each other; some grow fast at first and others late, so that no room's middle
 * is found by proportion. Answers the seq of the entry right before each room's middle.
 */
async function fill({ log }: TestLog, rooms: readonly string[]): Promise<Map<string, number>> {
  const hints = new Map<string, number>();
  const entries = REVISIONS / ENTRY;
  const order = rooms.flatMap((room, index) => {
    const bend = BENDS[index % BENDS.length] ?? 1;
    return Array.from({ length: entries }, (_, at) => ({ room, at, due: (at / entries) ** bend }));
  });
  order.sort((one, other) => one.due - other.due);
  for (let done = 0; done < order.length; done += APPENDS_AT_ONCE) {
    const batch = order.slice(done, done + APPENDS_AT_ONCE);
    await Promise.all(
      batch.map(async ({ room, at }) => {
        const revisions = Array.from({ length: ENTRY }, (_, n) => ({ data: Buffer.from(`{"n":${at * ENTRY + n}}`) }));
        const appended = await log.append(room, { revisions });
        if (appended.rev === MIDDLE - 1) hints.set(room, appended.seq);
      }),
    );
  }
  return hints;
}

/** Counts what is asked of the server from now on. */
function countReads({ link }: TestLog): { readonly count: number } {
  const reads = { count: 0 };
  const request = link.requestMessage.bind(link);
  const publish = link.publish.bind(link);
  link.requestMessage = (...call) => {
    reads.count += 1;
    return request(...call);
  };
  link.publish = (...call) => {
    reads.count += 1;
    return publish(...call);
  };
  return reads;
}

async function readMiddle({ log }: TestLog, room: string, hint: number | undefined): Promise<void> {
  const options = { limit: LIMIT, maxBytes: 1e9, ...(hint === undefined ? {} : { hint }) };
  const range = await log.range(room, MIDDLE, options);
  const count = range.kind === 'entries' ? range.entries.flatMap(({ revisions }) => revisions).length : 0;
  if (count !== LIMIT) throw new Error(`room ${room}: ${range.kind}, ${count} revisions`);
}

function row(rooms: number, hint: boolean, { ms, reads }: { ms: number; reads: number }): Row {
  const perRange = (figure: number) => round(figure / rooms, 2);
  return {
    bench: 'cold',
    rooms,
    hint,
    reads,
    ms: round(ms, 0),
    readsPerRange: perRange(reads),
    msPerRange: perRange(ms),
  };
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['rooms', ({ rooms }) => String(rooms)],
    ['hint', ({ hint }) => (hint ? 'yes' : 'no')],
    ['reads', ({ reads }) => String(reads)],
    ['ms', ({ ms }) => String(ms)],
    ['reads a range', ({ readsPerRange }) => readsPerRange.toFixed(2)],
    ['ms a range', ({ msPerRange }) => msPerRange.toFixed(2)],
  ]);
}
