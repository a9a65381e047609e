/** The edge's settings, with their limits. */
import { z } from 'zod';
import { parseRoomName } from '../shared/room-name.js';
import { oneOf, text, toggle, whole, type Setting, type Values } from '../shared/settings.js';
import { connectionSettings } from './connection-settings.js';
import { templateProblem } from './protocols/pad-rooms.js';

const KIB = 1024;
const MIB = 1024 * KIB;

function number(env: string, help: string, value: string, bounds: [number, number], fallback: number): Setting<number> {
  return { env, help, value, parse: whole(value, bounds[0], bounds[1]), fallback };
}

function words(env: string, help: string, value: string, fallback: string): Setting<string> {
  return { env, help, value, parse: text, fallback };
}

function isRoomName(name: string): boolean {
  try {
    parseRoomName(name);
    return true;
  } catch {
    return false;
  }
}

function isOrigin(text: string): boolean {
  const word = text.trim();
  return word === '*' || (URL.canParse(word) && new URL(word).origin === word);
}

export const edgeSettings = {
  host: { env: 'EDGE_HOST', help: 'address to listen on', value: 'address', parse: text, fallback: '127.0.0.1' },
  port: number('EDGE_PORT', 'port to listen on, 0 for any', 'port', [0, 65_535], 8080),
  ...connectionSettings,
  maxRoomsPerSocket: number('EDGE_MAX_ROOMS_PER_SOCKET', 'rooms of one socket', 'rooms', [1, 100_000], 1_000),
  maxRooms: number('EDGE_MAX_ROOMS', 'rooms followed at once', 'rooms', [1, 10_000_000], 100_000),
  maxMessageBytes: number(
    'EDGE_MAX_MESSAGE_BYTES',
    'largest message of a client that is read; 16 times as much closes the socket',
    'bytes',
    [1 * KIB, 4 * MIB],
    64 * KIB,
  ),
  pingAfterMs: number('EDGE_PING_AFTER_MS', 'silence after which a client is pinged', 'ms', [100, 600_000], 25_000),
  deadAfterMs: number('EDGE_DEAD_AFTER_MS', 'silence after which a client is cut off', 'ms', [200, 900_000], 60_000),
  openTimeoutMs: number('EDGE_OPEN_TIMEOUT_MS', 'wait for the log when a room opens', 'ms', [100, 60_000], 5_000),
  lingerMs: number('EDGE_LINGER_MS', 'how long an empty room is still followed', 'ms', [0, 600_000], 5_000),
  lookEveryMs: number('EDGE_LOOK_EVERY_MS', 'how often all heads are compared', 'ms', [100, 3_600_000], 30_000),
  ringKeepRevisions: number(
    'EDGE_RING_KEEP_REVISIONS',
    'revisions kept for resuming clients',
    'revisions',
    [0, 100_000],
    128,
  ),
  ringKeepBytes: number('EDGE_RING_KEEP_BYTES', 'and bytes of them', 'bytes', [0, 1_024 * MIB], 256 * KIB),
  ringMaxRevisions: number(
    'EDGE_RING_MAX_REVISIONS',
    'revisions of a room at most',
    'revisions',
    [1, 1_000_000],
    4_096,
  ),
  ringMaxBytes: number('EDGE_RING_MAX_BYTES', 'bytes of a room at most', 'bytes', [1 * KIB, 1_024 * MIB], 8 * MIB),
  ringTotalBytes: number(
    'EDGE_RING_TOTAL_BYTES',
    'bytes of all rooms at most',
    'bytes',
    [1 * MIB, 65_536 * MIB],
    256 * MIB,
  ),
  pageRevisions: number('EDGE_PAGE_REVISIONS', 'revisions of a catch-up page', 'revisions', [1, 10_000], 200),
  pageBytes: number('EDGE_PAGE_BYTES', 'bytes of a catch-up page, about', 'bytes', [1 * KIB, 8 * MIB], 256 * KIB),
  pageCacheBytes: number('EDGE_PAGE_CACHE_BYTES', 'bytes of kept pages', 'bytes', [0, 65_536 * MIB], 64 * MIB),
  snapshotCacheBytes: number(
    'EDGE_SNAPSHOT_CACHE_BYTES',
    'bytes of kept snapshots, with the answers made of them',
    'bytes',
    [0, 65_536 * MIB],
    64 * MIB,
  ),
  deflateMinSaving: number(
    'EDGE_DEFLATE_MIN_SAVING',
    'compress a frame only if it saves so much',
    'bytes',
    [0, 1 * MIB],
    256,
  ),
  fanout: {
    env: 'EDGE_FANOUT',
    help: 'serialize a revision once for all sockets, or for each',
    value: 'prepared|per-socket',
    parse: oneOf(['prepared', 'per-socket']),
    fallback: 'prepared',
  } as Setting<'prepared' | 'per-socket'>,
  flush: {
    env: 'EDGE_FLUSH',
    help: 'when revisions go out: once per turn, once per loop iteration, or each at once',
    value: 'microtask|immediate|sync',
    parse: oneOf(['microtask', 'immediate', 'sync']),
    fallback: 'microtask',
  } as Setting<'microtask' | 'immediate' | 'sync'>,
  flushMs: number('EDGE_FLUSH_MS', 'collect revisions for so long before a flush', 'ms', [0, 10_000], 0),
  deflate: {
    env: 'EDGE_DEFLATE',
    help: 'compress a frame once for all sockets, for each, or never',
    value: 'once|per-socket|off',
    parse: oneOf(['once', 'per-socket', 'off']),
    fallback: 'once',
  } as Setting<'once' | 'per-socket' | 'off'>,
  ring: {
    env: 'EDGE_RING',
    help: 'how the ring finds what can go',
    value: 'counted|scan',
    parse: oneOf(['counted', 'scan']),
    fallback: 'counted',
  } as Setting<'counted' | 'scan'>,
  sseRetryMs: number(
    'EDGE_SSE_RETRY_MS',
    'after which time event streams are told to come back when they end, give or take a half',
    'ms',
    [10, 600_000],
    2_000,
  ),
  allowedOrigins: {
    env: 'EDGE_ALLOWED_ORIGINS',
    help: 'pages that may read event streams from another origin: origins, comma separated, or *',
    value: 'origins',
    parse: text.refine((value) => value.split(',').every(isOrigin), 'must be origins like https://a.example, or *'),
    fallback: '',
  },
  etherpadRooms: {
    env: 'EDGE_ETHERPAD_ROOMS',
    help: 'rooms that viewers of Etherpad pads are given, for example pad:{pad}, as the Etherpad source has them; without it there are none',
    value: 'template',
    parse: z.string().superRefine((template, context) => {
      const problem = templateProblem(template);
      if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
    }),
    fallback: '',
  },
  publishRooms: {
    env: 'EDGE_PUBLISH_ROOMS',
    help: 'rooms that any client of this edge may publish to: names, or prefixes that end in *, comma separated; none by default',
    value: 'rooms',
    parse: text,
    fallback: '',
  },
  publishPerSocket: number(
    'EDGE_PUBLISH_PER_SOCKET',
    'publications of one client under way or waiting for their turn; further ones are refused with overloaded',
    'publications',
    [1, 10_000],
    16,
  ),
  publishMax: number('EDGE_PUBLISH_MAX', 'and of all clients together', 'publications', [1, 1_000_000], 1_024),
  publishTimeoutMs: number(
    'EDGE_PUBLISH_TIMEOUT_MS',
    'how long a publication may take, with all tries; then it is answered log_unavailable, or outcome_unknown if it may have been stored',
    'ms',
    [100, 600_000],
    10_000,
  ),
  latestRooms: {
    env: 'EDGE_LATEST_ROOMS',
    help: 'rooms whose lagging clients skip to the newest revision: names, or prefixes that end in *, comma separated',
    value: 'rooms',
    parse: text,
    fallback: '',
  },
  blockbookRoom: {
    env: 'EDGE_BLOCKBOOK_ROOM',
    help: "room with a coin's blocks; with it, clients of Blockbook are served at /websocket",
    value: 'room',
    parse: text.refine(isRoomName, 'must be a room name').transform(parseRoomName),
    fallback: '',
  },
  blockbookName: words('EDGE_BLOCKBOOK_NAME', "the coin's name, for clients of Blockbook", 'name', 'Ethereum'),
  blockbookShortcut: words('EDGE_BLOCKBOOK_SHORTCUT', 'its shortcut', 'letters', 'ETH'),
  blockbookNetwork: words('EDGE_BLOCKBOOK_NETWORK', "its network; none: the shortcut's", 'letters', ''),
  blockbookDecimals: number('EDGE_BLOCKBOOK_DECIMALS', 'decimals of its amounts', 'digits', [0, 36], 18),
  blockbookTestnet: {
    env: 'EDGE_BLOCKBOOK_TESTNET',
    help: 'say that it is a test network',
    parse: toggle,
    fallback: false,
  },
  blockbookGenesis: words('EDGE_BLOCKBOOK_GENESIS', 'hash of its block 0', 'hash', ''),
  blockbookVersion: words('EDGE_BLOCKBOOK_VERSION', 'version of Blockbook that clients are told', 'version', '0.5.0'),
  blockbookHeights: number(
    'EDGE_BLOCKBOOK_HEIGHTS',
    'how many of the newest blocks can be asked for by height',
    'blocks',
    [1, 100_000],
    10_000,
  ),
  sharePort: {
    env: 'EDGE_SHARE_PORT',
    help: 'let several processes listen on the same port',
    parse: toggle,
    fallback: false,
  },
};

export type EdgeSettings = Values<typeof edgeSettings>;
