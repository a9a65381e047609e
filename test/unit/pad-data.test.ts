import { describe, expect, it } from 'vitest';
import { PadFeed } from '../../services/producer/sources/etherpad-server.js';
import { parsePadMessage, type PadChange, type PadMessage } from '../../services/producer/sources/etherpad-messages.js';
import {
  changesetLengths,
  padRevisionData,
  padSnapshotData,
  parsePadRevision,
  parsePadSnapshot,
} from '../../services/shared/pad-data.js';
import { PadHistory } from '../support/etherpad/pad-history.js';
import { Random, testSeed } from '../support/random.js';

const SEED = testSeed();

describe('data', () => {
  it(`[X3] a changeset tells the lengths before and after it (seed ${SEED})`, () => {
    const random = new Random(SEED);
    const pad = new PadHistory();
    for (let edits = 0; edits < 300; edits += 1) {
      const before = pad.text.length;
      const rev = pad.editAtRandom(random);
      expect(changesetLengths(pad.revision(rev).changeset)).toEqual({ before, after: pad.text.length });
    }
  });

  it.each(['', 'Z:1>1', 'Z:>1$', 'Z:1>1=0+1X$', 'X:1>1+1$a', 'Z:1<2-1$', '$'])(
    '[X9] %j is no changeset',
    (changeset) => {
      expect(changesetLengths(changeset)).toBeNull();
    },
  );

  it(`[X3] revisions and snapshots are read as they were written (seed ${SEED})`, () => {
    const random = new Random(SEED);
    const pad = new PadHistory('"\\ \u2028 🙂\n');
    for (let edits = 0; edits < 50; edits += 1) pad.editAtRandom(random);
    const { rev: _rev, ...revision } = pad.revision(50);
    expect(parsePadRevision(padRevisionData(parsed(revision)))).toMatchObject({
      changeset: revision.changeset,
      author: revision.author,
      apool: { numToAttrib: revision.apool.numToAttrib, nextNum: revision.apool.nextNum },
    });
    const { initialAttributedText, apool } = pad.initialAttributedText();
    const content = parsePadSnapshot(Buffer.from(JSON.stringify({ initialAttributedText, apool })));
    if (content === null) throw new Error('it is a snapshot');
    expect(parsePadSnapshot(padSnapshotData(content))).toEqual(content);
    expect(content.initialAttributedText).toEqual(initialAttributedText);
  });

  it.each(['', '{', '{}', '[]', 'null', '{"changeset":"Z:1>0$"}'])('[X10] %j is no revision of a pad', (text) => {
    expect(parsePadRevision(Buffer.from(text))).toBeNull();
    expect(parsePadSnapshot(Buffer.from(text))).toBeNull();
  });
});

function parsed(revision: object): NonNullable<ReturnType<typeof parsePadRevision>> {
  const data = parsePadRevision(Buffer.from(JSON.stringify(revision)));
  if (data === null) throw new Error('it is a revision');
  return data;
}

describe('messages', () => {
  it.each([undefined, null, 1, 'text', [], {}, { type: 1 }, { type: 'COLLABROOM' }, { type: 'CUSTOM' }])(
    '[X9] %j is passed over',
    (payload) => {
      expect(parsePadMessage(payload)).toEqual({ kind: 'other' });
    },
  );

  it('[X3] a revision without an author and a time is one', () => {
    const data = { type: 'NEW_CHANGES', newRev: 3, changeset: 'Z:2>1|1=2+1$x', apool: { numToAttrib: {}, nextNum: 0 } };
    expect(parsePadMessage({ type: 'COLLABROOM', data })).toMatchObject({
      kind: 'change',
      change: { rev: 3, author: '', currentTime: null, lengthBefore: 2, lengthAfter: 3 },
    });
  });
});

function open(after: number): { feed: PadFeed; say: (message: PadMessage) => void; closed: () => boolean } {
  let say: ((message: PadMessage) => void) | undefined;
  let closed = false;
  const feed = new PadFeed(
    after,
    () => undefined,
    ({ isAnswer }) => {
      say = isAnswer;
      return {
        close: () => {
          closed = true;
        },
      };
    },
  );
  return { feed, say: (message) => say?.(message), closed: () => closed };
}

function change(rev: number, text = ''): PadMessage {
  const revision = { changeset: `Z:1>0$${text}`, apool: { numToAttrib: {}, nextNum: 0 }, author: '' };
  const lengths = { lengthBefore: 1, lengthAfter: 1 };
  return { kind: 'change', change: { ...revision, ...lengths, currentTime: null, rev } };
}

function revs(changes: readonly PadChange[]): number[] {
  return changes.map(({ rev }) => rev);
}

describe('a feed', () => {
  it('[X9] drops repeats and ends at a gap; what came before it can still be taken', () => {
    const { feed, say, closed } = open(4);
    for (const rev of [3, 4, 5, 6, 5, 6, 7]) say(change(rev));
    expect(feed.ended).toBeUndefined();
    say(change(9));
    say(change(8));
    expect(feed.ended?.code).toBe('malformed');
    expect(closed()).toBe(true);
    expect(revs(feed.next(10, 1_000))).toEqual([5, 6, 7]);
    feed.drop(6);
    expect(revs(feed.next(10, 1_000))).toEqual([7]);
  });

  it('[X7] holds 10,000 revisions or 16 million characters, then ends', () => {
    const many = open(0);
    for (let rev = 1; rev <= 10_001; rev += 1) many.say(change(rev));
    expect(many.feed.ended?.code).toBe('overrun');
    expect(many.feed.next(20_000, Number.MAX_SAFE_INTEGER)).toHaveLength(10_000);
    const large = open(0);
    const text = 'x'.repeat(6 * 1024 * 1024);
    for (let rev = 1; rev <= 4; rev += 1) large.say(change(rev, text));
    expect(large.feed.ended?.code).toBe('overrun');
    expect(revs(large.feed.next(10, Number.MAX_SAFE_INTEGER))).toEqual([1, 2, 3]);
    // One that is larger than a batch goes alone.
    expect(revs(large.feed.next(10, 1_000))).toEqual([1]);
  });
});
