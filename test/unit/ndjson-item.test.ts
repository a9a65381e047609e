import { describe, expect, it } from 'vitest';
import { parseLine, type NdjsonFormat } from '../../services/producer/sources/ndjson-item.js';
import { ndjsonSettings } from '../../services/producer/sources/ndjson-settings.js';
import { RevcastError } from '../../services/shared/errors.js';
import { readSettings } from '../../services/shared/settings.js';

const format: NdjsonFormat = { raw: false, room: 'doc', maxLineBytes: 1_000 };
const raw: NdjsonFormat = { ...format, raw: true };

const parse = (text: string | Uint8Array, as: NdjsonFormat = format) =>
  parseLine({ kind: 'line', number: 7, bytes: typeof text === 'string' ? Buffer.from(text) : text }, as);

function refusal(text: string | Uint8Array, as: NdjsonFormat = format) {
  try {
    return { published: parse(text, as) };
  } catch (error) {
    if (!(error instanceof RevcastError)) throw error;
    return { code: error.code, message: error.message, column: error.details['column'], line: error.details['line'] };
  }
}

const dataOf = (text: string, as: NdjsonFormat = format) => Buffer.from(parse(text, as)?.data ?? []).toString();

describe('a line', () => {
  it('[N1] names its data, and author, key and room where it has them', () => {
    const item = parse('{"room":"other","key":"k1","author":"writer-1","data":[1]}\r');
    expect(item).toEqual({ line: 7, room: 'other', key: 'k1', author: 'writer-1', data: Buffer.from('[1]') });
    expect(parse('{"data":null}')).toEqual({ line: 7, room: 'doc', data: Buffer.from('null') });
  });

  it('[N1] is blank or white space: nothing is published', () => {
    for (const text of ['', ' ', '\t \r']) expect(parse(text)).toBeNull();
  });

  it.each([
    ['{"data": 1.50 }', '1.50'],
    ['{"data":1e400}', '1e400'],
    ['{"data":123456789012345678901234567890}', '123456789012345678901234567890'],
    ['{ "data" : { "b" : [ 1 , 2 ] , "a" : "x  y" , "a" : "\\u0041\\/" } }', '{"b":[1,2],"a":"x  y","a":"\\u0041\\/"}'],
    ['{"data":"\\ud800"}', '"\\ud800"'],
    ['{"data":"€ 😀 \u2028"}', '"€ 😀 \u2028"'],
    ['{"data":{"__proto__":1}}', '{"__proto__":1}'],
  ])('[N2] %s is published with its data as written, but for white space between tokens', (text, data) => {
    expect(dataOf(text)).toBe(data);
  });

  it('[N2] is the data itself with raw, whatever its kind', () => {
    for (const text of ['{"data":1,"x":2}', '[]', '"a b"', '1.0', 'true', 'null']) expect(dataOf(text, raw)).toBe(text);
    expect(dataOf(' { "a" : 1 } \r', raw)).toBe('{"a":1}');
  });
});

describe('a bad line', () => {
  it.each([
    ['{"data":1', 10, 'invalid_json', 'line 7, column 10: not valid JSON: "," or "}" expected, but the text ends'],
    ['{"data":tru}', 9, 'invalid_json', 'line 7, column 9: not valid JSON: a value expected, but "t" was found'],
    ['{"data":1} {"data":2}', 12, 'invalid_json', undefined],
    ['{"data":"€", "room": }', 22, 'invalid_json', undefined],
    ['[1]', 1, 'invalid_request', 'line 7, column 1: the line must be an object with "data", not array'],
    ['  7', 3, 'invalid_request', undefined],
    ['{"author":"writer-1"}', 1, 'invalid_request', 'line 7, column 1: "data" is missing'],
    ['{"data":1,"rooom":"x"}', 19, 'invalid_request', undefined],
    ['{"data":1,"author":7}', 20, 'invalid_request', 'line 7, column 20: "author" must be a string, not number'],
    ['{"data":1,"key":""}', 17, 'invalid_request', undefined],
    ['{"data":1,"author":"\\ud800"}', 20, 'invalid_request', undefined],
    ['{"data":1,"room":""}', 18, 'invalid_room', 'line 7, column 18: the room name is empty'],
  ])('[N3] %s is refused at column %i', (text, column, code, message) => {
    const found = refusal(text);
    expect(found).toMatchObject({ code, column, line: 7 });
    if (message !== undefined) expect(found.message).toBe(message);
  });

  it.each([
    [[0x22, 0xff, 0x22], 2],
    [[0x22, 0xe2, 0x82, 0xac, 0xe2, 0x82, 0x22], 3],
    [[0x22, 0xc0, 0x80, 0x22], 2],
    [[0x22, 0xed, 0xa0, 0x80, 0x22], 2],
    [[0x22, 0xf0, 0x9f, 0x98], 2],
  ])('[N3] bytes that are not UTF-8 are refused, at the character where they stand', (bytes, column) => {
    expect(refusal(Uint8Array.from(bytes), raw)).toEqual({
      code: 'invalid_json',
      message: `line 7, column ${column}: not valid UTF-8`,
      line: 7,
      column,
    });
  });

  it('[N3] no room anywhere is refused', () => {
    expect(refusal('{"data":1}', { ...format, room: undefined })).toMatchObject({ code: 'invalid_request', line: 7 });
    expect(refusal('1', { ...raw, room: undefined })).toMatchObject({ code: 'invalid_request', line: 7 });
  });

  it('[N4] a line over the limit is refused with both sizes', () => {
    expect(() => parseLine({ kind: 'too_long', number: 3, length: 1_001 }, format)).toThrow(
      'line 3: the line has 1001 bytes, at most 1000 are allowed',
    );
  });
});

it('[C1] the settings of a file, its room and how to read it', () => {
  expect(readSettings(ndjsonSettings, { ndjsonFile: '-', ndjsonRaw: true }, { NDJSON_ROOM: 'doc' })).toMatchObject({
    ndjsonFile: '-',
    ndjsonRoom: 'doc',
    ndjsonRaw: true,
    ndjsonSkipBad: false,
  });
});
