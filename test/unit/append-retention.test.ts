import { expect, it } from 'vitest';
import type { EntryStore } from '../../services/log/entry-store.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { systemClock } from '../../services/shared/clock.js';
import { RevcastError } from '../../services/shared/errors.js';

const one = (value: string) => ({ revisions: [{ data: Buffer.from(JSON.stringify(value)) }] });

it('[L4] where retention removed what would tell, the outcome is unknown, and nothing is stored twice', async () => {
  const store = new MemoryStore(2);
  const other = new MemoryLog({ clock: systemClock, store });
  let losesAnswer = false;
  const writeStore: EntryStore = {
    maxEntryBytes: store.maxEntryBytes,
    last: (room) => store.last(room),
    next: (room, afterSeq) => store.next(room, afterSeq),
    recent: (room, window) => store.recent(room, window),
    async put(entry, expectedSeq) {
      const outcome = await store.put(entry, expectedSeq);
      if (!losesAnswer) return outcome;
      losesAnswer = false;
      // The answer is lost, and before anyone can read, others push the entry out of the log.
      for (const value of ['b', 'c', 'd']) await other.append('doc', one(value));
      return { kind: 'unknown', cause: new Error('the answer is lost') };
    },
  };
  const log = new MemoryLog({ clock: systemClock, store, writeStore });
  const followed: string[] = [];
  log.follow(['doc'], ({ revisions }) => followed.push(...revisions.map(({ data }) => Buffer.from(data).toString())));

  await log.append('doc', one('a'));
  losesAnswer = true;
  const outcome = await log.append('doc', one('mine')).catch((error: unknown) => error);
  const after = await log.append('doc', one('after'));
  await new Promise((resolve) => {
    setImmediate(resolve);
  });

  expect(outcome).toBeInstanceOf(RevcastError);
  expect(outcome).toMatchObject({ code: 'outcome_unknown', retryable: true });
  expect(after).toMatchObject({ rev: 6 });
  expect(followed).toEqual(['"a"', '"mine"', '"b"', '"c"', '"d"', '"after"']);
});
