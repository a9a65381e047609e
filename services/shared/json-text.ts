/**
 * JSON as text, so that what a publisher wrote is delivered as written: number spellings, escapes, duplicate and odd
 * keys survive, and only white space between tokens is left out. `readJson` decides what is JSON (JSON.parse does);
 * everything else here walks text that is known to be valid, by spans, and neither checks nor copies it.
 * Linear in the text, without recursion: depth costs nothing.
 */
import { RevcastError } from './errors.js';
import { findJsonProblem } from './json-problem.js';

/** Where a value stands in its text: from its first character to behind its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** By a value's first character; numbers have many. */
const KINDS: Readonly<Record<string, JsonKind>> = {
  '{': 'object',
  '[': 'array',
  '"': 'string',
  t: 'boolean',
  f: 'boolean',
  n: 'null',
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING = new Set(Array.from('{[', (c) => c.charCodeAt(0)));
const CLOSING = new Set(Array.from('}]', (c) => c.charCodeAt(0)));

/** The text of UTF-8 bytes and the span of its one JSON value. Throws `invalid_json` that says what is wrong and where. */
export function readJson(bytes: Uint8Array): { text: string; value: Span } {
  const text = decodeUtf8(bytes);
  try {
    JSON.parse(text);
  } catch (error) {
    throw notJson(text, error);
  }
  return { text, value: wholeValue(text) };
}

/** The span of the one value of text that is known to be JSON. */
export function wholeValue(text: string): Span {
  const start = skipSpace(text, 0);
  return { start, end: skipValue(text, start) };
}

/** The one JSON value of the bytes, without white space between tokens. Throws `invalid_json`. */
export function compactJson(bytes: Uint8Array): Uint8Array {
  const { text, value } = readJson(bytes);
  return Buffer.from(compact(text, value));
}

export function kindOf(text: string, { start }: Span): JsonKind {
  return KINDS[text.charAt(start)] ?? 'number';
}

/** The members of an object by their decoded names; of a repeated name the last one counts, as for JSON.parse. */
export function members(text: string, object: Span): Map<string, Span> {
  const found = new Map<string, Span>();
  let at = skipSpace(text, object.start + 1);
  while (at < object.end - 1) {
    const nameEnd = skipString(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    const start = skipSpace(text, skipSpace(text, nameEnd, COLON));
    const end = skipValue(text, start);
    found.set(name, { start, end });
    at = skipSpace(text, skipSpace(text, end, COMMA));
  }
  return found;
}

/** The elements of an array, at most `limit` of them. */
export function elements(text: string, array: Span, limit: number): Span[] {
  const found: Span[] = [];
  let at = skipSpace(text, array.start + 1);
  while (at < array.end - 1 && found.length < limit) {
    const end = skipValue(text, at);
    found.push({ start: at, end });
    at = skipSpace(text, skipSpace(text, end, COMMA));
  }
  return found;
}

/** The value's text without white space between its tokens, otherwise as written. */
export function compact(text: string, { start, end }: Span): string {
  let result = '';
  let kept = start;
  let at = start;
  while (at < end) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = skipString(text, at);
    else if (isSpace(code)) {
      result += text.slice(kept, at);
      at = skipSpace(text, at);
      kept = at;
    } else at += 1;
  }
  return result + text.slice(kept, end);
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** Behind the white space at `at`, and behind `token` if that follows. */
function skipSpace(text: string, at: number, token?: number): number {
  let next = at;
  while (isSpace(text.charCodeAt(next))) next += 1;
  return token !== undefined && text.charCodeAt(next) === token ? next + 1 : next;
}

/** Behind the string whose opening quote is at `at`. */
function skipString(text: string, at: number): number {
  let quote = text.indexOf('"', at + 1);
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote + 1;
}

/** Whether an odd number of backslashes stands before `at`. */
function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === BACKSLASH) before -= 1;
  return (at - before) % 2 === 1;
}

/** Behind the value that begins at `at`. */
function skipValue(text: string, at: number): number {
  let depth = 0;
  let next = at;
  for (;;) {
    const code = text.charCodeAt(next);
    if (code === QUOTE) next = skipString(text, next);
    else if (OPENING.has(code)) {
      depth += 1;
      next += 1;
    } else if (CLOSING.has(code)) {
      depth -= 1;
      next += 1;
    } else if (depth > 0) next += 1;
    else return skipWord(text, next);
    if (depth === 0) return next;
  }
}

/** Behind the number, true, false or null at `at`. */
function skipWord(text: string, at: number): number {
  let next = at;
  while (next < text.length) {
    const code = text.charCodeAt(next);
    if (isSpace(code) || code === COMMA || CLOSING.has(code)) break;
    next += 1;
  }
  return next;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    const byte = validUtf8Prefix(bytes);
    throw new RevcastError('invalid_json', `the JSON text is not valid UTF-8 at byte ${byte}`, {
      cause: error,
      details: { where: `byte ${byte}`, byte },
    });
  }
}

/** How many bytes precede the first sequence that is not UTF-8: halving, since a decoder only says that there is one. */
function validUtf8Prefix(bytes: Uint8Array): number {
  let valid = '';
  let low = 0;
  let high = bytes.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const decoded = decodePrefix(bytes.subarray(0, middle));
    if (decoded === undefined) high = middle - 1;
    else {
      low = middle;
      valid = decoded;
    }
  }
  return Buffer.byteLength(valid);
}

/** The whole characters of bytes that may end inside one; undefined when they cannot go on to be UTF-8. */
function decodePrefix(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}

function notJson(text: string, cause: unknown): RevcastError {
  const found = findJsonProblem(text);
  const offset = found?.offset ?? 0;
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = offset - before.lastIndexOf('\n');
  const byte = Buffer.byteLength(before);
  const problem = found?.problem ?? 'it does not parse';
  const where = `line ${line}, column ${column}`;
  return new RevcastError('invalid_json', `not valid JSON: ${problem} at ${where}`, {
    cause,
    details: { where, byte },
  });
}
