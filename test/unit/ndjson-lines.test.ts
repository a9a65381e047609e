import { array, assert, asyncProperty, constantFrom, integer, oneof, string, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitLines, type Line } from '../../services/producer/sources/ndjson-lines.js';

/** The lines of `bytes`, given in chunks that end where `cuts` says. */
async function linesOf(bytes: Uint8Array, cuts: readonly number[], maxLineBytes = 1_000): Promise<Line[]> {
  async function* chunks() {
    let start = 0;
    for (const cut of [...cuts.map((each) => each % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
      await Promise.resolve();
      yield bytes.subarray(start, cut);
      start = cut;
    }
  }
  const lines: Line[] = [];
  for await (const found of splitLines(chunks(), maxLineBytes)) lines.push(...found);
  return lines;
}

const texts = (lines: readonly Line[]) =>
  lines.map((line) => (line.kind === 'line' ? Buffer.from(line.bytes).toString() : `${line.length} bytes`));

describe('lines', () => {
  it('[N1] are the same wherever chunks end, inside a character too', async () => {
    const piece = oneof(string({ unit: 'grapheme', maxLength: 8 }), constantFrom('\n', '\r\n', '€', '😀', 'é'));
    await assert(
      asyncProperty(array(piece, { maxLength: 30 }), array(integer({ min: 0, max: 10_000 })), async (pieces, cuts) => {
        const text = pieces.join('');
        const expected = text.split('\n');
        if (expected.at(-1) === '') expected.pop();
        // A mark at the very start is no part of the first line.
        if (expected[0] !== undefined) expected[0] = expected[0].replace(/^\uFEFF/u, '');
        const lines = await linesOf(Buffer.from(text), cuts);
        expect(texts(lines)).toEqual(expected);
        expect(lines.map(({ number }) => number)).toEqual(expected.map((_, index) => index + 1));
      }),
    );
  });

  it('[N1] are kept byte for byte when they are not UTF-8', async () => {
    await assert(
      asyncProperty(uint8Array({ maxLength: 60 }), array(integer({ min: 0, max: 100 })), async (bytes, cuts) => {
        const lines = await linesOf(bytes, cuts);
        const feed = Buffer.from('\n');
        const parts = lines.flatMap((line) => (line.kind === 'line' ? [line.bytes, feed] : []));
        const whole = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
        expect(Buffer.concat(parts).subarray(0, whole.length)).toEqual(Buffer.from(whole));
      }),
    );
  });

  it('[N1] a byte order mark before the first line is no part of it', async () => {
    expect(texts(await linesOf(Buffer.from('\uFEFF1\n\uFEFF2'), []))).toEqual(['1', '\uFEFF2']);
  });

  it('[N4] a line over the limit is told with its length, and the next one is whole again', async () => {
    const text = `${'a'.repeat(10)}\n${'b'.repeat(11)}\n${'c'.repeat(5_000)}\nd\n${'e'.repeat(11)}`;
    for (const cuts of [[], [3, 9, 15, 22, 30], Array.from({ length: text.length }, (_, index) => index)]) {
      const lines = await linesOf(Buffer.from(text), cuts, 10);
      expect(texts(lines)).toEqual(['a'.repeat(10), '11 bytes', '5000 bytes', 'd', '11 bytes']);
    }
  });

  it('[N1] an empty input has none', async () => {
    expect(await linesOf(Buffer.alloc(0), [])).toEqual([]);
  });
});
