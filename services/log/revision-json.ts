/**
 * One revision as JSON text: `{"room"?,"epoch"?,"rev","tag","time","timeDelta","author"?,"data"}`, in this order. Used by the
 * revision service over HTTP and by the edge's plain protocol, so that both say the same bytes. `data` is embedded as
 * it was stored, byte for byte: it is JSON text already, and is neither parsed nor copied through a string.
 */
import type { Entry } from './log.js';

export interface RevisionFields {
  /** Left out where the answer names the room elsewhere. */
  readonly room?: string;
  /** Told where it begins, with the room's revision 1: who joined the empty room does not know it yet. */
  readonly epoch?: string;
  readonly rev: number;
  /** Eight hex digits. */
  readonly tag: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Milliseconds since the revision before; null for a room's very first. */
  readonly timeDelta: number | null;
  readonly author?: string;
  /** UTF-8 JSON text. */
  readonly data: Uint8Array;
}

const CLOSING_BRACE = 0x7d;

/** The revision as UTF-8 JSON text, in a buffer of its own. */
export function revisionJson(revision: RevisionFields): Buffer {
  const room = revision.room === undefined ? '' : `"room":${JSON.stringify(revision.room)},`;
  const epoch = revision.epoch === undefined ? '' : `"epoch":"${revision.epoch}",`;
  const author = revision.author === undefined ? '' : `,"author":${JSON.stringify(revision.author)}`;
  const before =
    `{${room}${epoch}"rev":${revision.rev},"tag":"${revision.tag}","time":${revision.time},` +
    `"timeDelta":${revision.timeDelta}${author},"data":`;
  const beforeBytes = Buffer.byteLength(before);
  const text = Buffer.allocUnsafe(beforeBytes + revision.data.byteLength + 1);
  text.write(before, 0, 'utf8');
  text.set(revision.data, beforeBytes);
  text[text.length - 1] = CLOSING_BRACE;
  return text;
}

/** Each revision of the entry as JSON text, with the room's name or without. timeDelta comes from the log's times. */
export function entryJson(entry: Entry, options: { withRoom: boolean }): Buffer[] {
  // 0 stands for "there is no revision before".
  let previousTime = entry.previousTime;
  return entry.revisions.map((revision, index) => {
    const timeDelta = previousTime === 0 ? null : revision.time - previousTime;
    previousTime = revision.time;
    return revisionJson({
      ...(options.withRoom ? { room: entry.room } : {}),
      rev: entry.firstRev + index,
      tag: entry.tag,
      time: revision.time,
      timeDelta,
      ...(revision.author === undefined ? {} : { author: revision.author }),
      data: revision.data,
    });
  });
}
