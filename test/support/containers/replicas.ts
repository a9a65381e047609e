/**
 * What each NATS node has on its own disk of the stream of revisions, byte for byte: read from the files of its
 * container, because the nodes answer reads for each other. Every entry is on the disk when it is acknowledged
 * (sync_interval: always), and is read when all replicas say that they are current.
 *
 * A block file is a row of records: length u32 (highest bit: has headers), seq u64 (highest bits: removed, or a mark of
 * something removed), time i64, length of the subject u16, all little endian; subject; with headers their length u32 and
 * they; payload; checksum of 8 bytes.
 */
import { createHash } from 'node:crypto';
import { STREAM } from '../../../services/log/subjects.js';
import type { NatsNodes } from './nats-nodes.js';

const STORE = `/data/jetstream/jetstream/REVCAST/streams/${STREAM}/msgs`;
const LENGTH_MASK = 0x7fff_ffff;
const SEQ_BYTES = 4;
const RECORD_HEAD_BYTES = 22;
const CHECKSUM_BYTES = 8;
const REMOVED_SHIFT = 62n;

export interface Replica {
  readonly node: string;
  readonly messages: number;
  /** Over everything that is stored of every message, in order. */
  readonly hash: string;
}

export async function readReplicas(nats: NatsNodes): Promise<Replica[]> {
  await nats.current();
  return Promise.all(
    nats.nodes.map(async (node) => {
      const files = await node.readFolder(STORE);
      const blocks = [...files].filter(([name]) => name.endsWith('.blk'));
      blocks.sort(([a], [b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
      return { node: node.name, ...digest(blocks.map(([, bytes]) => bytes)) };
    }),
  );
}

function digest(blocks: readonly Buffer[]): Omit<Replica, 'node'> {
  const hash = createHash('sha256');
  let messages = 0;
  for (const block of blocks) {
    for (let at = 0; at + RECORD_HEAD_BYTES + CHECKSUM_BYTES <= block.length;) {
      const length = (block.readUInt32LE(at) & LENGTH_MASK) >>> 0;
      if (length < RECORD_HEAD_BYTES + CHECKSUM_BYTES) throw new Error(`a record of ${length} bytes at ${at}`);
      if (block.readBigUInt64LE(at + SEQ_BYTES) >> REMOVED_SHIFT === 0n) {
        messages += 1;
        hash.update(block.subarray(at, at + length - CHECKSUM_BYTES));
      }
      at += length;
    }
  }
  return { messages, hash: hash.digest('hex') };
}
