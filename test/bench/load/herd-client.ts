/** The process of a herd: clients that drop group by group and reconnect all at once. */
import { answerParent } from './child.js';
import { Herd, type HerdOptions, type Position } from './herd.js';
import { monotonicMs } from './monotonic.js';
import { usage } from '../servers/server.js';

const TIMEOUT_MS = 60_000;
const LOOK_MS = 20;

export interface Returned {
  /** Clients that have every revision up to the end. */
  readonly complete: number;
  readonly holes: number;
  readonly repeats: number;
  /** Milliseconds from the beginning of the reconnect: all subscribed; and percentiles over the clients, of those who were. */
  readonly subscribedMs: number;
  readonly steadyP50Ms: number;
  readonly steadyP99Ms: number;
  readonly headP50Ms: number;
  readonly headP99Ms: number;
}

let herd: Herd | undefined;
let startedMs = 0;
let subscribedMs = Number.POSITIVE_INFINITY;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function theHerd(): Herd {
  if (herd === undefined) throw new Error('there is no herd');
  return herd;
}

function areAllSteady(): boolean {
  return theHerd().clients.every(({ steadyAtMs }) => Number.isFinite(steadyAtMs));
}

function check(): void {
  const faults = theHerd().takeFaults();
  if (faults.length > 0) throw new Error(faults.join('; '));
}

/** The value that `share` of the values do not exceed. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

const api = {
  /** Connects all from now on. */
  async connect({ headRev, ...options }: HerdOptions & { headRev: number }): Promise<void> {
    herd = new Herd(options);
    herd.headRev = headRev;
    await herd.connect([undefined], TIMEOUT_MS);
    check();
  },

  /** Clients of the groups from `group` on have everything up to `rev`; then that group drops. */
  async drop({ group, groups, rev }: { group: number; groups: number; rev: number }): Promise<void> {
    const all = theHerd();
    const connected = all.clients.filter((_, index) => index % groups >= group);
    await all.reach(rev, connected, TIMEOUT_MS);
    check();
    const behind = connected.filter(({ order }) => order.lastRev < rev).length;
    if (behind > 0) throw new Error(`${behind} clients did not get revision ${rev} in ${TIMEOUT_MS} ms`);
    for (const client of all.group(group, groups)) client.drop();
  },

  /** All connect again, and it is noted when they have `headRev`. */
  async reconnect({ positions, headRev }: { positions: readonly Position[]; headRev: number }): Promise<number> {
    const all = theHerd();
    all.await(headRev, []);
    startedMs = monotonicMs();
    await all.connect(positions, TIMEOUT_MS);
    subscribedMs = monotonicMs() - startedMs;
    check();
    return subscribedMs;
  },

  dropAll(): void {
    for (const client of theHerd().clients) client.drop();
  },

  /** Clients that do not have everything up to `rev`. */
  behind({ rev }: { rev: number }): number {
    return theHerd().clients.filter(({ order }) => order.lastRev < rev).length;
  },

  /** When the last of them had `rev`, which they are told to wait for since they reconnected. Throws if one has not. */
  async reached({ rev, timeoutMs }: { rev: number; timeoutMs: number }): Promise<number> {
    const all = theHerd();
    const end = monotonicMs() + timeoutMs;
    const isBehind = ({ order }: (typeof all.clients)[0]) => order.lastRev < rev;
    while (all.clients.some(isBehind) && monotonicMs() < end) await pause(LOOK_MS);
    check();
    const reachedAtMs = Math.max(...all.clients.map((client) => client.reachedAtMs));
    if (!Number.isFinite(reachedAtMs)) throw new Error(`not all have revision ${rev} after ${timeoutMs} ms`);
    return reachedAtMs;
  },

  /** Waits until all are steady. */
  async steady({ timeoutMs }: { timeoutMs: number }): Promise<boolean> {
    const end = monotonicMs() + timeoutMs;
    while (!areAllSteady() && monotonicMs() < end) await pause(LOOK_MS);
    check();
    return areAllSteady();
  },

  /** Waits until all have `rev`, the last there will be, and tells how the return went. */
  async result({ rev }: { rev: number }): Promise<Returned> {
    const all = theHerd();
    const heads = all.clients.map(({ reachedAtMs }) => reachedAtMs - startedMs);
    const steady = all.clients.map(({ steadyAtMs }) => steadyAtMs - startedMs);
    await all.reach(rev, all.clients, TIMEOUT_MS);
    check();
    const sum = (of: (order: (typeof all.clients)[0]['order']) => number) =>
      all.clients.reduce((total, { order }) => total + of(order), 0);
    return {
      complete: all.clients.filter(({ order }) => order.lastRev === rev).length,
      holes: sum(({ holes }) => holes),
      repeats: sum(({ repeats }) => repeats),
      subscribedMs,
      steadyP50Ms: percentile(steady, 0.5),
      steadyP99Ms: percentile(steady, 0.99),
      headP50Ms: percentile(heads, 0.5),
      headP99Ms: percentile(heads, 0.99),
    };
  },

  usage,
};

export type HerdApi = typeof api;

answerParent<HerdApi>(api);
