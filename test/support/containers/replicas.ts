/**
 * What each NATS node has stored of the stream of revisions, byte for byte. A node answers direct gets of its own clients
 * from its own replica (a server prefers queue members of its own to those behind a route), so one connection to each
 * node reads each replica.
 */
import { createHash } from 'node:crypto';
import { connect, headers, type ConnectionOptions, type NatsConnection } from 'nats';
import { STREAM } from '../../../services/log/subjects.js';
import type { NatsNodes } from './nats-nodes.js';

const REQUEST_MS = 5_000;
const PIPELINED = 200;
const NO_MESSAGE = 404;

export interface Replica {
  readonly node: string;
  readonly messages: number;
  /** Over seq, subject, headers, time and payload of every message, in order. */
  readonly hash: string;
}

/** `lastSeq`: the stream's. `credentials`: of a user who may read the stream. */
export async function readReplicas(
  nats: NatsNodes,
  lastSeq: number,
  credentials: Pick<ConnectionOptions, 'user' | 'pass'> = {},
): Promise<Replica[]> {
  const replicas: Replica[] = [];
  for (const node of nats.nodes) {
    const connection = await connect({ servers: nats.clientUrl(node), ignoreClusterUpdates: true, ...credentials });
    try {
      replicas.push({ node: node.name, ...(await readAll(connection, lastSeq)) });
    } finally {
      await connection.close();
    }
  }
  return replicas;
}

/** The stream's last seq, as its leader has it. */
export async function lastSeq(
  nats: NatsNodes,
  credentials: Pick<ConnectionOptions, 'user' | 'pass'> = {},
): Promise<number> {
  const servers = nats.clientUrl(await nats.leader());
  const connection = await connect({ servers, ignoreClusterUpdates: true, ...credentials });
  try {
    const answer = await connection.request(`$JS.API.STREAM.INFO.${STREAM}`, '', { timeout: REQUEST_MS });
    return answer.json<{ state: { last_seq: number } }>().state.last_seq;
  } finally {
    await connection.close();
  }
}

async function readAll(connection: NatsConnection, last: number): Promise<Omit<Replica, 'node'>> {
  const hash = createHash('sha256');
  let messages = 0;
  for (let first = 1; first <= last; first += PIPELINED) {
    const seqs = Array.from({ length: Math.min(PIPELINED, last - first + 1) }, (_, index) => first + index);
    for (const message of await Promise.all(seqs.map((seq) => readOne(connection, seq)))) {
      if (message === undefined) continue;
      messages += 1;
      hash.update(message);
    }
  }
  return { messages, hash: hash.digest('hex') };
}

/** Everything about it, as bytes; undefined where there is none (any more). */
async function readOne(connection: NatsConnection, seq: number): Promise<Buffer | undefined> {
  const subject = `$JS.API.DIRECT.GET.${STREAM}`;
  const answer = await connection.request(subject, JSON.stringify({ seq }), { timeout: REQUEST_MS });
  const head = answer.headers ?? headers();
  if (head.code === NO_MESSAGE) return undefined;
  if (head.code !== 0) throw new Error(`seq ${seq} was answered ${head.code} ${head.description}`);
  const lines = head
    .keys()
    .sort()
    .map((key) => `${key}: ${head.values(key).join(', ')}\n`);
  return Buffer.concat([Buffer.from(`${lines.join('')}\n`), answer.data]);
}
