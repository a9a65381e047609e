/**
 * The messages of proto/revision.proto and the contract's types, both ways. Whoever decodes is at a boundary: what is
 * no sound message throws `invalid_request` (requests) or `internal` (replies), and never becomes a half-read answer.
 */
import { formatTag, fromEntryMessage, parseTag, toEntryMessage } from '../log/entry-codec.js';
import type { Entry, Head, Snapshot } from '../log/log.js';
import { asError, ERROR_STATUS, RevcastError, type ErrorCode } from '../shared/errors.js';
import { messages } from '../shared/messages.js';
import { parseRoomName } from '../shared/room-name.js';
import type { ClientPosition, KnownHead, RangeAnswer, RangeQuery, RoomHead, SnapshotAnswer } from './contract.js';

export const HEADS_SUBJECT = 'rpc.revision.heads';
export const RANGE_SUBJECT = 'rpc.revision.range';
export const SNAPSHOT_SUBJECT = 'rpc.revision.snapshot';
export const REVISION_QUEUE = 'revision';

/** Rooms in one heads request; proto/revision.proto says so too. */
export const MAX_HEADS_ROOMS = 1_000;
/** What a room costs in a heads request or its reply beside its name, at most. */
export const HEAD_BYTES = 160;
/** What a range reply has beside its entries, at most: the head, or an error. */
export const RANGE_REPLY_BYTES = 512;
/** Of an error's message, so that an error always fits. */
const MAX_ERROR_MESSAGE_CHARS = 300;

const { HeadsRequest, HeadsReply, RangeRequest, RangeReply, SnapshotRequest, SnapshotReply } = messages.revision;
type PositionMessage = messages.revision.Position.$Properties;
type HeadMessage = messages.revision.Head.$Properties;
type ErrorMessage = messages.revision.Error.$Properties;

export function encodeHeadsRequest(known: readonly KnownHead[]): Uint8Array {
  const rooms = known.map(({ room, position }) =>
    position === null ? { room } : { room, position: toPositionMessage(position) },
  );
  return HeadsRequest.encode({ rooms }).finish();
}

/** Throws `invalid_request`, `invalid_room`, or `too_large`. */
export function decodeHeadsRequest(bytes: Uint8Array): KnownHead[] {
  const { rooms } = decoded(() => HeadsRequest.decode(bytes), 'invalid_request', 'the request is not a HeadsRequest');
  if (rooms.length > MAX_HEADS_ROOMS) {
    throw new RevcastError('too_large', `${rooms.length} rooms in one request, at most ${MAX_HEADS_ROOMS} are allowed`);
  }
  return rooms.map(({ room, position }) => ({
    room: parseRoomName(room ?? ''),
    position: position ? fromPositionMessage(position) : null,
  }));
}

export function encodeHeadsReply(heads: readonly RoomHead[]): Uint8Array {
  return HeadsReply.encode({ heads: heads.map(({ room, head }) => toHeadMessage(head, room)) }).finish();
}

export function encodeHeadsError(error: RevcastError): Uint8Array {
  return HeadsReply.encode({ error: toErrorMessage(error) }).finish();
}

/** Throws what the service answered as an error. */
export function decodeHeadsReply(bytes: Uint8Array): RoomHead[] {
  const reply = decoded(() => HeadsReply.decode(bytes), 'internal', 'the answer is not a HeadsReply');
  if (reply.error) throw fromErrorMessage(reply.error);
  return reply.heads.map((head) => ({ room: head.room ?? '', head: fromHeadMessage(head) }));
}

export function encodeRangeRequest(query: RangeQuery): Uint8Array {
  const { room, after, limit, maxBytes, hint } = query;
  return RangeRequest.encode({
    room,
    ...(after === null ? {} : { after: toPositionMessage(after) }),
    limit,
    maxBytes,
    hint: hint ?? 0,
  }).finish();
}

/** Throws `invalid_request` or `invalid_room`. A limit that the request leaves open is MAX_SAFE_INTEGER. */
export function decodeRangeRequest(bytes: Uint8Array): RangeQuery {
  const request = decoded(() => RangeRequest.decode(bytes), 'invalid_request', 'the request is not a RangeRequest');
  const hint = wholeNumber(request.hint, 'hint');
  return {
    room: parseRoomName(request.room),
    after: request.after ? fromPositionMessage(request.after) : null,
    limit: request.limit || Number.MAX_SAFE_INTEGER,
    maxBytes: request.maxBytes || Number.MAX_SAFE_INTEGER,
    ...(hint === 0 ? {} : { hint }),
  };
}

export function encodeRangeReply(answer: RangeAnswer): Uint8Array {
  switch (answer.kind) {
    case 'entries':
      return RangeReply.encode({
        entries: answer.entries.map(toRangeEntry),
        head: toHeadMessage(answer.head),
      }).finish();
    case 'truncated': {
      return encodeRangeError(truncatedError(answer.firstRev), { firstRev: answer.firstRev, head: answer.head });
    }
    case 'epoch_changed':
      return encodeRangeError(new RevcastError('epoch_changed', 'the position is of another history'), {
        head: answer.head,
      });
  }
}

export function encodeRangeError(
  error: RevcastError,
  details: { firstRev?: number; head?: Head | null } = {},
): Uint8Array {
  return RangeReply.encode({ error: toErrorMessage(error, details) }).finish();
}

/** Throws what the service answered as an error, and `internal` for entries that are not sound. */
export function decodeRangeReply(bytes: Uint8Array): RangeAnswer {
  return decoded(
    () => {
      const { entries, head, error } = RangeReply.decode(bytes);
      if (!error) return { kind: 'entries', entries: entries.map(fromRangeEntry), head: fromHeadMessage(head ?? {}) };
      const errorHead = fromHeadMessage(error.head ?? {});
      if (error.code === 'epoch_changed') return { kind: 'epoch_changed', head: errorHead };
      if (error.code === 'history_truncated' && errorHead !== null && error.firstRev) {
        return { kind: 'truncated', firstRev: error.firstRev, head: errorHead };
      }
      throw fromErrorMessage(error);
    },
    'internal',
    'the answer is not a RangeReply',
  );
}

export function encodeSnapshotRequest(room: string): Uint8Array {
  return SnapshotRequest.encode({ room }).finish();
}

/** Throws `invalid_request` or `invalid_room`. */
export function decodeSnapshotRequest(bytes: Uint8Array): string {
  const { room } = decoded(
    () => SnapshotRequest.decode(bytes),
    'invalid_request',
    'the request is not a SnapshotRequest',
  );
  return parseRoomName(room);
}

export function encodeSnapshotReply(room: string, answer: SnapshotAnswer): Uint8Array {
  if (answer.kind === 'truncated') {
    const { firstRev, head } = answer;
    return SnapshotReply.encode({ error: toErrorMessage(truncatedError(firstRev), { firstRev, head }) }).finish();
  }
  const head = toHeadMessage(answer.head);
  if (answer.kind === 'none') return SnapshotReply.encode({ head }).finish();
  const { epoch, rev, tag, time, data } = answer.snapshot;
  return SnapshotReply.encode({ snapshot: { room, epoch, rev, tag: parseTag(tag), time, data }, head }).finish();
}

export function encodeSnapshotError(error: RevcastError): Uint8Array {
  return SnapshotReply.encode({ error: toErrorMessage(error) }).finish();
}

/** Throws what the service answered as an error, and `internal` for what is no sound answer about `room`. */
export function decodeSnapshotReply(room: string, bytes: Uint8Array): SnapshotAnswer {
  const { snapshot, head, error } = decoded(
    () => SnapshotReply.decode(bytes),
    'internal',
    'the answer is not a SnapshotReply',
  );
  if (error) {
    const errorHead = fromHeadMessage(error.head ?? {});
    if (error.code === 'history_truncated' && errorHead !== null && error.firstRev) {
      return { kind: 'truncated', firstRev: error.firstRev, head: errorHead };
    }
    throw fromErrorMessage(error);
  }
  const roomHead = fromHeadMessage(head ?? {});
  if (!snapshot) return { kind: 'none', head: roomHead };
  if (snapshot.room !== room || roomHead === null || !snapshot.epoch || !snapshot.data?.length) {
    throw new RevcastError('internal', 'the answer is not a sound SnapshotReply');
  }
  return { kind: 'snapshot', snapshot: fromSnapshotMessage(snapshot), head: roomHead };
}

function fromSnapshotMessage({ epoch, rev, tag, time, data }: messages.log.Snapshot.$Properties): Snapshot {
  return {
    epoch: epoch ?? '',
    rev: rev ?? 0,
    tag: formatTag(tag ?? 0),
    time: time ?? 0,
    // A copy: the network client's buffer is not kept.
    data: Uint8Array.from(data ?? []),
  };
}

function toRangeEntry(entry: Entry): messages.revision.RangeEntry.$Properties {
  return { entry: toEntryMessage(entry), seq: entry.seq };
}

function fromRangeEntry({ entry, seq }: messages.revision.RangeEntry.$Properties): Entry {
  return { ...fromEntryMessage(new messages.log.Entry(entry ?? {})), seq: seq ?? 0 };
}

function toPositionMessage({ epoch, rev, tag }: ClientPosition): PositionMessage {
  return { epoch, rev, tag: tag === undefined || tag === '' ? 0 : parseTag(tag) };
}

function fromPositionMessage({ epoch, rev, tag }: PositionMessage): ClientPosition {
  return { epoch: epoch ?? '', rev: wholeNumber(rev, 'rev'), ...(tag ? { tag: formatTag(tag) } : {}) };
}

function toHeadMessage(head: Head | null, room = ''): HeadMessage {
  return head === null
    ? { room, position: {} }
    : { room, position: toPositionMessage(head), seq: head.seq, time: head.time };
}

function fromHeadMessage({ position, seq, time }: HeadMessage): Head | null {
  const epoch = position?.epoch ?? '';
  if (epoch === '') return null;
  return {
    epoch,
    rev: position?.rev ?? 0,
    tag: formatTag(position?.tag ?? 0),
    seq: seq ?? 0,
    time: time ?? 0,
  };
}

function truncatedError(firstRev: number): RevcastError {
  return new RevcastError('history_truncated', `the oldest kept revision is ${firstRev}`);
}

function toErrorMessage(
  { code, message, retryable }: RevcastError,
  { firstRev = 0, head }: { firstRev?: number; head?: Head | null } = {},
): ErrorMessage {
  return {
    code,
    message: message.slice(0, MAX_ERROR_MESSAGE_CHARS),
    retryable,
    firstRev,
    ...(head === undefined ? {} : { head: toHeadMessage(head) }),
  };
}

function fromErrorMessage({ code, message, retryable }: ErrorMessage): RevcastError {
  // A service of a newer version may know codes that this one does not.
  const known = typeof code === 'string' && Object.hasOwn(ERROR_STATUS, code);
  return new RevcastError(known ? (code as ErrorCode) : retryable ? 'overloaded' : 'internal', message ?? '');
}

function wholeNumber(value: number | null | undefined, name: string): number {
  const number = value ?? 0;
  if (Number.isSafeInteger(number)) return number;
  throw new RevcastError('invalid_request', `${name} is larger than any revision can be`);
}

function decoded<T>(decode: () => T, code: 'invalid_request' | 'internal', message: string): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof RevcastError) throw error;
    throw new RevcastError(code, message, { cause: asError(error) });
  }
}
