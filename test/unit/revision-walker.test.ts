import { describe, expect, it } from 'vitest';
import { RevisionWalker, type Layout } from '../bench/load/revision-walker.js';
import { Random } from '../support/random.js';

const REPLY = '{"id":"1","data":{"subscribed":true,"rev":7}}';
const BEFORE = '{"id":"1","data":{"room":"r","rev":';
const FIELDS = ',"tag":"00000000","time":1000000000000,"timeDelta":0,"data":';
const DATA = 'x'.repeat(40);

const single: Layout = { revAt: BEFORE.length };
const batched: Layout = { revAt: BEFORE.length + 1, between: FIELDS.length + DATA.length + '},{"room":"r",'.length };

function revision(rev: number): string {
  return `{"room":"r","rev":${rev}${FIELDS}${DATA}}`;
}

function frame(text: string): Buffer {
  const body = Buffer.from(text);
  const size = Buffer.alloc(2);
  size.writeUInt16BE(body.length);
  return Buffer.concat([
    Buffer.from([0x81]),
    body.length < 126 ? Buffer.from([body.length]) : Buffer.concat([Buffer.from([126]), size]),
    body,
  ]);
}

const one = (rev: number) => frame(`{"id":"1","data":${revision(rev)}}`);
const several = (...revs: number[]) => frame(`{"id":"1","data":[${revs.map(revision).join(',')}]}`);

/** Read in pieces of up to so many bytes. */
function walked(layout: Layout, pieceBytes: number, ...frames: readonly Buffer[]): RevisionWalker {
  const walker = new RevisionWalker(layout, 7);
  const all = Buffer.concat([frame(REPLY), ...frames]);
  const random = new Random(pieceBytes);
  for (let at = 0; at < all.length;) {
    const piece = all.subarray(at, at + random.whole(1, pieceBytes));
    walker.walk(piece, piece.length);
    at += piece.length;
  }
  return walker;
}

describe.each([1, 3, 17, 10_000])('the check of a socket that is read in pieces of up to %i bytes', (pieceBytes) => {
  it('takes every revision once, one a message', () => {
    const { lastRev, holes, repeats, fault } = walked(single, pieceBytes, one(8), one(9), one(10));
    expect({ lastRev, holes, repeats, fault }).toEqual({ lastRev: 10, holes: 0, repeats: 0, fault: undefined });
  });

  it('takes every revision once, several a message', () => {
    const { lastRev, holes, repeats, fault } = walked(
      batched,
      pieceBytes,
      several(8, 9, 10),
      several(11),
      several(12, 13),
    );
    expect({ lastRev, holes, repeats, fault }).toEqual({ lastRev: 13, holes: 0, repeats: 0, fault: undefined });
  });

  it('finds what is missing, what comes twice, and what comes out of turn', () => {
    expect(walked(single, pieceBytes, one(8), one(11)).holes).toBe(2);
    expect(walked(single, pieceBytes, one(8), one(8)).repeats).toBe(1);
    expect(walked(batched, pieceBytes, several(8, 10), several(11)).holes).toBe(1);
    expect(walked(batched, pieceBytes, several(8, 9, 9)).repeats).toBe(1);
    const swapped = walked(batched, pieceBytes, several(9, 8));
    expect([swapped.holes, swapped.repeats]).toEqual([1, 1]);
  });

  it('says what it cannot read', () => {
    expect(
      walked(single, pieceBytes, frame('{"id":"1","error":{"code":"x","message":"a text that is long enough"}}')).fault,
    ).toBeDefined();
  });
});
