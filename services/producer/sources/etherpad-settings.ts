/** Settings of the Etherpad source. Without ETHERPAD_URL there is no such source. */
import { z } from 'zod';
import { address, whole, type Setting, type Values } from '../../shared/settings.js';
import { roomSetting } from './room-setting.js';

/** Rooms of pads for which none is named. */
const ROOM_PREFIX = 'pad:';
const MAX_PADS = 1_000;

export interface PadInRoom {
  readonly pad: string;
  readonly room: string;
}

/** "notes,r.5f3a=minutes": the pad "notes" to room "pad:notes", a read-only id to the room "minutes". */
const pads: z.ZodType<readonly PadInRoom[]> = z.string().transform((text, context) => {
  const found: PadInRoom[] = [];
  const complain = (message: string) => {
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  for (const word of text.split(',')) {
    const equals = word.lastIndexOf('=');
    const pad = equals < 0 ? word : word.slice(0, equals);
    const room = roomSetting.safeParse(equals < 0 ? `${ROOM_PREFIX}${pad}` : word.slice(equals + 1));
    if (pad.trim() === '' || !room.success) return complain('must be pads, or PAD=ROOM, separated by commas');
    if (found.some((other) => other.room === room.data)) return complain('must not name a room twice');
    found.push({ pad, room: room.data });
  }
  return found.length > MAX_PADS ? complain(`must not be more than ${MAX_PADS} pads`) : found;
});

export const etherpadSettings = {
  etherpadUrl: {
    env: 'ETHERPAD_URL',
    help: 'address of an Etherpad server whose pads are followed; without one none are',
    parse: address('http', 'https', 'ws', 'wss').refine(
      (url) => !/[?#]/u.test(url),
      'must not have a query or fragment',
    ),
    fallback: undefined,
    value: 'url',
    secret: true,
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  etherpadPads: {
    env: 'ETHERPAD_PADS',
    help: 'pads to follow, by name or read-only id, each published to the room pad:NAME, or as PAD=ROOM; several with commas',
    parse: pads,
    fallback: [],
    value: 'pad[=room]',
    separator: ',',
  } satisfies Setting<readonly PadInRoom[]> as Setting<readonly PadInRoom[]>,
  etherpadSnapshotRevisions: {
    env: 'ETHERPAD_SNAPSHOT_REVISIONS',
    help: 'read the whole pad again for a new snapshot after so many revisions',
    parse: whole('revisions', 10, 1_000_000),
    fallback: 500,
    value: 'revisions',
  },
  etherpadTimeoutMs: {
    env: 'ETHERPAD_TIMEOUT_MS',
    help: 'how long Etherpad may take to answer, and to show any sign of life',
    parse: whole('ms', 50, 600_000),
    fallback: 10_000,
    value: 'ms',
  },
} as const;

/** The settings of a source that has an address. */
export type EtherpadValues = Values<typeof etherpadSettings> & { readonly etherpadUrl: string };

/** An address without pads, or pads without an address. */
export function etherpadProblems({ etherpadUrl, etherpadPads }: Values<typeof etherpadSettings>): string[] {
  if (etherpadUrl !== undefined && etherpadPads.length === 0) {
    return ['--etherpad-url (ETHERPAD_URL) needs pads to follow: --etherpad-pads (ETHERPAD_PADS)'];
  }
  if (etherpadUrl === undefined && etherpadPads.length > 0) {
    return ['--etherpad-pads (ETHERPAD_PADS) needs a server that has them: --etherpad-url (ETHERPAD_URL)'];
  }
  return [];
}
