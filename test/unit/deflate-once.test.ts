import { deflateRawSync, constants, inflateRawSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deflateBody, inflateFragments, storedBlock } from '../../services/edge/compress-once.js';
import { FRAGMENTS_BYTES } from '../../services/edge/prepared-frame.js';

/** What uWebSockets.js sends for a first fragment that it deflates itself, with its shared compressor. */
function firstFragment(text: string): Buffer {
  return deflateRawSync(Buffer.from(text), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
}

/** Text of `bytes` bytes, of letters of 1 to 4 bytes, that does not repeat itself much. */
function text(bytes: number): string {
  const letters = ['a', 'é', '✓', '😀', '0', '"', '\\', '\n'];
  let out = '';
  let length = 0;
  let state = bytes + 1;
  while (length < bytes) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const letter = letters[(state >>> 16) % letters.length] ?? 'a';
    const size = Buffer.byteLength(letter);
    if (length + size > bytes) {
      out += 'x'.repeat(bytes - length);
      break;
    }
    out += letter;
    length += size;
  }
  return out;
}

const OWN = '"id":"é✓😀 7","data":';
const SIZES = [0, 1, 2, 3, 100, 511, 512, 513, 4_095, 4_096, 16_383, 32_768, 65_535, 65_536, 262_144, 1_048_576];

describe('a message compressed once', () => {
  test.each(SIZES.map((size) => [size]))('[F2] inflates to its text byte for byte, with a body of %i bytes', (size) => {
    const body = text(size);
    expect(Buffer.byteLength(body)).toBe(size);
    const whole = inflateFragments([firstFragment('{'), storedBlock(OWN), deflateBody(Buffer.from(body))]);
    expect(whole.equals(Buffer.from(`{${OWN}${body}`))).toBe(true);
  });

  test.each([0, 1, 65_534, 65_535, 65_536, 131_070, 131_071, 300_000].map((size) => [size]))(
    '[F2] carries a part of the member’s own of %i bytes, in blocks of at most 65,535',
    (size) => {
      const own = text(size);
      const whole = inflateFragments([firstFragment('{'), storedBlock(own), deflateBody(Buffer.from('[1]}'))]);
      expect(whole.toString()).toBe(`{${own}[1]}`);
    },
  );

  test('[F2] carries any bytes, as text and as bytes, also such that deflate cannot make smaller', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3_000 }), fc.uint8Array({ maxLength: 3_000 }), (own, body) => {
        const whole = inflateFragments([firstFragment('{'), storedBlock(own), deflateBody(body)]);
        expect(whole.equals(Buffer.concat([Buffer.from('{'), own, body]))).toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (own, body) => {
        const whole = inflateFragments([firstFragment('{'), storedBlock(own), deflateBody(Buffer.from(body))]);
        expect(whole.toString()).toBe(`{${own}${body}`);
      }),
    );
  });

  test('[F2] needs nothing of the messages before it: one body serves receivers with any history', () => {
    const body = deflateBody(Buffer.from(text(5_000)));
    const stored = storedBlock(OWN);
    const history = [
      firstFragment('{'),
      stored,
      deflateBody(Buffer.from(text(40_000))),
      Buffer.from([0, 0, 0xff, 0xff]),
    ];
    const both = inflateFragments([...history, firstFragment('{'), stored, body]);
    expect(both.toString()).toBe(`{${OWN}${text(40_000)}{${OWN}${text(5_000)}`);
  });

  test('[F2] is understood with the smallest window that the body needs', () => {
    for (const [size, windowBits] of [
      [300, 9],
      [1_000, 10],
      [4_000, 12],
    ] as const) {
      const body = text(size);
      const raw = Buffer.concat([deflateBody(Buffer.from(body)), Buffer.from([0, 0, 0xff, 0xff])]);
      expect(inflateRawSync(raw, { windowBits, finishFlush: constants.Z_SYNC_FLUSH }).toString()).toBe(body);
    }
  });

  test('[F2] keeps no memory but its own: the deflated body has a buffer of its length', () => {
    const deflated = deflateBody(Buffer.from('x'.repeat(10_000)));
    expect(deflated.buffer.byteLength).toBe(deflated.length);
  });

  test('[F4] costs on the wire what the choice to compress counts on', () => {
    const header = 2;
    const compressed = header + firstFragment('{').length + header + storedBlock(OWN).length;
    const uncompressed = header + Buffer.byteLength(`{${OWN}`);
    expect(compressed - uncompressed).toBe(FRAGMENTS_BYTES);
  });

  test('[F2] a broken stream is refused', () => {
    expect(() => inflateFragments([firstFragment('{'), Buffer.from([0, 0, 0xff, 0xff, 0, 5, 0, 5, 0])])).toThrow(
      'invalid stored block lengths',
    );
  });
});
