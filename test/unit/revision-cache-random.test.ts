/** The revision service's memory under random appends, purges and retention, against the log itself: rules R5 to R7. */
import { expect, it } from 'vitest';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import type { Range } from '../../services/log/log.js';
import { CachedLog } from '../../services/revision/cached-log.js';
import { RevisionCounters } from '../../services/revision/counters.js';
import { systemClock } from '../../services/shared/clock.js';
import { ManualClock } from '../support/manual-clock.js';
import { Random, testSeed } from '../support/random.js';

const STEPS = 4_000;
const ROOMS = 6;
/** Beyond these retention removes a room's oldest. */
const KEPT_REVISIONS = 500;
const SETTINGS = { revisionTailBytes: 60_000, revisionCacheBytes: 200_000, revisionLogReads: 16 };

/** What matters of a range: each revision and the entry it is of, which may come in pieces where pages meet. */
function told(range: Range): unknown {
  if (range.kind !== 'entries') return range;
  return range.entries.flatMap(({ epoch, tag, seq, firstRev, previousTime, revisions }) =>
    revisions.map(({ time }, i) => [epoch, tag, seq, firstRev + i, time, revisions[i - 1]?.time ?? previousTime]),
  );
}

const seed = testSeed();
it(`[R5] [R6] [R7] heads and ranges are always the log's, whatever was removed (seed ${seed})`, async () => {
  const random = new Random(seed);
  const store = new MemoryStore(KEPT_REVISIONS);
  const log = new MemoryLog({ clock: systemClock, store });
  const counters = new RevisionCounters();
  const clock = new ManualClock();
  const cached = new CachedLog({ log, whole: log, clock, counters, settings: SETTINGS });
  const append = async (room: string): Promise<void> => {
    const revisions = Array.from({ length: random.whole(1, 12) }, (_, i) => ({ data: Buffer.from(`"${i}"`) }));
    await log.append(room, { revisions });
  };
  const compareRange = async (room: string): Promise<void> => {
    const head = (await log.heads([room])).get(room)?.rev ?? 0;
    const from = random.whole(1, head + 3);
    const options = { limit: random.whole(1, 300), maxBytes: 1e9 };
    const hint = random.whole(0, 2) === 0 ? { hint: random.whole(1, 20_000) } : {};
    const answer = await cached.range(room, from, { ...options, ...hint });
    expect(told(answer)).toEqual(told(await log.range(room, from, options)));
    if (answer.kind === 'entries') expect(answer.head).toEqual((await log.heads([room])).get(room));
  };

  for (let step = 0; step < STEPS; step += 1) {
    const room = `room ${random.whole(0, ROOMS - 1)}`;
    const dice = random.whole(0, 99);
    if (dice < 45) await append(room);
    else if (dice < 85) await compareRange(room);
    else if (dice < 97) expect(await cached.heads([room])).toEqual(await log.heads([room]));
    else if (dice < 98) store.removeHistory(room);
    else clock.skip(random.whole(0, 20_000));
    // What was stored reaches the follower from a turn of its own.
    await new Promise((resolve) => setImmediate(resolve));
  }
  cached.stop();
  // All ways were gone.
  for (const count of [counters.tailReads, counters.pageReads, counters.logReads]) expect(count).toBeGreaterThan(20);
  for (const count of [counters.headsConfirmed, counters.headsAsked, counters.keptAsked])
    expect(count).toBeGreaterThan(5);
});
