/**
 * The process of load clients. While a group is armed, it sleeps for `readEveryMs` between two rounds of reading, not in
 * the kernel's poll: the wake-up of a client that waits there would be charged to the server that writes to it.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { answerParent } from './child.js';
import { Group, type GroupOptions, type Received } from './group.js';
import { monotonicMs } from './monotonic.js';

export interface Latency {
  readonly samples: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface ArmOptions {
  readonly group: string;
  /** Messages that every socket is to get. */
  readonly messages: number;
  /** 0: reads at once whatever comes. */
  readonly readEveryMs: number;
  /** From now on, or since they were ready; absent: from now on. */
  readonly since?: 'now' | 'ready';
}

const US_PER_MS = 1_000;

const groups = new Map<string, Group>();
/** Latencies of repetitions that belong together. */
const merged = new Map<string, RecordableHistogram>();
const sleeper = new Int32Array(new SharedArrayBuffer(4));
let armed = 0;
let reading = false;

function groupOf(name: string): Group {
  const group = groups.get(name);
  if (group === undefined) throw new Error(`there is no group ${name}`);
  return group;
}

function latencyOf(histogram: RecordableHistogram): Latency {
  const at = (percentile: number) => histogram.percentile(percentile) / US_PER_MS;
  return {
    samples: histogram.count,
    p50Ms: at(50),
    p95Ms: at(95),
    p99Ms: at(99),
    maxMs: histogram.max / US_PER_MS,
  };
}

function readOnTimer(everyMs: number): void {
  reading = armed > 0;
  if (!reading) return;
  Atomics.wait(sleeper, 0, 0, everyMs);
  setImmediate(readOnTimer, everyMs);
}

const api = {
  async connect({ group, ...options }: GroupOptions & { group: string }): Promise<number> {
    const startedMs = monotonicMs();
    groups.set(group, await Group.connect(options));
    return monotonicMs() - startedMs;
  },

  arm({ group, messages, readEveryMs, since = 'now' }: ArmOptions): void {
    groupOf(group).expect(messages, since);
    armed += 1;
    if (!reading && readEveryMs > 0) setImmediate(readOnTimer, readEveryMs);
  },

  async received({ group, timeoutMs }: { group: string; timeoutMs: number }): Promise<Received> {
    const received = await groupOf(group).received(timeoutMs);
    armed -= 1;
    return received;
  },

  /** Slow clients read as fast as they can. */
  speedUp({ group }: { group: string }): void {
    groupOf(group).speedUp();
  },

  /** The latencies since the last call, which are added to those called `sum`. */
  takeLatency({ group, sum }: { group: string; sum: string }): Latency {
    const taken = groupOf(group).takeLatencies();
    const all = merged.get(sum) ?? createHistogram();
    merged.set(sum, all);
    all.add(taken);
    return latencyOf(taken);
  },

  summedLatency({ sum }: { sum: string }): Latency {
    return latencyOf(merged.get(sum) ?? createHistogram());
  },

  close({ group }: { group: string }): void {
    groupOf(group).close();
    groups.delete(group);
  },
};

export type ClientApi = typeof api;

answerParent(api);
