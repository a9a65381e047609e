/**
 * The process of load clients. While a group is armed, it sleeps for `readEveryMs` between two rounds of reading, not in
 * the kernel's poll: the wake-up of a client that waits there would be charged to the server that writes to it.
 */
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
}

const groups = new Map<string, Group>();
const sleeper = new Int32Array(new SharedArrayBuffer(4));
let armed = 0;
let reading = false;

function groupOf(name: string): Group {
  const group = groups.get(name);
  if (group === undefined) throw new Error(`there is no group ${name}`);
  return group;
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

  arm({ group, messages, readEveryMs }: ArmOptions): void {
    groupOf(group).expect(messages);
    armed += 1;
    if (!reading && readEveryMs > 0) setImmediate(readOnTimer, readEveryMs);
  },

  async received({ group, timeoutMs }: { group: string; timeoutMs: number }): Promise<Received> {
    const received = await groupOf(group).received(timeoutMs);
    armed -= 1;
    return received;
  },

  close({ group }: { group: string }): void {
    groupOf(group).close();
    groups.delete(group);
  },
};

export type ClientApi = typeof api;

answerParent(api);
