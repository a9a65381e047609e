import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonProblem } from '../../services/shared/json-problem.js';
import { compact, compactJson, elements, kindOf, members, readJson } from '../../services/shared/json-text.js';
import { RevcastError } from '../../services/shared/errors.js';

/** A JSON text as a publisher may spell it, and the same without white space between tokens. */
interface Spelling {
  readonly loose: string;
  readonly tight: string;
}

const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 });

function surrounded(inner: fc.Arbitrary<Spelling>): fc.Arbitrary<Spelling> {
  return fc
    .tuple(space, inner, space)
    .map(([before, { loose, tight }, after]) => ({ loose: before + loose + after, tight }));
}

const escaped = fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\n', '\\u0000', '\\u00e9', '\\uD83D\\uDE00', '\\ud800');
const character = fc.oneof(
  escaped,
  fc.constantFrom(' ', '{', '}', '[', ']', ',', ':', '\u2028', '\u007f', '\u{1f600}', 'é', '__proto__'),
  fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom('a', 'b', '0', "'") }),
);
const stringText = fc.array(character, { maxLength: 6 }).map((parts) => `"${parts.join('')}"`);
const same = (text: fc.Arbitrary<string>): fc.Arbitrary<Spelling> => text.map((one) => ({ loose: one, tight: one }));
const scalar = same(
  fc.oneof(
    stringText,
    fc.constantFrom('true', 'false', 'null', '0', '-0', '1.0', '1e400', '1E+2', '12345678901234567890', '-0.10e-7'),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  ),
);

function listed(open: string, close: string, items: fc.Arbitrary<Spelling>): fc.Arbitrary<Spelling> {
  return fc.tuple(space, fc.array(items, { maxLength: 4 })).map(([inside, all]) => ({
    loose: open + inside + all.map((item) => item.loose).join(',') + close,
    tight: open + all.map((item) => item.tight).join(',') + close,
  }));
}

const { value } = fc.letrec<{ value: Spelling }>((tie) => {
  const member = fc.tuple(surrounded(same(stringText)), surrounded(tie('value'))).map(([name, member]) => ({
    loose: `${name.loose}:${member.loose}`,
    tight: `${name.tight}:${member.tight}`,
  }));
  return {
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      scalar,
      listed('[', ']', surrounded(tie('value'))),
      listed('{', '}', member),
    ),
  };
});

const bytes = (text: string) => Buffer.from(text);
const read = (text: string) => readJson(bytes(text));

describe('JSON as text', () => {
  it('[P8] keeps every character of any JSON value but the white space between tokens', () => {
    fc.assert(
      fc.property(surrounded(value), ({ loose, tight }) => {
        expect(Buffer.from(compactJson(bytes(loose))).toString()).toBe(tight);
        expect(JSON.parse(tight)).toEqual(JSON.parse(loose));
      }),
      { numRuns: 2_000 },
    );
  });

  it('[P8] finds the members of any object as JSON.parse does, the last of a repeated name', () => {
    const object = listed(
      '{',
      '}',
      fc
        .tuple(surrounded(same(fc.oneof(stringText, fc.constantFrom('"a"', '"\\u0061"')))), surrounded(value))
        .map(([name, inner]) => ({ loose: `${name.loose}:${inner.loose}`, tight: '' })),
    );
    fc.assert(
      fc.property(surrounded(object), ({ loose }) => {
        const { text, value: span } = read(loose);
        const expected = JSON.parse(loose) as Record<string, unknown>;
        const found = members(text, span);
        expect([...found.keys()].sort()).toEqual(Object.keys(expected).sort());
        for (const [name, inner] of found) {
          const own = Object.getOwnPropertyDescriptor(expected, name)?.value as unknown;
          expect(JSON.parse(compact(text, inner))).toEqual(own);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('[P8] finds the elements of any array', () => {
    fc.assert(
      fc.property(surrounded(listed('[', ']', surrounded(value))), ({ loose }) => {
        const { text, value: span } = read(loose);
        const found = elements(text, span, 100).map((inner) => JSON.parse(compact(text, inner)) as unknown);
        expect(found).toEqual(JSON.parse(loose));
      }),
      { numRuns: 1_000 },
    );
  });

  it('[P8] tells the kind of a value', () => {
    const kinds = ['{}', '[]', '""', '-1', '0', 'true', 'false', 'null'].map((text) => {
      const { text: own, value: span } = read(` ${text} `);
      return kindOf(own, span);
    });
    expect(kinds).toEqual(['object', 'array', 'string', 'number', 'number', 'boolean', 'boolean', 'null']);
  });

  it('[P8] keeps what a parsed value would lose', () => {
    const text =
      '{ "n" : 12345678901234567890.10 , "n" : 1E5, "__proto__" : { "x" : -0 } , "s" : "\\u0041 \\/ \\ud800 { } \u2028" }';
    expect(Buffer.from(compactJson(bytes(text))).toString()).toBe(
      '{"n":12345678901234567890.10,"n":1E5,"__proto__":{"x":-0},"s":"\\u0041 \\/ \\ud800 { } \u2028"}',
    );
  });

  it('[P8] reads a value of a hundred thousand levels without recursion', () => {
    const depth = 100_000;
    const text = '[ '.repeat(depth) + ']'.repeat(depth);
    expect(compactJson(bytes(text)).length).toBe(2 * depth);
  });

  it('[P8] takes time in proportion to a text full of quotes and backslashes', () => {
    const text = `"${'\\\\'.repeat(200_000)}${'\\"'.repeat(200_000)}"`;
    expect(compactJson(bytes(text)).length).toBe(text.length);
  });
});

describe('what is not JSON', () => {
  it('[P2] is found wherever JSON.parse refuses, and nowhere else', () => {
    const alphabet = fc.constantFrom(...'{}[]",:\\/ue-+.0123tfn x\n\u0001é'.split(''), 'true', 'false', 'null', '"a"');
    const broken = fc
      .tuple(value, fc.nat(), fc.nat(3), fc.string({ maxLength: 2, unit: alphabet }))
      .map(([{ loose }, at, cut, put]) => {
        const place = at % (loose.length + 1);
        return loose.slice(0, place) + put + loose.slice(place + cut);
      });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: alphabet, maxLength: 12 }), broken), (text) => {
        expect({ text, sound: findJsonProblem(text) === undefined }).toEqual({ text, sound: parses(text) });
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['', 1, 1, 'a value expected, but the text ends'],
    ['{"a":1,}', 1, 8, 'a name in double quotes expected, but "}" was found'],
    ['{"a" 1}', 1, 6, '":" expected, but "1" was found'],
    ['[1 2]', 1, 4, '"," or "]" expected, but "2" was found'],
    ['{"a":1', 1, 7, '"," or "}" expected, but the text ends'],
    ['[}', 1, 2, 'a value or "]" expected, but "}" was found'],
    ['{1', 1, 2, 'a name in double quotes or "}" expected, but "1" was found'],
    ['{"a":\n  nul}', 2, 3, 'a value expected, but "n" was found'],
    ['[01]', 1, 3, '"," or "]" expected, but "1" was found'],
    ['{} {}', 1, 4, 'the end of the text expected, but "{" was found'],
    ['"a\nb"', 1, 3, 'a control character in a string must be escaped'],
    ['"a\\x"', 1, 3, 'there is no such escape'],
    ['"a', 1, 3, 'the string is not closed'],
    ['\ufeff{}', 1, 1, 'a value expected, but "\ufeff" was found'],
    ['["\u{1f600}", é]', 1, 8, 'a value expected, but "é" was found'],
  ])('[P2] is told with line and column: %j', (text, line, column, problem) => {
    const error = thrownBy(() => readJson(bytes(text)));
    expect(error.code).toBe('invalid_json');
    expect(error.message).toBe(`not valid JSON: ${problem} at line ${line}, column ${column}`);
    expect(error.details['where']).toBe(`line ${line}, column ${column}`);
  });

  it('[P2] is told with the byte, also behind characters of several bytes', () => {
    expect(thrownBy(() => readJson(bytes('["é😀", x]'))).details['byte']).toBe(11);
  });

  it.each([
    [Buffer.from([0x22, 0xff, 0x22]), 1],
    [Buffer.from([0x22, 0xc3]), 1],
    [Buffer.concat([bytes('"ééé😀'), Buffer.from([0xed, 0xa0, 0x80]), bytes('"')]), 11],
    [Buffer.concat([Buffer.alloc(5_000, 0x20), Buffer.from([0xc0, 0xaf])]), 5_000],
  ])('[P2] names the first byte that is not UTF-8 (%#)', (invalid, byte) => {
    const error = thrownBy(() => readJson(invalid));
    expect(error).toMatchObject({ code: 'invalid_json', details: { byte } });
    expect(error.message).toBe(`the JSON text is not valid UTF-8 at byte ${byte}`);
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function thrownBy(action: () => unknown): RevcastError {
  try {
    action();
  } catch (error) {
    if (error instanceof RevcastError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
