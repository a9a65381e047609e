/** A writer whose log loses history under it. */
import { expect, it } from 'vitest';
import type { EntryStore } from '../../services/log/entry-store.js';
import type { Entry } from '../../services/log/log.js';
import { RoomWriter } from '../../services/log/room-writer.js';
import { systemClock } from '../../services/shared/clock.js';

const SETTINGS = { appendDeadlineMs: 5_000, keyWindowRevisions: 10, keyWindowMs: 60_000 };
const one = (value: string) => ({ revisions: [{ data: Buffer.from(JSON.stringify(value)) }] });

/** One room's entries, which a test can put back to what they were; `beforePut` decides whether the next put gets there. */
class ErasableStore implements EntryStore {
  readonly maxEntryBytes = 1_000_000;
  entries: Entry[] = [];
  beforePut: (() => boolean) | undefined;

  last(): Promise<Entry | null> {
    return Promise.resolve(this.entries.at(-1) ?? null);
  }

  next(_room: string, afterSeq: number): Promise<Entry | null> {
    return Promise.resolve(this.entries.find(({ seq }) => seq > afterSeq) ?? null);
  }

  recent(): Promise<readonly Entry[]> {
    return Promise.resolve([]);
  }

  put(...[entry, expectedSeq]: Parameters<EntryStore['put']>): ReturnType<EntryStore['put']> {
    const arrives = this.beforePut?.() ?? true;
    if (!arrives) return Promise.resolve({ kind: 'unknown', cause: new Error('the answer was lost') });
    const lastSeq = this.entries.at(-1)?.seq ?? 0;
    if (lastSeq !== expectedSeq) return Promise.resolve({ kind: 'conflict' });
    this.entries.push({ ...entry, seq: lastSeq + 1 });
    return Promise.resolve({ kind: 'stored', seq: lastSeq + 1 });
  }
}

it('[L9] a writer that finds the loss by itself, in the middle of an append, and is then told of it, begins a new epoch', async () => {
  const store = new ErasableStore();
  const writer = new RoomWriter('doc', { store, clock: systemClock, settings: SETTINGS });
  const old = await writer.append(one('kept'));
  const copy = [...store.entries];
  await writer.append(one('lost'));
  store.beforePut = () => {
    store.beforePut = undefined;
    store.entries = [...copy];
    writer.distrust();
    return false;
  };

  const next = await writer.append(one('new'));
  const after = await writer.append(one('after'));

  expect(next.epoch).not.toBe(old.epoch);
  expect([next, after]).toMatchObject([{ rev: 1 }, { rev: 2, epoch: next.epoch }]);
});

it('[L9] a writer that gave a history up, and looks again before it appends, goes on with what others numbered since', async () => {
  const store = new ErasableStore();
  const writer = new RoomWriter('doc', { store, clock: systemClock, settings: SETTINGS });
  const other = new RoomWriter('doc', { store, clock: systemClock, settings: SETTINGS });
  await writer.append(one('kept'));
  const copy = [...store.entries];
  await writer.append(one('lost'));
  await other.append(one('lost too'));
  store.entries = [...copy];
  other.distrust();
  const since = await other.append(one('since'));
  writer.distrust();

  expect(await writer.append(one('on'))).toMatchObject({ epoch: since.epoch, rev: 2 });
});
