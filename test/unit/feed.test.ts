import { describe, expect, it } from 'vitest';
import { headOf } from '../../services/log/log.js';
import { RevcastError } from '../../services/shared/errors.js';
import { rejection } from '../contract/harness.js';
import { Gate } from '../support/edge-doubles.js';
import { feedParts, revsFrom } from '../support/feed-parts.js';
import { settle } from '../support/manual-clock.js';

/** Longer than a head below one's own must stay to be believed. */
const ROLLBACK_MS = 1_600;
/** More than fit while a range is fetched. */
const MORE_THAN_HELD = 4_200;

describe('opening', () => {
  it('[D1] begins after the head; an empty room begins before revision 1', async () => {
    const full = feedParts();
    await full.history.add(3);
    const { epoch, tag } = full.history.last;
    await full.open();
    expect(full.listener.openedAt).toEqual([{ epoch, rev: 3, tag }]);
    const empty = feedParts();
    await empty.open();
    expect(empty.listener.openedAt).toEqual([{ epoch: '', rev: 0, tag: '' }]);
    empty.live.deliver(await empty.history.add(2));
    expect(empty.listener.revs).toEqual([1, 2]);
  });

  it('[D1] follows first: what arrives before the head is known is merged by its revision', async () => {
    const { history, live, listener, feed, clock, reader } = feedParts();
    const [first, second] = [await history.add(2), await history.add(2)];
    const gate = new Gate();
    reader.nextHeads(async (known) => {
      const heads = await reader.real.heads(known);
      await gate.promise;
      return heads;
    });
    const opening = feed.open(5_000);
    await clock.advance(10);
    expect(live.followed).toBe(1);
    // Asked for the head when it was 4: what the live path repeats of it is known, the rest is new.
    live.deliver(first, second, await history.add(3));
    gate.open();
    await opening;
    expect(listener.openedAt[0]?.rev).toBe(4);
    expect(listener.revs).toEqual([5, 6, 7]);
  });

  it('[D1] takes only what is new of an entry that the head is in the middle of', async () => {
    const { history, live, listener, open, reader, store } = feedParts();
    const entry = await history.add(5);
    reader.nextHeads(() => Promise.resolve([{ room: 'doc-1', head: { ...headOf(entry), rev: 3 } }]));
    await open();
    live.deliver(entry);
    expect(listener.revs).toEqual([4, 5]);
    expect(store.entriesOf('doc-1')).toHaveLength(1);
  });

  it('[D5] fetches what is missing between the head and the first live entry', async () => {
    const { history, live, listener, feed, clock, reader } = feedParts();
    await history.add(2);
    const gate = new Gate();
    reader.nextHeads(async (known) => {
      const heads = await reader.real.heads(known);
      await gate.promise;
      return heads;
    });
    const opening = feed.open(5_000);
    await clock.advance(10);
    await history.add(2);
    live.deliver(await history.add());
    gate.open();
    await opening;
    await settle();
    expect(listener.revs).toEqual([3, 4, 5]);
  });

  it('[D1] fails with log_unavailable when the head cannot be asked for, and follows no longer', async () => {
    const { live, reader, open, feed } = feedParts();
    reader.unavailable = true;
    await expect(open()).rejects.toMatchObject({ code: 'log_unavailable', retryable: true });
    expect([feed.isOpen, live.followers('doc-1')]).toEqual([false, 0]);
  });

  it('[D1] fails with log_unavailable when there is no connection in time', async () => {
    const { live, feed } = feedParts();
    live.ready = new Gate().promise;
    await expect(feed.open(20)).rejects.toMatchObject({ code: 'log_unavailable' });
    expect(live.followers('doc-1')).toBe(0);
  });

  it('[D1] fails with shutting_down when it is closed meanwhile, and gives nothing', async () => {
    const { feed, clock, listener, live, history } = feedParts();
    const opening = feed.open(5_000);
    const outcome = rejection(opening);
    await settle();
    feed.close();
    live.deliver(await history.add());
    await clock.advance(10);
    expect(await outcome).toMatchObject({ code: 'shutting_down' });
    expect([listener.openedAt, listener.given]).toEqual([[], []]);
  });
});

describe('the live path', () => {
  it('[D6] drops duplicates, whole and partial, also late ones', async () => {
    const { history, live, listener, open, reader } = feedParts();
    await open();
    const [first, second, third] = [await history.add(2), await history.add(3), await history.add(1)];
    live.deliver(first, first, second, first, third, second, first);
    expect(listener.revs).toEqual(revsFrom(1, 6));
    await settle();
    expect(reader.asked).toMatchObject({ heads: 1, range: 0 });
  });

  it('[D5] holds what comes behind a gap, fetches the gap, and goes on', async () => {
    const { history, live, listener, open, reader, feed } = feedParts();
    await open();
    live.deliver(await history.add(2));
    await history.add(3);
    live.deliver(await history.add(1), await history.add(1));
    expect(listener.revs).toEqual([1, 2]);
    expect(feed.isRepairing).toBe(true);
    live.deliver(await history.add(2));
    await settle();
    expect(listener.revs).toEqual(revsFrom(1, 9));
    expect(reader.asked.range).toBe(1);
    expect(feed.isRepairing).toBe(false);
  });

  it('[D5] fetches a long gap page by page', async () => {
    const { history, live, listener, open, reader } = feedParts({ pageRevisions: 10 });
    await open();
    for (let i = 0; i < 50; i += 1) await history.add(1);
    live.deliver(history.last);
    await settle(40);
    expect(listener.revs).toEqual(revsFrom(1, 50));
    expect(reader.ranges.map(({ after }) => after?.rev)).toEqual([0, 10, 20, 30, 40]);
  });

  it('[D5] tries again with growing waits while nobody answers', async () => {
    const { history, live, listener, open, reader, clock } = feedParts();
    await open();
    await history.add(1);
    reader.unavailable = true;
    live.deliver(await history.add(1));
    await clock.advance(60_000);
    // 0, then about 50, 100, 200 … 2,000 ms: 29 to 87 tries in a minute.
    expect(reader.asked.range).toBeGreaterThan(20);
    expect(reader.asked.range).toBeLessThan(100);
    reader.unavailable = false;
    await clock.advance(4_000);
    expect(listener.revs).toEqual([1, 2]);
  });

  it('[D5] asks again, a little later, when the answer is behind what the live path said', async () => {
    const { history, live, listener, open, reader, clock } = feedParts();
    await open();
    live.deliver(await history.add(1));
    await history.add(1);
    const head = headOf(history.last);
    const third = await history.add(1);
    const nothing = () => Promise.resolve({ kind: 'entries' as const, entries: [], head });
    reader.nextRange(nothing, nothing, nothing);
    live.deliver(third);
    await settle();
    expect(reader.asked.range).toBe(1);
    await clock.advance(300);
    expect(listener.revs).toEqual([1, 2, 3]);
    expect(reader.asked.range).toBe(4);
  });

  it('[D5] drops what is more than it may hold, and fetches that too', async () => {
    const { history, live, listener, open, reader } = feedParts({ pageRevisions: 100_000 });
    await open();
    await history.add(1);
    const gate = new Gate();
    reader.nextRange(async () => {
      await gate.promise;
      return reader.real.range({ room: 'doc-1', after: { epoch: '', rev: 0 }, limit: 1, maxBytes: 1_000 });
    });
    for (let i = 0; i < MORE_THAN_HELD; i += 1) live.deliver(await history.add(1));
    gate.open();
    await settle(20);
    expect(listener.given).toHaveLength(MORE_THAN_HELD + 1);
    expect(reader.asked.range).toBeGreaterThan(1);
  });

  it('[D5] holds no more than 16 MiB, and fetches the rest', async () => {
    const { history, live, listener, open, reader, store } = feedParts();
    await open();
    await history.add(1);
    const gate = new Gate();
    reader.nextRange(async () => {
      const entries = [...store.entriesOf('doc-1')];
      const head = headOf(history.last);
      await gate.promise;
      return { kind: 'entries', entries, head };
    });
    const large = JSON.stringify('x'.repeat(3_000_000));
    for (let i = 0; i < 8; i += 1) live.deliver(await history.add(1, () => large));
    gate.open();
    await settle();
    // The answer was of a time when the head was 2; five of the eight were held.
    expect(listener.revs).toEqual(revsFrom(1, 6));
    live.deliver(await history.add(1));
    await settle(30);
    expect(listener.revs).toEqual(revsFrom(1, 10));
    expect(reader.ranges.map(({ after }) => after?.rev).slice(0, 2)).toEqual([0, 6]);
  });

  it('[D5] gives nothing after it was closed, also what it was fetching', async () => {
    const { history, live, listener, open, reader, feed } = feedParts();
    await open();
    await history.add(1);
    const gate = new Gate();
    reader.nextRange(async (query) => {
      await gate.promise;
      return reader.real.range(query);
    });
    live.deliver(await history.add(1));
    feed.close();
    gate.open();
    await settle();
    live.deliver(await history.add(1));
    expect(listener.given).toEqual([]);
    expect(live.followers('doc-1')).toBe(0);
  });
});

describe('looking at the confirmed head', () => {
  it('[D5] finds what was lost without a sign', async () => {
    const { history, listener, open, look, clock } = feedParts();
    await open();
    await look();
    await history.add(3);
    await look();
    await clock.advance(100);
    expect(listener.revs).toEqual([1, 2, 3]);
    await history.add(2);
    await look();
    await clock.advance(100);
    expect(listener.revs).toEqual(revsFrom(1, 5));
    expect(listener.broken).toEqual([]);
  });

  it('[D7] a rewritten history is found when a known revision has another tag', async () => {
    const { history, listener, open, look, live } = feedParts();
    await open();
    live.deliver(await history.add(3));
    history.restart();
    const rewritten = await history.add(3);
    await look();
    const { epoch, rev, tag } = headOf(rewritten);
    expect(listener.broken).toEqual([{ reason: 'epoch_changed', position: { epoch, rev, tag } }]);
    live.deliver(await history.add(1));
    expect(listener.revs).toEqual([1, 2, 3, 4]);
  });

  it('[D7] a head below ones own is believed only if it stays', async () => {
    const { history, listener, open, look, live, reader, feed, clock } = feedParts();
    await open();
    const old = await history.add(2);
    live.deliver(old, await history.add(2));
    // A leader that was cut off answers once more.
    reader.nextHeads(() => Promise.resolve([{ room: 'doc-1', head: headOf(old) }]));
    const looking = feed.look();
    await clock.advance(10);
    expect(listener.broken).toEqual([]);
    await clock.advance(ROLLBACK_MS);
    await looking;
    expect(listener.broken).toEqual([]);
    // Now it really lost them.
    history.restart();
    await history.add(1);
    const lookingAgain = feed.look();
    await clock.advance(ROLLBACK_MS);
    await lookingAgain;
    expect(listener.broken.map(({ reason, position }) => [reason, position.rev])).toEqual([['epoch_changed', 1]]);
    await look();
    expect(listener.broken).toHaveLength(1);
  });

  it('[D7] after a rollback it stands at the head that was confirmed last', async () => {
    const { history, listener, open, live, feed, clock } = feedParts();
    await open();
    live.deliver(await history.add(5));
    history.restart('e2');
    await history.add(1);
    const looking = feed.look();
    await clock.advance(10);
    const second = await history.add(3);
    await clock.advance(ROLLBACK_MS);
    await looking;
    const { epoch, rev, tag } = headOf(second);
    expect(listener.broken).toEqual([{ reason: 'epoch_changed', position: { epoch, rev, tag } }]);
  });

  it('[D7] looks that come to it at the same time tell it once', async () => {
    const { history, listener, open, live, feed, clock } = feedParts();
    await open();
    live.deliver(await history.add(3));
    history.restart('e2');
    await history.add(1);
    const looking = [feed.look(), feed.look(), feed.look()];
    await clock.advance(ROLLBACK_MS);
    await Promise.all(looking);
    expect(listener.broken).toHaveLength(1);
  });

  it('[D7] a room that lost everything starts again before revision 1', async () => {
    const { history, listener, open, live, feed, clock } = feedParts();
    await open();
    live.deliver(await history.add(2));
    history.restart('e2');
    const looking = feed.look();
    await clock.advance(ROLLBACK_MS + 10);
    await looking;
    expect(listener.broken).toEqual([{ reason: 'epoch_changed', position: { epoch: '', rev: 0, tag: '' } }]);
    live.deliver(await history.add(1));
    expect(listener.given.at(-1)).toBe(`e2/1/${history.last.tag}`);
  });

  it('[D5] says log_unavailable when the head cannot be confirmed, and concludes nothing', async () => {
    const { history, listener, open, look, live, reader, feed } = feedParts();
    await open();
    live.deliver(await history.add(2));
    reader.unavailable = true;
    await expect(look()).rejects.toBeInstanceOf(RevcastError);
    expect([listener.broken, feed.isOpen]).toEqual([[], true]);
  });
});

describe('revisions of another history', () => {
  it('[D7] another epoch on the live path is looked into, and believed when the head is confirmed', async () => {
    const { history, listener, open, live, clock } = feedParts();
    await open();
    live.deliver(await history.add(3));
    history.restart('e2');
    live.deliver(await history.add(1), await history.add(1));
    await clock.advance(ROLLBACK_MS);
    const { epoch, rev, tag } = headOf(history.last);
    expect(listener.broken).toEqual([{ reason: 'epoch_changed', position: { epoch, rev, tag } }]);
    live.deliver(await history.add(1));
    expect(listener.given.slice(3)).toEqual([`e2/3/${history.last.tag}`]);
  });

  it('[D7] a late entry of an epoch that is over changes nothing', async () => {
    const { history, listener, open, live, clock, reader } = feedParts();
    const old = await history.add(5);
    history.restart('e2');
    await history.add(2);
    await open();
    live.deliver(old);
    await clock.advance(ROLLBACK_MS);
    live.deliver(await history.add(1));
    expect(listener.broken).toEqual([]);
    expect(listener.given).toEqual([`e2/3/${history.last.tag}`]);
    expect(reader.asked.heads).toBe(2);
  });

  it('[D7] however many there are, they are looked into one at a time: once, and once for what came meanwhile', async () => {
    const { history, listener, open, live, clock, reader } = feedParts();
    const old = await history.add(5);
    history.restart('e2');
    await history.add(2);
    await open();
    for (let i = 0; i < 1_000; i += 1) live.deliver(old);
    await clock.advance(10);
    expect(reader.headsAsked.slice(1).map((known) => known.length)).toEqual([1, 1]);
    expect(listener.broken).toEqual([]);
  });

  it('[D7] the same revision with another tag is looked into', async () => {
    const { history, listener, open, live, clock, reader } = feedParts();
    await open();
    const entry = await history.add(2);
    live.deliver(entry, { ...entry, tag: '0badc0de' });
    await clock.advance(10);
    // The log says that the first one was right.
    expect([listener.broken, reader.asked.heads]).toEqual([[], 2]);
    history.restart();
    const other = await history.add(2);
    live.deliver(other);
    await clock.advance(10);
    expect(listener.broken.map(({ position }) => position.tag)).toEqual([other.tag]);
  });

  it('[D4] a gap that is no longer kept: history_truncated, and it goes on at the head', async () => {
    const { history, listener, open, live } = feedParts({ keep: 4 });
    await open();
    live.deliver(await history.add(1));
    for (let i = 0; i < 20; i += 1) await history.add(1);
    live.deliver(history.last);
    await settle();
    const { epoch, rev, tag } = headOf(history.last);
    expect(listener.broken).toEqual([{ reason: 'history_truncated', position: { epoch, rev, tag } }]);
    live.deliver(await history.add(1));
    expect(listener.revs).toEqual([1, 22]);
  });

  it('[D7] a gap in a history that was rewritten: epoch_changed', async () => {
    const { history, listener, open, live } = feedParts();
    await open();
    live.deliver(await history.add(2));
    history.restart();
    await history.add(4);
    live.deliver(await history.add(1));
    await settle();
    expect(listener.broken.map(({ reason }) => reason)).toEqual(['epoch_changed']);
    expect(listener.revs).toEqual([1, 2]);
  });
});
