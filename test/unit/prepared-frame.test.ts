import { describe, expect, test } from 'vitest';
import { inflateFragments } from '../../services/edge/compress-once.js';
import { EdgeCounters } from '../../services/edge/counters.js';
import { inWords } from '../../services/edge/message-run.js';
import { FRAGMENTS_BYTES, PreparedFrame } from '../../services/edge/prepared-frame.js';

const MIN_SAVING_BYTES = 256;
const LONG = Buffer.from(`{"room":"doc-é","data":"${'revision '.repeat(100)}"}}`);

function prepare(body: Buffer, minSavingBytes = MIN_SAVING_BYTES) {
  const counters = new EdgeCounters();
  return { counters, frame: new PreparedFrame(body, 1, minSavingBytes, counters) };
}

describe('a prepared frame', () => {
  test('[F1] is deflated once, whatever the number of sockets, and not before the first that compresses', () => {
    const { counters, frame } = prepare(LONG);
    expect(counters.snapshot()).toMatchObject({ framesPrepared: 1, bodiesSerialized: 1, bodiesDeflated: 0 });
    expect(frame.bytes).toBe(LONG.length);
    const first = frame.deflated();
    for (let socket = 0; socket < 1_000; socket++) expect(frame.deflated()).toBe(first);
    expect(counters.snapshot()).toMatchObject({ bodiesSerialized: 1, bodiesDeflated: 1, bytesDeflated: LONG.length });
    expect(first && inflateFragments([first]).equals(LONG)).toBe(true);
    expect(frame.bytes).toBe(LONG.length + (first?.length ?? 0));
  });

  test('[F4] is sent uncompressed, to everyone, if deflate saves too little; that is found out once', () => {
    const body = Buffer.from(Array.from({ length: 400 }, (_, i) => (i * 7919) % 251).join(''));
    const { counters, frame } = prepare(body, body.length / 2 + MIN_SAVING_BYTES);
    expect(frame.deflated()).toBeNull();
    expect(frame.deflated()).toBeNull();
    expect(counters.bodiesDeflated).toBe(1);
    expect(frame.bytes).toBe(body.length);
  });

  test('[F4] compares with the saving asked for, to the byte, the cost of the fragments counted', () => {
    const deflatedBytes = prepare(LONG, 0).frame.deflated()?.length ?? 0;
    const saving = LONG.length - deflatedBytes - FRAGMENTS_BYTES;
    expect(prepare(LONG, saving).frame.deflated()).not.toBeNull();
    expect(prepare(LONG, saving + 1).frame.deflated()).toBeNull();
  });

  test('[F4] a body that cannot save enough is not tried', () => {
    for (const length of [0, 1, MIN_SAVING_BYTES, MIN_SAVING_BYTES + FRAGMENTS_BYTES]) {
      const { counters, frame } = prepare(Buffer.alloc(length, 'x'));
      expect(frame.deflated()).toBeNull();
      expect(counters.bodiesDeflated).toBe(0);
    }
  });
});

describe('an uncompressed message', () => {
  test('[F1] is the member’s opening and the body, whatever the opening’s length, sharing one copy of the body', () => {
    const { frame } = prepare(LONG);
    const openings = Array.from({ length: 200 }, (_, length) => Buffer.from('é'.repeat(length)).subarray(0, length));
    for (const opening of [...openings, ...openings.toReversed()]) {
      const message = frame.message({ opening, openingBytes: opening.length, openingWords: inWords(opening) });
      expect(message.equals(Buffer.concat([opening, LONG]))).toBe(true);
    }
    expect(frame.body.equals(LONG)).toBe(true);
    const opening = Buffer.from('{"id":"7","data":');
    const opened = { opening, openingBytes: opening.length, openingWords: inWords(opening) };
    expect(frame.message(opened)).toBe(frame.message(opened));
  });
});

describe('the counters', () => {
  test('[F8] give a copy with means per flush, 0 before the first', () => {
    const counters = new EdgeCounters();
    expect(counters.snapshot()).toMatchObject({ flushes: 0, socketsPerFlush: 0, revisionsPerFlush: 0 });
    counters.flushes = 4;
    counters.socketsFlushed = 10;
    counters.revisionsFlushed = 6;
    const snapshot = counters.snapshot();
    counters.flushes++;
    expect(snapshot).toMatchObject({ flushes: 4, socketsPerFlush: 2.5, revisionsPerFlush: 1.5 });
  });
});
