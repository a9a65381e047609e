/** Settings of the revision service: its address, and its limits by name, each with what happens at it. */
import { text, whole } from '../shared/settings.js';

const MiB = 1024 * 1024;

export const revisionSettings = {
  revisionHost: {
    env: 'REVISION_HOST',
    help: 'address that the revision service listens on for HTTP',
    parse: text,
    fallback: '127.0.0.1',
    value: 'address',
  },
  revisionPort: {
    env: 'REVISION_PORT',
    help: 'its port; 0: any free one',
    parse: whole('port', 0, 65_535),
    fallback: 8082,
    value: 'port',
  },
  revisionPageRevisions: {
    env: 'REVISION_PAGE_REVISIONS',
    help: 'most revisions in one page; who asks for more gets this many and asks again',
    parse: whole('revisions', 1, 100_000),
    fallback: 1_000,
    value: 'count',
  },
  revisionPageBytes: {
    env: 'REVISION_PAGE_BYTES',
    help: "most bytes of data in one page, whatever is asked for; a page has at least one revision, and over NATS fits the server's max_payload",
    parse: whole('bytes', 1_024, 64 * MiB),
    fallback: 512 * 1024,
    value: 'bytes',
  },
  revisionTailBytes: {
    env: 'REVISION_TAIL_BYTES',
    help: 'bytes of the newest entries of all rooms that are kept in memory; the oldest go first',
    parse: whole('bytes', 0, 64 * 1024 * MiB),
    fallback: 128 * MiB,
    value: 'bytes',
  },
  revisionCacheBytes: {
    env: 'REVISION_CACHE_BYTES',
    help: 'bytes of older pages that are kept after they were read; the longest unused go first',
    parse: whole('bytes', 0, 64 * 1024 * MiB),
    fallback: 64 * MiB,
    value: 'bytes',
  },
  revisionLogReads: {
    env: 'REVISION_LOG_READS',
    help: 'ranges that are read from the log at once; further ones wait, twenty times as many, and beyond that are answered overloaded',
    parse: whole('reads', 1, 1_000),
    fallback: 16,
    value: 'count',
  },
  revisionSnapshotCacheBytes: {
    env: 'REVISION_SNAPSHOT_CACHE_BYTES',
    help: 'bytes of snapshots that are kept for a second after they were read; the longest unused go first',
    parse: whole('bytes', 0, 64 * 1024 * MiB),
    fallback: 32 * MiB,
    value: 'bytes',
  },
  revisionRpcRequests: {
    env: 'REVISION_RPC_REQUESTS',
    help: 'requests over NATS that are worked on at once; further ones are answered overloaded',
    parse: whole('requests', 1, 100_000),
    fallback: 128,
    value: 'count',
  },
  revisionHttpRequests: {
    env: 'REVISION_HTTP_REQUESTS',
    help: 'HTTP reads, streams included, that are served at once; further ones are answered 503 overloaded',
    parse: whole('requests', 1, 100_000),
    fallback: 64,
    value: 'count',
  },
  revisionStallMs: {
    env: 'REVISION_STALL_MS',
    help: 'an NDJSON stream whose reader takes nothing for so long is cut',
    parse: whole('ms', 100, 3_600_000),
    fallback: 30_000,
    value: 'ms',
  },
  revisionDrainMs: {
    env: 'REVISION_DRAIN_MS',
    help: 'how long a stop waits for HTTP requests that are under way',
    parse: whole('ms', 0, 600_000),
    fallback: 5_000,
    value: 'ms',
  },
} as const;
