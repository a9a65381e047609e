/**
 * What each NATS node has stored of the stream of revisions, byte for byte. A node answers direct gets of its own clients
 * from its own replica (a server prefers queue members of its own to those behind a route), so one connection to each
 * node reads each replica.
 */
import { createHash } from 'node:crypto';
import { connect, headers, type NatsConnection } from 'nats';
import { STREAM } from '../../../services/log/subjects.js';
import type { NatsNodes } from './nats-nodes.js';
import { connectionOptions } from './nats-users.js';
import type { TestContainer } from './test-container.js';

const REQUEST_MS = 5_000;
const PIPELINED = 200;
const NO_MESSAGE = 404;

export interface Replica {
  readonly node: string;
  readonly messages: number;
  /** Over seq, subject, headers, time and payload of every message, in order. */
  readonly hash: string;
}

/** Up to the stream's last seq, as its leader has it. */
export async function readReplicas(nats: NatsNodes): Promise<Replica[]> {
  const last = await lastSeq(nats);
  const replicas: Replica[] = [];
  for (const node of nats.nodes) {
    const connection = await connectTo(nats, node);
    try {
      replicas.push({ node: node.name, ...(await readAll(connection, last)) });
    } finally {
      await connection.close();
    }
  }
  return replicas;
}

function connectTo(nats: NatsNodes, node: TestContainer): Promise<NatsConnection> {
  return connect({ servers: nats.clientUrl(node), ignoreClusterUpdates: true, ...connectionOptions('admin') });
}

async function lastSeq(nats: NatsNodes): Promise<number> {
  const connection = await connectTo(nats, await nats.leader());
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
