import { expect, it } from 'vitest';
import { cutEntry } from '../../services/log/entry-range.js';
import type { Entry } from '../../services/log/log.js';
import { RevcastError } from '../../services/shared/errors.js';
import { feedParts, revsFrom } from '../support/feed-parts.js';
import { settle } from '../support/manual-clock.js';
import { Random, testSeed } from '../support/random.js';

const ROUNDS = 40;
const ENTRIES = 60;
/** Enough for the retries of every refusal that is still to come. */
const PATIENCE_MS = 120_000;

/** What the live path makes of an entry: nothing, itself, itself again, itself later, or its halves. */
function arrivals(random: Random, entry: Entry, late: Entry[]): Entry[] {
  if (random.chance(0.15)) return [];
  if (random.chance(0.1)) {
    late.push(entry);
    return [];
  }
  const size = entry.revisions.length;
  if (size > 1 && random.chance(0.2)) {
    const first = cutEntry(entry, entry.firstRev, random.whole(1, size - 1));
    return [first, cutEntry(entry, entry.firstRev + first.revisions.length, size)];
  }
  if (random.chance(0.15)) late.push(entry);
  return random.chance(0.15) ? [entry, entry] : [entry];
}

/** What the listener was given and where the feed stands, and what both should be. */
async function oneRound(random: Random) {
  const parts = feedParts({ pageRevisions: random.whole(1, 20) });
  const { history, live, listener, clock, reader, feed } = parts;
  for (let i = random.whole(0, 3); i > 0; i -= 1) await history.add(random.whole(1, 4));
  const opening = feed.open(5_000);
  const late: Entry[] = [];
  for (let i = 0; i < ENTRIES; i += 1) {
    if (random.chance(0.2)) reader.nextRange(() => Promise.reject(new RevcastError('log_unavailable', 'not now')));
    live.deliver(...arrivals(random, await history.add(random.whole(1, 5)), late));
    if (late.length > 0 && random.chance(0.3)) live.deliver(...late.splice(random.whole(0, late.length - 1), 1));
    if (random.chance(0.3)) await clock.advance(random.whole(1, 100));
    else if (random.chance(0.5)) await settle(1);
  }
  live.deliver(...late);
  await clock.advance(10);
  await opening;
  // What the last entries' loss hides, a look finds.
  const looking = feed.look();
  await clock.advance(PATIENCE_MS);
  await looking;
  const last = history.last.firstRev + history.last.revisions.length - 1;
  const from = (listener.openedAt[0]?.rev ?? 0) + 1;
  const { epoch, tag } = history.last;
  return {
    is: { revs: listener.revs, broken: listener.broken, position: feed.position },
    shouldBe: { revs: revsFrom(from, last), broken: [], position: { epoch, rev: last, tag } },
  };
}

const seed = testSeed();

it(`[D1] whatever is dropped, repeated, delayed and split, each revision is given once, in order (seed ${seed})`, async () => {
  const random = new Random(seed);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { is, shouldBe } = await oneRound(random);
    expect(is).toEqual(shouldBe);
  }
});
