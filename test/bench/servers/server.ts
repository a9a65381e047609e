/** What the benchmarks ask of a server under test, whatever it is: it runs in a process of its own. */
import { monotonicMs } from '../load/monotonic.js';

export interface ServerOptions {
  readonly deflate: boolean;
}

export interface Broadcast {
  /** Bytes of the data of each message. */
  readonly bytes: number;
  /** Messages, all published in one turn. */
  readonly count: number;
  /** Whether several may come in one message, where the server can. */
  readonly batch: boolean;
}

/** Right before something is published: the monotonic time, and the CPU time that the process has used. */
export interface Usage {
  readonly atMs: number;
  readonly cpuUs: number;
}

export interface Memory {
  readonly rssKb: number;
  readonly heapKb: number;
  readonly externalKb: number;
}

export interface ServerApi {
  start(options: ServerOptions): Promise<{ port: number }>;
  publish(broadcast: Broadcast): Promise<Usage>;
  usage(): Usage;
}

/** CPU time of all threads of this process, user and system. */
export function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { atMs: monotonicMs(), cpuUs: user + system };
}

/** The message that all servers but the edge send: the same text as an edge's, for one id. */
export function messageText(data: Buffer, rev: number): string {
  return `{"id":"00000000","data":${dataText(data, rev)}}`;
}

function dataText(data: Buffer, rev: number): string {
  const head = `"room":"each","rev":${rev},"tag":"00000000","time":${Date.now()},"timeDelta":1000`;
  return `{${head},"data":${data.toString()}}`;
}
