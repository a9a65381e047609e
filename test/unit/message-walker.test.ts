import { constants, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { KnownMessages } from '../bench/load/known-messages.js';
import { MessageWalker } from '../bench/load/message-walker.js';
import { Random } from '../support/random.js';

const TEXT = 0x1;
const CONTINUED = 0x0;
const FIN = 0x80;
const COMPRESSED = 0x40;
const SYNC_TAIL_BYTES = 4;
const DATA = 'x'.repeat(200);

function revision(rev: number) {
  return { room: 'r', rev, tag: '00000000', data: { at: String(rev * 1_000).padStart(15, '0'), text: DATA } };
}

function frame(first: number, body: Uint8Array): Buffer {
  if (body.length < 126) return Buffer.concat([Buffer.from([first, body.length]), body]);
  const size = Buffer.alloc(2);
  size.writeUInt16BE(body.length);
  return Buffer.concat([Buffer.from([first, 126]), size, body]);
}

function text(id: string, data: unknown): string {
  return JSON.stringify({ id, data });
}

const reply = frame(FIN | TEXT, Buffer.from(text('1', { subscribed: true })));

function plain(id: string, ...revs: readonly number[]): Buffer {
  return frame(FIN | TEXT, Buffer.from(text(id, revs.map(revision))));
}

/** In two fragments: up to the id's end stored, and deflated from there, both from an empty window. */
function deflated(id: string, ...revs: readonly number[]): Buffer {
  const whole = text(id, revs.map(revision));
  const cut = whole.indexOf(id) + id.length;
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  const opening = deflateRawSync(whole.slice(0, cut), { ...options, level: 0 });
  const rest = deflateRawSync(whole.slice(cut), options);
  return Buffer.concat([frame(COMPRESSED | TEXT, opening), frame(FIN | CONTINUED, rest.subarray(0, -SYNC_TAIL_BYTES))]);
}

interface Walked {
  readonly known?: KnownMessages;
  readonly id?: string;
  readonly pieceBytes?: number;
}

/** Of a client that had revision 7. */
function walked(
  messages: readonly Buffer[],
  { known = new KnownMessages('r'), id = '1', pieceBytes = 10_000 }: Walked,
) {
  const walker = new MessageWalker(known, Buffer.from(id), 7);
  const all = Buffer.concat([reply, ...messages]);
  const random = new Random(pieceBytes);
  for (let at = 0; at < all.length;) {
    const length = Math.min(all.length - at, random.whole(1, pieceBytes));
    // As sockets read: into one buffer that is longer, and used again.
    const buffer = Buffer.alloc(length + 10, 0x20);
    all.copy(buffer, 0, at, at + length);
    walker.walk(buffer, length);
    buffer.fill(0);
    at += length;
  }
  return walker;
}

describe.each([
  ['plain', plain],
  ['deflated', deflated],
])('the check of a socket with %s messages', (_, several) => {
  it.each([1, 3, 17, 10_000])('takes every revision once, in pieces of up to %i bytes', (pieceBytes) => {
    const walker = walked([several('1', 8, 9, 10), several('1', 11), several('1', 12, 13)], { pieceBytes });
    const { lastRev, holes, repeats, fault } = walker;
    expect({ lastRev, holes, repeats, fault }).toEqual({ lastRev: 13, holes: 0, repeats: 0, fault: undefined });
    expect(walker.publishedAtMs()).toBe(13);
  });

  it('finds what is missing, what comes twice, and what comes out of turn', () => {
    expect(walked([several('1', 8), several('1', 11)], {}).holes).toBe(2);
    expect(walked([several('1', 8, 9), several('1', 9, 10)], {})).toMatchObject({ repeats: 1, lastRev: 10 });
    expect(walked([several('1', 9), several('1', 8)], {})).toMatchObject({ holes: 1, repeats: 1, lastRev: 9 });
    expect(walked([several('1', 8, 10)], {}).fault).toContain('10 at place 1');
  });

  it('takes a message apart once, however many clients get it, and finds in each what is wrong for that one', () => {
    const known = new KnownMessages('r');
    for (const id of ['1', '2', '3']) {
      const walker = walked([several(id, 8, 9), several(id, 10)], { known, id });
      expect(walker).toMatchObject({ lastRev: 10, holes: 0, repeats: 0, fault: undefined });
    }
    expect(known.count).toBe(2);
    expect(walked([several('4', 10)], { known, id: '4' }).holes).toBe(2);
    expect(known.count).toBe(2);
    expect(walked([several('4', 8, 9)], { known, id: '5' }).fault).toContain('a message for 4 came to 5');
  });

  it('does not take an altered message for one that it knows', () => {
    const known = new KnownMessages('r');
    const message = several('1', 8, 9);
    walked([message], { known });
    const altered = several('1', 9, 10);
    expect(walked([altered], { known })).toMatchObject({ holes: 1, lastRev: 10 });
    for (const at of [message.length - 1, message.length - 20]) {
      const { count } = known;
      const broken = Buffer.from(message);
      broken.writeUInt8(broken.readUInt8(at) ^ 0xc0, at);
      const { fault } = walked([broken], { known });
      // Read anew: as another message, or it cannot be read.
      expect(fault !== undefined || known.count === count + 1).toBe(true);
    }
  });

  it('says what it cannot read', () => {
    const error = frame(FIN | TEXT, Buffer.from(JSON.stringify({ id: '1', error: { code: 'x', message: 'no' } })));
    expect(walked([error], {}).fault).toContain('a message without a revision');
  });
});
