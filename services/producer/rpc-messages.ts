/**
 * The messages of proto/producer.proto and the contract's types, both ways. What is no sound message throws
 * `invalid_request` (requests) or `internal` (replies).
 */
import { formatTag, parseTag } from '../log/entry-codec.js';
import type { Appended } from '../log/log.js';
import { asError, ERROR_STATUS, RevcastError, type ErrorCode } from '../shared/errors.js';
import { messages } from '../shared/messages.js';
import type { Publication } from './contract.js';

export const APPEND_SUBJECT = 'rpc.producer.append';
export const PRODUCER_QUEUE = 'producer';

/** Of an error's message and of its details, so that an error always fits a reply. */
const MAX_ERROR_TEXT_CHARS = 1_000;

const { AppendRequest, AppendReply } = messages.producer;

export function encodeAppendRequest({ room, data, key, expectedRev }: Publication): Uint8Array {
  return AppendRequest.encode({ room, data, key, ...(expectedRev === undefined ? {} : { expectedRev }) }).finish();
}

/** The bytes of the answer are its own. Throws `invalid_request`. */
export function decodeAppendRequest(bytes: Uint8Array): Publication {
  const { room, data, key, expectedRev } = decoded(
    () => AppendRequest.decode(bytes),
    'invalid_request',
    'the request is not an AppendRequest',
  );
  return {
    room,
    data: Uint8Array.from(data),
    key,
    ...(typeof expectedRev === 'number' ? { expectedRev } : {}),
  };
}

export function encodeAppendReply({ epoch, rev, firstRev, tag, seq, time, duplicate }: Appended): Uint8Array {
  return AppendReply.encode({ epoch, rev, firstRev, tag: parseTag(tag), seq, time, duplicate }).finish();
}

export function encodeAppendError({ code, message, retryable, details }: RevcastError): Uint8Array {
  const text = JSON.stringify(details);
  return AppendReply.encode({
    error: {
      code,
      message: message.slice(0, MAX_ERROR_TEXT_CHARS),
      retryable,
      details: text.length > MAX_ERROR_TEXT_CHARS ? '{}' : text,
    },
  }).finish();
}

/** Throws what the producer answered as an error, and `internal` for what is no sound answer. */
export function decodeAppendReply(bytes: Uint8Array): Appended {
  const reply = decoded(() => AppendReply.decode(bytes), 'internal', 'the answer is not an AppendReply');
  if (reply.error) throw fromErrorMessage(reply.error);
  const { epoch, rev, firstRev, tag, seq, time, duplicate } = reply;
  if (epoch === '' || rev < 1 || firstRev < 1 || firstRev > rev) {
    throw new RevcastError('internal', 'the answer is not a sound AppendReply');
  }
  return { epoch, rev, firstRev, tag: formatTag(tag), seq, time, duplicate };
}

function fromErrorMessage({ code, message, retryable, details }: messages.producer.Error.$Properties): RevcastError {
  // A producer of a newer version may know codes that this one does not.
  const known = typeof code === 'string' && Object.hasOwn(ERROR_STATUS, code);
  const unknown = retryable ? 'outcome_unknown' : 'internal';
  return new RevcastError(known ? (code as ErrorCode) : unknown, message ?? '', { details: fromDetails(details) });
}

function fromDetails(text: string | null | undefined): Readonly<Record<string, unknown>> {
  const details = decoded<unknown>(
    () => JSON.parse(text || '{}'),
    'internal',
    'the details of an answer are not a JSON object',
  );
  return typeof details === 'object' && details !== null && !Array.isArray(details) ? { ...details } : {};
}

function decoded<T>(decode: () => T, code: 'invalid_request' | 'internal', message: string): T {
  try {
    return decode();
  } catch (error) {
    throw new RevcastError(code, message, { cause: asError(error) });
  }
}
