/**
 * One line of NDJSON as what is to be appended. A line is `{"data": …, "author"?, "key"?, "room"?}`, or with `raw` any
 * JSON value, which is then the data. Unknown properties are refused: a misspelled "room" must not publish elsewhere.
 * The data is the line's own text without white space between tokens, never rebuilt from a parsed value.
 */
import { isUtf8 } from 'node:buffer';
import { RevcastError, type ErrorCode } from '../../shared/errors.js';
import { parseRoomName } from '../../shared/room-name.js';
import { checkName } from '../append-limits.js';
import { findJsonProblem } from '../../shared/json-problem.js';
import { compact, kindOf, members, readJson, type Span } from '../../shared/json-text.js';
import type { Line } from './ndjson-lines.js';

export interface NdjsonItem {
  /** Counted from 1. */
  readonly line: number;
  readonly room: string;
  readonly data: Uint8Array;
  readonly author?: string;
  readonly key?: string;
}

export interface NdjsonFormat {
  /** Every line is data. */
  readonly raw: boolean;
  /** Of lines that name none. */
  readonly room: string | undefined;
  readonly maxLineBytes: number;
}

const PROPERTIES = ['data', 'author', 'key', 'room'];

/** What the line asks to append; null: it is blank. Throws RevcastError (details: line, column). */
export function parseLine(line: Line, format: NdjsonFormat): NdjsonItem | null {
  if (line.kind === 'too_long') {
    const message = `has ${line.length} bytes, at most ${format.maxLineBytes} are allowed`;
    throw lineError('too_large', line.number, undefined, `the line ${message}`);
  }
  if (isBlank(line.bytes)) return null;
  const { text, value } = readText(line.number, line.bytes);
  if (format.raw) {
    if (format.room === undefined) throw noRoom(line.number);
    return { line: line.number, room: format.room, data: Buffer.from(compact(text, value)) };
  }
  return parseObject(line.number, text, value, format);
}

/** An error of a line, which it names. Columns count characters, from 1. */
export function lineError(code: ErrorCode, line: number, column: number | undefined, problem: string): RevcastError {
  const where = column === undefined ? `line ${line}` : `line ${line}, column ${column}`;
  return new RevcastError(code, `${where}: ${problem}`, {
    details: { line, ...(column === undefined ? {} : { column }) },
  });
}

function parseObject(line: number, text: string, value: Span, format: NdjsonFormat): NdjsonItem {
  if (kindOf(text, value) !== 'object') {
    const problem = `the line must be an object with "data", not ${kindOf(text, value)}`;
    throw lineError('invalid_request', line, value.start + 1, problem);
  }
  const found = members(text, value);
  for (const [name, span] of found) {
    if (PROPERTIES.includes(name)) continue;
    const problem = `unknown property ${JSON.stringify(name.slice(0, 80))}; known are ${PROPERTIES.join(', ')}`;
    throw lineError('invalid_request', line, span.start + 1, problem);
  }
  const data = found.get('data');
  if (data === undefined) throw lineError('invalid_request', line, value.start + 1, '"data" is missing');
  const author = stringAt(line, text, found, 'author', checkedName);
  const key = stringAt(line, text, found, 'key', checkedName);
  const room = stringAt(line, text, found, 'room', (_name, name) => parseRoomName(name)) ?? format.room;
  if (room === undefined) throw noRoom(line);
  return {
    line,
    room,
    data: Buffer.from(compact(text, data)),
    ...(author === undefined ? {} : { author }),
    ...(key === undefined ? {} : { key }),
  };
}

/** The checked text of a property, if it is there. */
function stringAt(
  line: number,
  text: string,
  found: ReadonlyMap<string, Span>,
  property: string,
  check: (property: string, value: string) => string,
): string | undefined {
  const span = found.get(property);
  if (span === undefined) return undefined;
  const kind = kindOf(text, span);
  if (kind !== 'string') {
    throw lineError('invalid_request', line, span.start + 1, `"${property}" must be a string, not ${kind}`);
  }
  try {
    return check(property, JSON.parse(text.slice(span.start, span.end)) as string);
  } catch (error) {
    if (!(error instanceof RevcastError)) throw error;
    throw lineError(error.code, line, span.start + 1, error.message);
  }
}

function checkedName(property: string, value: string): string {
  checkName(property, value);
  return value;
}

function readText(line: number, bytes: Uint8Array): { text: string; value: Span } {
  try {
    return readJson(bytes);
  } catch (error) {
    if (!(error instanceof RevcastError)) throw error;
    if (isUtf8(bytes)) {
      const found = findJsonProblem(Buffer.from(bytes).toString());
      throw lineError(error.code, line, (found?.offset ?? 0) + 1, `not valid JSON: ${found?.problem ?? error.message}`);
    }
    const valid = Number(error.details['byte']);
    const column = Buffer.from(bytes.subarray(0, valid)).toString().length + 1;
    throw lineError(error.code, line, column, 'not valid UTF-8');
  }
}

function noRoom(line: number): RevcastError {
  return lineError('invalid_request', line, undefined, 'the line names no room, and no room is set');
}

/** Only JSON's white space. */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
