/** Settings of the producer's HTTP side. Every limit is here by name; what happens beyond it is said in its help. */
import { text, whole, type Values } from '../shared/settings.js';

const KiB = 1024;
const MiB = 1024 * KiB;

export const producerSettings = {
  producerHost: {
    env: 'PRODUCER_HOST',
    help: 'address that the producer listens on',
    parse: text,
    fallback: '127.0.0.1',
    value: 'host',
  },
  producerPort: {
    env: 'PRODUCER_PORT',
    help: 'port that the producer listens on; 0: any free one',
    parse: whole('port number', 0, 65_535),
    fallback: 8081,
    value: 'port',
  },
  producerMaxBodyBytes: {
    env: 'PRODUCER_MAX_BODY_BYTES',
    help: 'largest body of a request; larger ones are refused with 413',
    parse: whole('bytes', KiB, 64 * MiB),
    fallback: MiB,
    value: 'bytes',
  },
  producerMaxRevisions: {
    env: 'PRODUCER_MAX_REVISIONS',
    help: 'revisions in one request; more are refused with 413',
    parse: whole('revisions', 1, 100_000),
    fallback: 1_000,
    value: 'count',
  },
  producerMaxDataBytes: {
    env: 'PRODUCER_MAX_DATA_BYTES',
    help: "largest data of one revision, without white space; below the edges' limit per client; larger is refused with 413",
    parse: whole('bytes', 1, 64 * MiB),
    fallback: 512 * KiB,
    value: 'bytes',
  },
  producerMaxSnapshotBytes: {
    env: 'PRODUCER_MAX_SNAPSHOT_BYTES',
    help: "largest data of a snapshot, without white space; below NATS' max_payload and the edges' limit per client; larger is refused with 413",
    parse: whole('bytes', 1, 64 * MiB),
    fallback: 768 * KiB,
    value: 'bytes',
  },
  producerMaxInflight: {
    env: 'PRODUCER_MAX_INFLIGHT',
    help: 'appends under way at once; further ones are refused with overloaded',
    parse: whole('appends', 1, 1_000_000),
    fallback: 1_024,
    value: 'count',
  },
  producerMaxInflightBytes: {
    env: 'PRODUCER_MAX_INFLIGHT_BYTES',
    help: 'data under way at once; further appends are refused with overloaded',
    parse: whole('bytes', KiB, 16 * 1024 * MiB),
    fallback: 64 * MiB,
    value: 'bytes',
  },
  producerDrainMs: {
    env: 'PRODUCER_DRAIN_MS',
    help: 'how long a stop waits for requests under way before it cuts them',
    parse: whole('ms', 0, 600_000),
    fallback: 8_000,
    value: 'ms',
  },
} as const;

export type ProducerSettings = Values<typeof producerSettings>;
