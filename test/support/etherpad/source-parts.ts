/** What a test needs to run an Etherpad source: short waits, its faults, its log lines, and what its room holds. */
import { pino } from 'pino';
import { EtherpadSource } from '../../../services/producer/sources/etherpad-source.js';
import type { PadLog } from '../../../services/producer/sources/etherpad-room.js';
import {
  etherpadSettings,
  type EtherpadValues,
  type PadInRoom,
} from '../../../services/producer/sources/etherpad-settings.js';
import type { Log, StoredRevision } from '../../../services/log/log.js';
import { systemClock } from '../../../services/shared/clock.js';
import { parsePadRevision, parsePadSnapshot, type PadRevision } from '../../../services/shared/pad-data.js';
import { readSettings } from '../../../services/shared/settings.js';
import { PadText } from './changeset.js';

export interface PadLogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface StartedPadSource {
  readonly source: EtherpadSource;
  readonly faults: readonly Error[];
  readonly lines: readonly PadLogLine[];
}

/** The log as a source sees it, with some of its methods replaced. */
export function padLog(log: Log, replaced: Partial<PadLog>): PadLog {
  return {
    append: (room, append) => log.append(room, append),
    heads: (rooms) => log.heads(rooms),
    range: (room, from, options) => log.range(room, from, options),
    snapshot: (room) => log.snapshot(room),
    putSnapshot: (room, snapshot) => log.putSnapshot(room, snapshot),
    ...replaced,
  };
}

/** Starts a source with waits of milliseconds instead of seconds. */
export function startPadSource(
  url: string,
  log: PadLog,
  settings: Partial<EtherpadValues> = {},
  pad: PadInRoom = { pad: 'notes', room: 'pad:notes' },
): StartedPadSource {
  const faults: Error[] = [];
  const lines: PadLogLine[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as PadLogLine);
  const source = new EtherpadSource({
    settings: { ...readSettings(etherpadSettings, {}, {}), etherpadUrl: url, etherpadTimeoutMs: 2_000, ...settings },
    pad,
    log,
    logger: pino({ level: 'debug' }, { write }),
    clock: systemClock,
    onFault: (fault) => faults.push(fault),
    retry: { firstMs: 10, maxMs: 100 },
    lookMs: 200,
  });
  source.start();
  return { source, faults, lines };
}

/** One numbering of a room, read from its beginning. */
export interface PadRoomContent {
  readonly epoch: string;
  /** Where it began. */
  readonly firstRev: number;
  /** Each revision that follows, in order. */
  readonly revisions: readonly (PadRevision & { rev: number; storedAuthor: string | undefined })[];
  /** The text as a viewer has it who applied them all to what the room began with. */
  readonly text: PadText;
}

/** null while the room has not begun. Throws when what it holds is not consecutive, or does not fit. */
export async function readPadRoom(log: Log, room = 'pad:notes'): Promise<PadRoomContent | null> {
  const stored: { rev: number; revision: StoredRevision }[] = [];
  let from: number | 'first' = 'first';
  let epoch = '';
  for (;;) {
    const range = await log.range(room, from, { limit: 1_000, maxBytes: 1 << 20 });
    if (range.kind !== 'entries') return null;
    for (const entry of range.entries) {
      if (epoch !== entry.epoch) stored.length = 0;
      epoch = entry.epoch;
      entry.revisions.forEach((revision, index) => stored.push({ rev: entry.firstRev + index, revision }));
    }
    if (epoch !== range.head.epoch) stored.length = 0;
    epoch = range.head.epoch;
    from = (stored.at(-1)?.rev ?? range.head.rev) + 1;
    if (from > range.head.rev) break;
  }
  const base = await log.snapshot(room);
  if (base === null) return null;
  const revisions = stored.map(({ rev, revision }) => {
    const parsed = parsePadRevision(revision.data);
    if (parsed === null) throw new Error(`revision ${rev} is no revision of a pad`);
    return Object.assign(parsed, { rev, storedAuthor: revision.author });
  });
  const firstRev = (revisions[0]?.rev ?? base.rev + 1) - 1;
  return { epoch, firstRev, revisions, text: textAfter(base, revisions) };
}

/** The text that a newcomer has: the snapshot, and what follows it. */
function textAfter(
  snapshot: { rev: number; data: Uint8Array },
  revisions: readonly (PadRevision & { rev: number })[],
): PadText {
  const content = parsePadSnapshot(snapshot.data);
  if (content === null) throw new Error('the snapshot is no snapshot of a pad');
  const text = PadText.of(content.initialAttributedText, content.apool);
  let { rev } = snapshot;
  for (const revision of revisions.filter((each) => each.rev > snapshot.rev)) {
    rev += 1;
    if (revision.rev !== rev) throw new Error(`revision ${revision.rev} where ${rev} was due`);
    text.apply(revision);
  }
  return text;
}
