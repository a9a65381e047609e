/** Settings of `revcast gc`. */
import { z } from 'zod';
import { logSettings } from '../log/settings.js';
import { parseRoomName } from '../shared/room-name.js';
import { toggle, whole, type Setting } from '../shared/settings.js';

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const AGE_PROBLEM = 'must be a number of days, hours, minutes or seconds, for example 30d, 12h, 90m or 45s';
/** Control characters are in no room's name. */
const ROOM_SEPARATOR = '\n';

/** In milliseconds. */
const age: z.ZodType<number> = z
  .string()
  .regex(/^\d{1,9}[smhd]$/u, AGE_PROBLEM)
  .transform((text) => Number(text.slice(0, -1)) * UNIT_MS[text.slice(-1) as keyof typeof UNIT_MS]);

const rooms: z.ZodType<readonly string[]> = z.string().transform((text, context) => {
  try {
    return text.split(ROOM_SEPARATOR).map(parseRoomName);
  } catch (error) {
    context.addIssue({ code: 'custom', message: `must be the name of a room: ${(error as Error).message}` });
    return z.NEVER;
  }
});

export const gcSettings = {
  maxAge: {
    env: 'GC_MAX_AGE',
    help: 'remove entries whose revisions are older: a number of days, hours, minutes or seconds, for example 30d or 12h; needed',
    parse: age as z.ZodType<number | undefined>,
    fallback: undefined,
    value: 'age',
  } satisfies Setting<number | undefined> as Setting<number | undefined>,
  keepRevisions: {
    env: 'GC_KEEP_REVISIONS',
    help: "keep at least each room's last so many revisions, however old; its last entry stays in any case",
    parse: whole('revisions', 0, 1_000_000_000),
    fallback: 0,
    value: 'count',
  },
  room: {
    env: 'GC_ROOMS',
    help: 'only this room; may be given several times (in the variable: one a line); by default every room',
    parse: rooms,
    fallback: [],
    value: 'name',
    separator: ROOM_SEPARATOR,
  } satisfies Setting<readonly string[]> as Setting<readonly string[]>,
  dryRun: {
    env: 'GC_DRY_RUN',
    help: 'only say what would be removed',
    parse: toggle,
    fallback: false,
  },
  keyWindowMinutes: {
    ...logSettings.keyWindowMinutes,
    help: 'as the producers have it: entries younger than this are not removed, so that idempotency keys are remembered as long as they say',
  },
  logRequestTimeoutMs: logSettings.logRequestTimeoutMs,
} as const;
