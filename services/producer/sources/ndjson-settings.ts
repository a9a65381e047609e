/** Settings of the NDJSON source. */
import { z } from 'zod';
import { optionalText, toggle, whole, type Setting, type Values } from '../../shared/settings.js';
import { roomSetting } from './room-setting.js';

const MiB = 1024 * 1024;

export const ndjsonSettings = {
  ndjsonFile: {
    env: 'NDJSON_FILE',
    help: 'file whose lines are published; "-" is standard input',
    parse: optionalText,
    fallback: undefined,
    value: 'path',
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  ndjsonRoom: {
    env: 'NDJSON_ROOM',
    help: 'room of the lines that name none',
    parse: z.optional(roomSetting),
    fallback: undefined,
    value: 'room',
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  ndjsonRaw: {
    env: 'NDJSON_RAW',
    help: 'every line is data, instead of {"data", "author"?, "key"?, "room"?}',
    parse: toggle,
    fallback: false,
  },
  ndjsonSkipBad: {
    env: 'NDJSON_SKIP_BAD',
    help: 'skip and count lines that cannot be published, instead of stopping at the first',
    parse: toggle,
    fallback: false,
  },
  ndjsonBatchLines: {
    env: 'NDJSON_BATCH_LINES',
    help: 'most lines appended together',
    parse: whole('lines', 1, 1_000),
    fallback: 500,
    value: 'lines',
  },
  ndjsonMaxLineBytes: {
    env: 'NDJSON_MAX_LINE_BYTES',
    help: 'longest line; a longer one cannot be published',
    parse: whole('bytes', 16, 64 * MiB),
    fallback: MiB,
    value: 'bytes',
  },
} as const;

export type NdjsonValues = Values<typeof ndjsonSettings>;
