import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseDeflate } from '../../services/edge/deflate-offer.js';

const ACCEPTED = [
  'permessage-deflate',
  '  permessage-deflate\t',
  'permessage-deflate; client_max_window_bits',
  'permessage-deflate;client_max_window_bits',
  'permessage-deflate ; client_max_window_bits = 15',
  'permessage-deflate; client_max_window_bits=8',
  'permessage-deflate; client_max_window_bits=9',
  'permessage-deflate; client_max_window_bits=10',
  'permessage-deflate; client_max_window_bits="12"',
  String.raw`permessage-deflate; client_max_window_bits="1\2"`,
  'permessage-deflate; server_no_context_takeover',
  'permessage-deflate; client_no_context_takeover',
  'permessage-deflate; server_no_context_takeover; client_no_context_takeover; client_max_window_bits=15',
  'permessage-deflate; client_max_window_bits; server_no_context_takeover',
  'x-webkit-deflate-frame, permessage-deflate; client_max_window_bits',
  'permessage-deflate, permessage-deflate',
  // The first asks for a server window, the second does not (RFC 7692, section 7.1.2.1 has this fallback as its example).
  'permessage-deflate; server_max_window_bits=10, permessage-deflate',
  'permessage-deflate; foo, permessage-deflate',
  'permessage-deflate, permessage-deflate; server_max_window_bits=10',
  'foo; bar="token", permessage-deflate',
  // Header lines joined, one of them empty (RFC 9110, section 5.6.1: empty elements are passed over).
  ', permessage-deflate',
  'permessage-deflate,',
  'foo, ,permessage-deflate',
];

const REFUSED = [
  ['nothing', ''],
  ['white space', ' \t '],
  ['only commas', ',,,'],
  ['another extension', 'x-webkit-deflate-frame'],
  ['another spelling', 'Permessage-Deflate'],
  ['a longer name', 'permessage-deflate2'],
  ['the name as a parameter', 'foo; permessage-deflate'],
  ['a server window', 'permessage-deflate; server_max_window_bits=10'],
  ['the largest server window', 'permessage-deflate; server_max_window_bits=15'],
  ['a server window without a value', 'permessage-deflate; server_max_window_bits'],
  ['an unknown parameter', 'permessage-deflate; foo'],
  ['an unknown parameter with a value', 'permessage-deflate; foo=bar'],
  ['another spelling of a parameter', 'permessage-deflate; Client_Max_Window_Bits'],
  ['a parameter twice', 'permessage-deflate; client_max_window_bits; client_max_window_bits'],
  ['a parameter twice, with other values', 'permessage-deflate; client_max_window_bits=10; client_max_window_bits=11'],
  ['a takeover parameter twice', 'permessage-deflate; server_no_context_takeover; server_no_context_takeover'],
  ['a window of 7', 'permessage-deflate; client_max_window_bits=7'],
  ['a window of 16', 'permessage-deflate; client_max_window_bits=16'],
  ['a window of 0', 'permessage-deflate; client_max_window_bits=0'],
  ['a leading zero', 'permessage-deflate; client_max_window_bits=08'],
  ['a sign', 'permessage-deflate; client_max_window_bits=+9'],
  ['a fraction', 'permessage-deflate; client_max_window_bits=9.0'],
  ['an exponent', 'permessage-deflate; client_max_window_bits=1e1'],
  ['words for a window', 'permessage-deflate; client_max_window_bits=ten'],
  ['a value where there must be none', 'permessage-deflate; server_no_context_takeover=1'],
  ['a quoted value where there must be none', 'permessage-deflate; client_no_context_takeover="1"'],
  ['no value behind =', 'permessage-deflate; client_max_window_bits='],
  ['an empty quoted value', 'permessage-deflate; client_max_window_bits=""'],
  ['a quoted value that is no token', 'permessage-deflate; client_max_window_bits="1 0"'],
  ['a quoted value that is no token, elsewhere', 'foo; bar="a,b;c", permessage-deflate'],
  ['an open quotation', 'permessage-deflate; client_max_window_bits="10'],
  ['a quotation that escapes its end', String.raw`permessage-deflate; client_max_window_bits="10\"`],
  ['a semicolon at the end', 'permessage-deflate;'],
  ['two semicolons', 'permessage-deflate;; client_max_window_bits'],
  ['no name', '; client_max_window_bits'],
  ['no name of a parameter', 'permessage-deflate; =10'],
  ['two names', 'permessage-deflate permessage-deflate'],
  ['two values', 'permessage-deflate; client_max_window_bits=10 11'],
  ['a quotation as a name', '"permessage-deflate"'],
  ['a quotation behind a value', 'permessage-deflate; client_max_window_bits=10"11"'],
  ['a sound offer behind a malformed one', 'foo; =1, permessage-deflate'],
  ['a malformed offer behind a sound one', 'permessage-deflate, foo bar'],
  ['a line break', 'permessage-deflate\r\n'],
  ['a zero byte', 'permessage-deflate\0'],
  ['letters outside ASCII', 'permessage-deflate; client_max_window_bits=１０'],
  ['a quoted letter outside ASCII', 'foo; bar="é", permessage-deflate'],
] as const;

describe('the choice of compression', () => {
  test.each(ACCEPTED.map((header) => [header]))('[F3] accepts %j', (header) => {
    expect(chooseDeflate(header)).toBe('permessage-deflate');
  });

  test.each(REFUSED)('[F3] offers nothing to %s', (_what, header) => {
    expect(chooseDeflate(header)).toBe('');
  });

  test('[F3] answers one of two words to anything, and never throws', () => {
    const piece = fc.oneof(
      fc.constantFrom('permessage-deflate', 'client_max_window_bits', ';', ',', '=', '"', '\\', ' ', '10', '\t', '\0'),
      fc.string({ maxLength: 3, unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        expect(['', 'permessage-deflate']).toContain(chooseDeflate(pieces.join('')));
      }),
      { numRuns: 5_000 },
    );
  });

  test('[F3] accepts every well-formed offer, however it is spaced, quoted and ordered', () => {
    const space = fc.constantFrom('', ' ', '\t', '  ');
    const bits = fc.integer({ min: 8, max: 15 }).chain((n) => fc.constantFrom(`=${n}`, `="${n}"`, `= ${n}`, ''));
    const parameters = fc.shuffledSubarray(['server_no_context_takeover', 'client_no_context_takeover', 'bits']);
    fc.assert(
      fc.property(parameters, bits, fc.array(space, { minLength: 10, maxLength: 10 }), (names, value, spaces) => {
        const parts = names.map((name) => (name === 'bits' ? `client_max_window_bits${value}` : name));
        let header = 'permessage-deflate';
        for (const [i, part] of parts.entries()) header += `${spaces[i * 2]};${spaces[i * 2 + 1]}${part}`;
        expect(chooseDeflate(header)).toBe('permessage-deflate');
      }),
    );
  });

  test('[F3] takes time in proportion to the length of what it reads', () => {
    const long = 'permessage-deflate; client_max_window_bits="'.repeat(20_000);
    expect(chooseDeflate(long)).toBe('');
    expect(chooseDeflate(`foo; bar="${'\\a'.repeat(500_000)}`)).toBe('');
    expect(chooseDeflate(`${' '.repeat(500_000)}permessage-deflate${','.repeat(100_000)}`)).toBe('permessage-deflate');
  });
});
