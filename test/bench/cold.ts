/**
 * Rooms that nobody has read for long: each is asked once for a range in the middle of its history, which interleaves
 * with that of all the others, with the seq of an entry before it as a hint, and without one. Counted are the messages
 * that the revision service sends to NATS meanwhile, all but its answers: what its reads of the log cost.
 * Each row is of a service that was just started: it holds the heads, and none of what it is asked for.
 */
import type { BenchOptions } from './bench-options.js';
import { Child } from './load/child.js';
import { monotonicMs } from './load/monotonic.js';
import { round } from './load/paired.js';
import type { RevisionApi } from './servers/revision.js';
import { Table } from './table.js';
import type { Log } from '../../services/log/log.js';
import type { ClientPosition, RevisionReader } from '../../services/revision/contract.js';
import { RevisionClient, revisionClientSettings } from '../../services/revision/rpc-client.js';
import { systemClock } from '../../services/shared/clock.js';
import { readSettings } from '../../services/shared/settings.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const ROOMS = 1_000;
const QUICK_ROOMS = 200;
const REVISIONS = 10_000;
/** Revisions of an entry, as group commit makes them under load. */
const ENTRY = 100;
/** Asked for of each room, behind the middle. */
const LIMIT = 200;
const MAX_BYTES = 512 * 1024;
/** Requests under way at once. */
const ASKERS = 16;
/** How the rooms grow: in proportion, late, early. */
const BENDS = [1, 3, 0.3, 2, 0.5] as const;
const APPENDS_AT_ONCE = 256;
const TIMEOUT_MS = 10_000;
const STEADY_MS = 100;

interface Row {
  readonly bench: 'cold';
  readonly rooms: number;
  readonly hint: boolean;
  /** Messages to NATS for the log. */
  readonly reads: number;
  /** Until all were answered. */
  readonly ms: number;
  readonly readsPerRoom: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Where a room is asked: a position in the middle of it, and the seq of its entry. */
interface Middle {
  readonly room: string;
  readonly after: ClientPosition;
  readonly seq: number;
}

/** `n`: rooms. */
export async function runCold({ n, json, quick }: BenchOptions): Promise<void> {
  const rooms = n ?? (quick ? QUICK_ROOMS : ROOMS);
  const table = newTable(json);
  const nats = await NatsServer.start();
  const opened = await openJetStreamLog(nats.url);
  try {
    const middles = await build(opened.log, rooms);
    // The first row of all meets a server that has just written what is read.
    for (const hint of [false, true]) table.add(await measure(nats.url, opened, middles, hint));
    table.end(
      `${REVISIONS} revisions a room, ${ENTRY} an entry, entries of all rooms between each other; ${ASKERS} asked at once`,
    );
  } finally {
    await opened.close();
    await nats.dispose();
  }
}

/**
 * The rooms' entries lie between each other; some rooms grow fast at first and others late, so that no room's middle is
 * found by proportion. The middle of each.
 */
async function build(log: Log, count: number): Promise<readonly Middle[]> {
  const entries = REVISIONS / ENTRY;
  const order = Array.from({ length: count }, (_, room) => {
    const bend = BENDS[room % BENDS.length] ?? 1;
    return Array.from({ length: entries }, (_, at) => ({ room: `cold-${room}`, at, due: (at / entries) ** bend }));
  }).flat();
  order.sort((one, other) => one.due - other.due);
  const middles: Middle[] = [];
  for (let done = 0; done < order.length; done += APPENDS_AT_ONCE) {
    await Promise.all(
      order.slice(done, done + APPENDS_AT_ONCE).map(async ({ room, at }) => {
        const revisions = Array.from({ length: ENTRY }, (_, i) => ({ data: Buffer.from(`[${at * ENTRY + i + 1}]`) }));
        const { epoch, rev, tag, seq } = await log.append(room, { revisions });
        if (rev === REVISIONS / 2) middles.push({ room, after: { epoch, rev, tag }, seq });
      }),
    );
  }
  return middles;
}

async function measure(nats: string, opened: TestLog, middles: readonly Middle[], hint: boolean): Promise<Row> {
  const revision = Child.start<RevisionApi>(new URL('servers/revision.ts', import.meta.url));
  try {
    await revision.call('start', { nats });
    const settings = {
      ...readSettings(revisionClientSettings, {}, {}),
      revisionTimeoutMs: TIMEOUT_MS,
      revisionHedgeMs: 0,
    };
    const reader = new RevisionClient({ link: opened.link, clock: systemClock, settings });
    await becomesQuiet(revision);
    const sent = await revision.call('sentToNats', undefined);
    const startMs = monotonicMs();
    const times = await askAll(reader, middles, hint);
    const ms = monotonicMs() - startMs;
    const reads = (await revision.call('sentToNats', undefined)) - sent - middles.length;
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number): number => round(sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN, 1);
    return {
      bench: 'cold',
      rooms: middles.length,
      hint,
      reads,
      ms: round(ms, 0),
      readsPerRoom: round(reads / middles.length, 1),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
    };
  } finally {
    await revision.stop();
  }
}

/** It has read the heads: it sends nothing more but now and then a sign of life. */
async function becomesQuiet(revision: Child<RevisionApi>): Promise<void> {
  for (let before = -1; ;) {
    const sent = await revision.call('sentToNats', undefined);
    if (sent === before) return;
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, STEADY_MS));
  }
}

/** How long each took, in ms. Throws where an answer is not what was asked for. */
async function askAll(reader: RevisionReader, middles: readonly Middle[], hint: boolean): Promise<number[]> {
  const times: number[] = [];
  const left = middles.values();
  const ask = async (): Promise<void> => {
    for (const { room, after, seq } of left) {
      const startMs = monotonicMs();
      const query = { room, after, limit: LIMIT, maxBytes: MAX_BYTES, ...(hint ? { hint: seq } : {}) };
      const answer = await reader.range(query);
      times.push(monotonicMs() - startMs);
      const got = answer.kind === 'entries' ? answer.entries.flatMap((entry) => entry.revisions) : [];
      const first = got[0] === undefined ? '' : Buffer.from(got[0].data).toString();
      if (got.length !== LIMIT || first !== `[${after.rev + 1}]`) {
        throw new Error(`cold: ${room} was answered ${answer.kind} with ${got.length} revisions from ${first} on`);
      }
    }
  };
  await Promise.all(Array.from({ length: ASKERS }, ask));
  return times;
}

function newTable(json: boolean): Table<Row> {
  return new Table(json, [
    ['rooms', ({ rooms }) => String(rooms)],
    ['hint', ({ hint }) => (hint ? 'yes' : 'no')],
    ['messages to NATS', ({ reads }) => String(reads)],
    ['a room', ({ readsPerRoom }) => readsPerRoom.toFixed(1)],
    ['ms', ({ ms }) => String(ms)],
    ['a room p50', ({ p50Ms }) => p50Ms.toFixed(1)],
    ['p99', ({ p99Ms }) => p99Ms.toFixed(1)],
  ]);
}
