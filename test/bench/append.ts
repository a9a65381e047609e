/**
 * Revisions per second into one room: one caller that waits for each answer, and 64 callers at once (group commit), on a
 * real nats-server with its stream on disk. The two take turns, so that the machine's mood meets both; figures are
 * medians of the turns, with the lowest and the highest. Appends have one revision of about 200 bytes.
 */
import type { Log } from '../../services/log/log.js';
import { openJetStreamLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const CALLERS = [1, 64] as const;
const TURNS = 5;
const QUICK_TURNS = 3;
/** Appends of a turn with one caller; with more callers there are MANY_FACTOR times as many. */
const APPENDS = 1_500;
const QUICK_APPENDS = 400;
const MANY_FACTOR = 16;

interface Rate {
  readonly bench: 'append';
  readonly callers: number;
  readonly perSecond: number;
  readonly min: number;
  readonly max: number;
}

export interface AppendBenchOptions {
  /** Appends of a turn with one caller. */
  readonly n?: number;
  /** One JSON object a line on stdout instead of a table. */
  readonly json: boolean;
  readonly quick: boolean;
}

export async function runAppend({ n, json, quick }: AppendBenchOptions): Promise<void> {
  const appends = n ?? (quick ? QUICK_APPENDS : APPENDS);
  const server = await NatsServer.start();
  const opened = await openJetStreamLog(server.url);
  try {
    await runTurn(opened.log, 1, Math.ceil(appends / 4));
    const measured = new Map<number, number[]>(CALLERS.map((callers) => [callers, []]));
    for (let turn = 0; turn < (quick ? QUICK_TURNS : TURNS); turn += 1) {
      for (const callers of CALLERS) {
        const perSecond = await runTurn(opened.log, callers, callers === 1 ? appends : appends * MANY_FACTOR);
        measured.get(callers)?.push(perSecond);
      }
    }
    report(
      [...measured].map(([callers, rates]) => summarize(callers, rates)),
      json,
    );
  } finally {
    await opened.close();
    await server.dispose();
  }
}

/** Revisions per second of `count` appends by `callers` callers, each waiting for its answer before its next append. */
async function runTurn(log: Log, callers: number, count: number): Promise<number> {
  let left = count;
  const call = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await log.append('bench', { revisions: [{ data: revisionData(left), author: 'bench' }] });
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: callers }, call));
  return (count * 1_000) / (performance.now() - startedAt);
}

function revisionData(number: number): Uint8Array {
  return Buffer.from(JSON.stringify({ number, text: 'x'.repeat(180) }));
}

function summarize(callers: number, rates: readonly number[]): Rate {
  const sorted = rates.map(Math.round).sort((a, b) => a - b);
  const [min = 0, max = 0] = [sorted[0], sorted.at(-1)];
  return { bench: 'append', callers, perSecond: sorted[Math.floor(sorted.length / 2)] ?? 0, min, max };
}

function report(rates: readonly Rate[], json: boolean): void {
  if (json) {
    for (const rate of rates) process.stdout.write(`${JSON.stringify(rate)}\n`);
    return;
  }
  process.stdout.write('callers  revisions/s (lowest to highest)\n');
  for (const { callers, perSecond, min, max } of rates) {
    process.stdout.write(`${String(callers).padStart(7)}  ${perSecond} (${min} to ${max})\n`);
  }
}
