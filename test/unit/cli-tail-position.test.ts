/** Where a tailed room stands: what is asked for next, and what a revision that comes is. */
import { describe, expect, test } from 'vitest';
import { formatPosition, parseSince, TailPosition } from '../../services/cli/tail-position.js';

const TAG = '0123abcd';
const OTHER = 'ffffffff';

describe('--since', () => {
  test('[C9] is 0, the snapshot, or a position with or without its tag', () => {
    expect(parseSince('0')).toBe('first');
    expect(parseSince('snapshot')).toBe('snapshot');
    expect(parseSince('tiaZHB6or7o:12')).toEqual({ epoch: 'tiaZHB6or7o', rev: 12 });
    expect(parseSince(`a_-Z:0:${TAG}`)).toEqual({ epoch: 'a_-Z', rev: 0, tag: TAG });
    for (const wrong of [
      '',
      '1',
      'now',
      ':1',
      'e:',
      'e:-1',
      'e:1.5',
      'e:1:',
      'e:1:xyz',
      `e:1:${TAG}0`,
      `e:1:${TAG}:2`,
    ]) {
      expect({ wrong, parsed: parseSince(wrong) }).toEqual({ wrong, parsed: undefined });
    }
  });

  test('[C9] is written as it is read', () => {
    for (const position of [
      { epoch: 'e', rev: 7 },
      { epoch: 'e', rev: 7, tag: TAG },
    ]) {
      expect(parseSince(formatPosition(position))).toEqual(position);
    }
  });
});

describe('the position of a tailed room', () => {
  test('[C9] from the snapshot: asks for it until there was one, and again when the history broke', () => {
    const position = new TailPosition('snapshot');
    expect(position.since()).toBe('snapshot');
    position.onSubscribed({ epoch: 'e', rev: 40, tag: TAG });
    expect(position.since()).toEqual({ epoch: 'e', rev: 40, tag: TAG });
    expect(position.place({ rev: 41, tag: OTHER })).toBe('next');
    position.restart();
    expect(position.since()).toBe('snapshot');
    // It is not to be had: what is kept is the next best.
    position.restart();
    expect(position.since()).toBe(0);
  });

  test('[C9] from now on: the head that the subscription names, then what follows it', () => {
    const position = new TailPosition(undefined);
    expect(position.since()).toBeUndefined();
    position.onSubscribed({ epoch: 'e', rev: 4, tag: TAG });
    expect(position.since()).toEqual({ epoch: 'e', rev: 4, tag: TAG });
    expect(position.place({ rev: 5, tag: OTHER })).toBe('next');
    expect(position.place({ rev: 5, tag: OTHER })).toBe('known');
    expect(position.place({ rev: 7, tag: OTHER })).toBe('hole');
    expect(position.since()).toEqual({ epoch: 'e', rev: 5, tag: OTHER });
    expect(position.known).toEqual({ epoch: 'e', rev: 5, tag: OTHER });
  });

  test('[C9] from the first kept: the answer says where that is', () => {
    const position = new TailPosition('first');
    expect(position.since()).toBe(0);
    position.onSubscribed({ epoch: 'e', rev: 500 });
    expect(position.since()).toEqual({ epoch: 'e', rev: 500 });
    expect(position.place({ rev: 502, tag: TAG })).toBe('hole');
    expect(position.place({ rev: 501, tag: TAG })).toBe('next');
    expect(position.since()).toEqual({ epoch: 'e', rev: 501, tag: TAG });
  });

  test('[C9] an empty room has no epoch yet: its first revision brings it', () => {
    const position = new TailPosition(undefined);
    position.onSubscribed({ epoch: '', rev: 0 });
    expect(position.since()).toEqual({ epoch: '', rev: 0 });
    expect(position.place({ rev: 1, tag: TAG, epoch: 'e' })).toBe('next');
    expect(position.place({ rev: 2, tag: OTHER })).toBe('next');
    expect(position.since()).toEqual({ epoch: 'e', rev: 2, tag: OTHER });
  });

  test('[C9] the same revision with another tag is another history', () => {
    const position = new TailPosition({ epoch: 'e', rev: 4, tag: TAG });
    expect(position.place({ rev: 4, tag: TAG })).toBe('known');
    expect(position.place({ rev: 4, tag: OTHER })).toBe('rewritten');
    position.restart();
    expect(position.since()).toBe(0);
    position.onSubscribed({ epoch: 'f', rev: 0 });
    expect(position.place({ rev: 1, tag: OTHER, epoch: 'f' })).toBe('next');
  });
});
