/** Entries as bytes (proto/log.proto) and back. What does not decode to a sound entry throws: the log never guesses. */
import { assert } from '../shared/errors.js';
import { messages } from '../shared/messages.js';
import type { NewEntry } from './entry-store.js';
import type { StoredRevision } from './log.js';

const { Entry: EntryMessage } = messages.log;

/** Eight hex digits for a 32-bit tag. */
export function formatTag(tag: number): string {
  return (tag >>> 0).toString(16).padStart(8, '0');
}

/** The 32-bit number that `formatTag` wrote. */
export function parseTag(tag: string): number {
  return Number.parseInt(tag, 16);
}

/** The entry as the generated message has it, for messages that contain entries. */
export function toEntryMessage(entry: NewEntry): messages.log.Entry.$Shape {
  return {
    room: entry.room,
    epoch: entry.epoch,
    tag: parseTag(entry.tag),
    appendId: Buffer.from(entry.appendId, 'base64url'),
    firstRev: entry.firstRev,
    previousTime: entry.previousTime,
    previousSeq: entry.previousSeq,
    revisions: entry.revisions.map((revision) => ({
      time: revision.time,
      author: revision.author ?? '',
      data: revision.data,
      key: revision.key ?? '',
      appendSize: revision.appendSize ?? 0,
    })),
    ...(entry.base === undefined ? {} : { base: entry.base }),
    ...(entry.previousTag === undefined ? {} : { previousTag: parseTag(entry.previousTag) }),
  };
}

export function fromEntryMessage(message: messages.log.Entry): NewEntry {
  const entry: NewEntry = {
    room: message.room,
    epoch: message.epoch,
    tag: formatTag(message.tag),
    appendId: Buffer.from(message.appendId).toString('base64url'),
    firstRev: message.firstRev,
    previousTime: message.previousTime,
    previousSeq: message.previousSeq,
    revisions: message.revisions.map(toRevision),
    ...(message.base.length === 0 ? {} : { base: message.base }),
    ...(message.previousTag === 0 ? {} : { previousTag: formatTag(message.previousTag) }),
  };
  assert(
    entry.room !== '' &&
      entry.epoch !== '' &&
      Number.isSafeInteger(entry.firstRev) &&
      entry.firstRev >= 1 &&
      entry.revisions.length > 0 === (entry.base === undefined),
    'a sound entry',
  );
  return entry;
}

function toRevision(message: messages.log.StoredRevision.$Properties): StoredRevision {
  return {
    time: message.time ?? 0,
    data: message.data ?? new Uint8Array(0),
    ...(message.author ? { author: message.author } : {}),
    ...(message.key ? { key: message.key } : {}),
    ...(message.appendSize ? { appendSize: message.appendSize } : {}),
  };
}

export function encodeEntry(entry: NewEntry): Uint8Array {
  return EntryMessage.encode(toEntryMessage(entry)).finish();
}

/** Decodes a copy of `bytes`, so that nothing keeps the buffer that they came in. Throws on bytes that are no entry. */
export function decodeEntry(bytes: Uint8Array): NewEntry {
  return fromEntryMessage(EntryMessage.decode(Uint8Array.from(bytes)));
}
