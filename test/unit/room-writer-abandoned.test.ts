/** A writer whose appends nobody waits for any more, and which are stored, or not, when that is long over. */
import { expect, test } from 'vitest';
import type { NewEntry, PutOutcome } from '../../services/log/entry-store.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { RoomWriter } from '../../services/log/room-writer.js';
import { data, rejection, valuesOf } from '../contract/harness.js';
import { ManualClock } from '../support/manual-clock.js';

const SETTINGS = { appendDeadlineMs: 5_000, keyWindowRevisions: 100, keyWindowMs: 60_000 };
const ROOM = 'doc';

/** While it hangs, puts are kept back without an answer; `arrive` has them come. */
class HangingStore extends MemoryStore {
  hangs = false;
  readonly reads: string[] = [];
  private keptBack: [NewEntry, number][] = [];

  override last(room: string): ReturnType<MemoryStore['last']> {
    this.reads.push('last');
    return super.last(room);
  }

  override recent(room: string, window: { upToSeq: number }): ReturnType<MemoryStore['recent']> {
    this.reads.push('recent');
    return super.recent(room, window);
  }

  override put(entry: NewEntry, expectedSeq: number): Promise<PutOutcome> {
    if (!this.hangs) return super.put(entry, expectedSeq);
    this.keptBack.push([entry, expectedSeq]);
    return Promise.resolve({ kind: 'unknown', cause: new Error('no answer') });
  }

  async arrive(): Promise<void> {
    for (const put of this.keptBack.splice(0)) await super.put(...put);
  }
}

function start() {
  const clock = new ManualClock();
  const store = new HangingStore();
  const writer = new RoomWriter(ROOM, { store, clock, settings: SETTINGS });
  const append = async (value: string) => {
    const appended = writer.append({ revisions: [{ data: data(value) }], key: value });
    const told = appended.catch((error: unknown) => error);
    await clock.advance(100);
    return told;
  };
  const abandoned = async (value: string) => {
    const told = append(value);
    await clock.advance(SETTINGS.appendDeadlineMs + 100);
    return rejection(told.then((error) => Promise.reject(error as Error)));
  };
  return { clock, store, append, abandoned, stored: () => valuesOf([...store.entriesOf(ROOM)]) };
}

test.each([{ begun: true }, { begun: false }])(
  '[L4] an append that was given up and is stored after all, behind it a retry and another append: each is there once (room begun: $begun)',
  async ({ begun }) => {
    const { store, append, abandoned, stored } = start();
    if (begun) await append('first');
    store.hangs = true;
    expect(await abandoned('late')).toMatchObject({ code: 'outcome_unknown' });
    expect(await abandoned('later')).toMatchObject({ code: 'outcome_unknown' });
    store.hangs = false;
    await store.arrive();

    const other = await append('other');
    const again = await append('late');
    const later = await append('later');

    const values = [...(begun ? ['first'] : []), 'late', 'other', 'later'];
    expect(stored()).toEqual(values.map((value, index) => [index + 1, value]));
    expect([other, again, later]).toMatchObject([
      { rev: values.indexOf('other') + 1, duplicate: false },
      { rev: values.indexOf('late') + 1, duplicate: true },
      { rev: values.indexOf('later') + 1, duplicate: false },
    ]);
  },
);

test('[L4] an append that was given up and comes behind what was appended since is never stored', async () => {
  const { store, append, abandoned, stored } = start();
  await append('first');
  store.hangs = true;
  expect(await abandoned('late')).toMatchObject({ code: 'outcome_unknown' });
  store.hangs = false;
  const other = await append('other');
  await store.arrive();

  expect(await append('late')).toMatchObject({ rev: 3, duplicate: false });
  expect(other).toMatchObject({ rev: 2 });
  expect(stored()).toEqual([
    [1, 'first'],
    [2, 'other'],
    [3, 'late'],
  ]);
});

test('[L17] after appends were given up the room is not read anew, keys neither', async () => {
  const { store, append, abandoned } = start();
  await append('first');
  expect(store.reads).toEqual(['last']);
  store.reads.length = 0;
  store.hangs = true;
  await abandoned('a');
  await abandoned('b');
  store.hangs = false;
  await append('c');

  expect(store.reads).toEqual([]);
});
