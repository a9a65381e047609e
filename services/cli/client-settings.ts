/** Settings of the commands that are clients: `publish` of a producer, `tail` of an edge. */
import { z } from 'zod';
import { address, optionalText, toggle, whole, type Setting } from '../shared/settings.js';
import { parseSince, type TailStart } from './tail-position.js';

const since: z.ZodType<TailStart> = z.string().transform((text, context) => {
  const start = parseSince(text);
  if (start !== undefined) return start;
  context.addIssue({ code: 'custom', message: 'must be 0, snapshot, or a position EPOCH:REV or EPOCH:REV:TAG' });
  return z.NEVER;
});

const optionalWhole = (unit: string, min: number, max: number) =>
  whole(unit, min, max) as z.ZodType<number | undefined>;

export const publishSettings = {
  url: {
    env: 'PUBLISH_URL',
    help: 'address of a producer',
    parse: address('http', 'https'),
    fallback: 'http://127.0.0.1:8081',
    value: 'url',
  },
  author: {
    env: 'PUBLISH_AUTHOR',
    help: 'author of the revisions',
    parse: optionalText,
    fallback: undefined,
    value: 'name',
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  key: {
    env: 'PUBLISH_KEY',
    help: 'idempotency key: what was published with it before is answered, not published again; for lines of the input it is followed by -1, -2 and so on; a random one by default',
    parse: optionalText,
    fallback: undefined,
    value: 'key',
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  expectedRev: {
    env: 'PUBLISH_EXPECTED_REV',
    help: "refuse unless this is the room's newest revision (0: the room is empty); each further line of the input then follows the line before",
    parse: optionalWhole('revisions', 0, Number.MAX_SAFE_INTEGER),
    fallback: undefined,
    value: 'rev',
  } satisfies Setting<number | undefined> as Setting<number | undefined>,
  text: {
    env: 'PUBLISH_TEXT',
    help: 'each DATA, or line of the input, is a text, published as a JSON string',
    parse: toggle,
    fallback: false,
  },
  timeoutMs: {
    env: 'PUBLISH_TIMEOUT_MS',
    help: 'how long the producer may take to answer one request',
    parse: whole('ms', 10, 600_000),
    fallback: 10_000,
    value: 'ms',
  },
  retryMs: {
    env: 'PUBLISH_RETRY_MS',
    help: 'how long to go on trying, with the same key, while the producer cannot be reached or asks to come again; 0: one attempt',
    parse: whole('ms', 0, 86_400_000),
    fallback: 30_000,
    value: 'ms',
  },
} as const;

export const tailSettings = {
  url: {
    env: 'TAIL_URL',
    help: 'address of an edge; without a path /v1/ws is meant',
    parse: address('ws', 'wss', 'http', 'https'),
    fallback: 'ws://127.0.0.1:8080',
    value: 'url',
  },
  since: {
    env: 'TAIL_SINCE',
    help: "begin with the first revision kept (0), with the room's snapshot (snapshot), or after a position EPOCH:REV or EPOCH:REV:TAG; by default with what comes from now on",
    parse: since,
    fallback: undefined,
    value: 'position',
  } satisfies Setting<TailStart | undefined> as Setting<TailStart | undefined>,
  json: {
    env: 'TAIL_JSON',
    help: 'print each revision as the JSON line that the edge sent: room, rev, tag, time, timeDelta, author, data',
    parse: toggle,
    fallback: false,
  },
  data: {
    env: 'TAIL_DATA',
    help: 'print only the data of each revision, byte for byte, one line each',
    parse: toggle,
    fallback: false,
  },
  count: {
    env: 'TAIL_COUNT',
    help: 'stop after so many revisions',
    parse: optionalWhole('revisions', 1, Number.MAX_SAFE_INTEGER),
    fallback: undefined,
    value: 'count',
  } satisfies Setting<number | undefined> as Setting<number | undefined>,
  strict: {
    env: 'TAIL_STRICT',
    help: 'leave with exit code 3 when the history cannot be continued, instead of starting again with the first revision kept',
    parse: toggle,
    fallback: false,
  },
  silenceMs: {
    env: 'TAIL_SILENCE_MS',
    help: 'connect anew when the edge has given no sign of life for so long, although it was asked for one',
    parse: whole('ms', 100, 600_000),
    fallback: 20_000,
    value: 'ms',
  },
} as const;
