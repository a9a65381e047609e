/**
 * Settings of the log and of the connection to NATS. Without a NATS address the log is in memory.
 * Every limit of the log is here by name; what happens at each is said in its help.
 */
import { z } from 'zod';
import { oneOf, optionalText, text, whole, type Setting } from '../shared/settings.js';

const NATS_SCHEMES = new Set(['nats:', 'tls:']);
const MiB = 1024 * 1024;

function isNatsAddress(address: string): boolean {
  return URL.canParse(address) && NATS_SCHEMES.has(new URL(address).protocol) && new URL(address).hostname !== '';
}

const natsAddresses: z.ZodType<readonly string[]> = z
  .string()
  .transform((list) => list.split(',').map((address) => address.trim()))
  .refine((list) => list.every(isNatsAddress), 'must be addresses like nats://host:4222, separated by commas');

/** Services answer to such subjects only: answerer.ts. */
const inbox: z.ZodType<string> = z
  .string()
  .regex(/^_INBOX[A-Za-z0-9_-]{0,58}$/u, 'must begin with _INBOX, and have at most 64 letters, digits, _ or -');

export const natsSettings = {
  nats: {
    env: 'NATS_URL',
    help: 'addresses of the NATS servers, separated by commas; without one the log is in memory',
    parse: natsAddresses,
    fallback: [],
    value: 'url,...',
    secret: true,
  } satisfies Setting<readonly string[]> as Setting<readonly string[]>,
  natsUser: {
    env: 'NATS_USER',
    help: 'user name for NATS',
    parse: optionalText,
    fallback: undefined,
    value: 'name',
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  natsPassword: {
    env: 'NATS_PASSWORD',
    help: 'password for NATS',
    parse: optionalText,
    fallback: undefined,
    value: 'text',
    secret: true,
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  natsPasswordFile: {
    env: 'NATS_PASSWORD_FILE',
    help: 'file with the password, read again at each connect, so that it can be changed; instead of the password itself',
    parse: optionalText,
    fallback: undefined,
    value: 'file',
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  natsToken: {
    env: 'NATS_TOKEN',
    help: 'token for NATS, instead of user and password',
    parse: optionalText,
    fallback: undefined,
    value: 'text',
    secret: true,
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  natsCredentials: {
    env: 'NATS_CREDENTIALS',
    help: 'file with a user JWT and its seed (.creds), read again at each connect; instead of user and password',
    parse: optionalText,
    fallback: undefined,
    value: 'file',
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  natsTlsCa: {
    env: 'NATS_TLS_CA',
    help: "file with the certificates of the authorities that may vouch for the NATS servers; the connection is then encrypted or fails, as with an address tls://; by default the system's authorities",
    parse: optionalText,
    fallback: undefined,
    value: 'file',
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  natsName: {
    env: 'NATS_NAME',
    help: "prefix of the connection's name, as NATS' monitoring shows it",
    parse: text,
    fallback: 'revcast',
    value: 'text',
  },
  natsInbox: {
    env: 'NATS_INBOX',
    help: 'first token of the subjects that answers come to, which begins with _INBOX; give each service its own, so that none may read the others’ answers',
    parse: inbox,
    fallback: '_INBOX_revcast',
    value: 'token',
  },
} as const;

export const logSettings = {
  logReplicas: {
    env: 'LOG_REPLICAS',
    help: 'copies of the stream: 1, or 3 (nats-server 2.10.27 or newer, at least three nodes)',
    parse: oneOf(['1', '3']).transform(Number),
    fallback: 1,
    value: 'count',
  },
  logMaxBytes: {
    env: 'LOG_MAX_BYTES',
    help: "largest size of the stream in bytes, below the disk's; when it is full appends are refused with log_full",
    parse: whole('bytes', MiB, 2 ** 50),
    fallback: 8 * 1024 * MiB,
    value: 'bytes',
  },
  logMaxSnapshotBytes: {
    env: 'LOG_MAX_SNAPSHOT_BYTES',
    help: "largest size of all rooms' snapshots together, one per room; when it is full snapshots are refused with log_full",
    parse: whole('bytes', MiB, 2 ** 50),
    fallback: 1024 * MiB,
    value: 'bytes',
  },
  logMaxEntriesPerRoom: {
    env: 'LOG_MAX_ENTRIES_PER_ROOM',
    help: 'entries kept of each room; the oldest are removed when there are more',
    parse: whole('entries', 2, 1_000_000_000),
    fallback: 100_000,
    value: 'count',
  },
  logRequestTimeoutMs: {
    env: 'LOG_REQUEST_TIMEOUT_MS',
    help: 'how long one request to NATS may take',
    parse: whole('ms', 50, 60_000),
    fallback: 1_500,
    value: 'ms',
  },
  appendDeadlineMs: {
    env: 'APPEND_DEADLINE_MS',
    help: 'how long an append may take; then it fails with log_unavailable, or outcome_unknown if it may have been stored',
    parse: whole('ms', 100, 600_000),
    fallback: 5_000,
    value: 'ms',
  },
  keyWindowRevisions: {
    env: 'KEY_WINDOW_REVISIONS',
    help: 'an idempotency key is remembered at least for so many last revisions of its room',
    parse: whole('revisions', 0, 1_000_000),
    fallback: 1_000,
    value: 'count',
  },
  keyWindowMinutes: {
    env: 'KEY_WINDOW_MINUTES',
    help: 'and at least for so many minutes',
    parse: whole('minutes', 0, 10_080),
    fallback: 10,
    value: 'minutes',
  },
} as const;
