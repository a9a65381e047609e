/** Appends whose outcome is not told: rules L4 and L14. */
import { describe, expect, test } from 'vitest';
import type { Log } from '../../services/log/log.js';
import { Random, testSeed } from '../support/random.js';
import { UnreliableStore, type Fate } from '../support/unreliable-stores.js';
import { waitFor } from '../support/wait-for.js';
import { allEntries, newRoom, numbered, one, rejection, valuesOf, type LogHarness } from './harness.js';

const SHORT_DEADLINE_MS = 300;
/** A deadline is kept to within this, on a busy machine. */
const SLACK_MS = 2_500;

export function describeLostAnswers(harness: () => LogHarness): void {
  const openUnreliable = async (
    fate: (put: number) => Fate,
    appendDeadlineMs = 10_000,
  ): Promise<{ log: Log; store: () => UnreliableStore }> => {
    let store: UnreliableStore | undefined;
    const log = await harness().open({
      appendDeadlineMs,
      wrapStore: (inner) => {
        store = new UnreliableStore(inner, fate);
        return store;
      },
    });
    return {
      log,
      store: () => {
        if (store === undefined) throw new Error('the log has not wrapped its store');
        return store;
      },
    };
  };

  describe('an append whose answer is lost', () => {
    for (const fate of ['answer_lost', 'request_lost', 'arrives_late'] as const) {
      test(`[L4] is stored once and answered with its place (${fate})`, async () => {
        const { log, store } = await openUnreliable((put) => (put === 2 ? fate : 'arrives'));
        const room = newRoom();

        await log.append(room, one('a'));
        const appended = await log.append(room, one('b'));
        const after = await log.append(room, one('c'));
        await store().settled();

        expect(appended).toMatchObject({ firstRev: 2, rev: 2, duplicate: false });
        expect(after).toMatchObject({ rev: 3 });
        expect(valuesOf(await allEntries(log, room))).toEqual(numbered(['a', 'b', 'c']));
      });

      test(`[L4] in an empty room likewise (${fate})`, async () => {
        const { log, store } = await openUnreliable((put) => (put === 1 ? fate : 'arrives'));
        const room = newRoom();

        expect(await log.append(room, one('a'))).toMatchObject({ rev: 1 });
        await store().settled();

        expect(valuesOf(await allEntries(log, room))).toEqual([[1, 'a']]);
      });

      test(`[L4] is renumbered where another writer took the place meanwhile (${fate})`, async () => {
        const room = newRoom();
        const other = await harness().open();
        let taken: Promise<unknown> = Promise.resolve();
        const { log, store } = await openUnreliable((put) => {
          if (put !== 2) return 'arrives';
          taken = other.append(room, one('other'));
          return fate;
        });
        await log.append(room, one('a'));

        const appended = await log.append(room, one('b'));
        await taken;
        await store().settled();

        const stored = valuesOf(await allEntries(log, room));
        expect(stored.map(([rev]) => rev)).toEqual([1, 2, 3]);
        expect(stored.filter(([, value]) => value === 'b')).toEqual([[appended.rev, 'b']]);
        expect(stored.filter(([, value]) => value === 'other')).toHaveLength(1);
      });
    }

    const seed = testSeed();
    test(`[L4] is neither doubled nor lost, whatever happens to two writers' puts (seed ${seed})`, async () => {
      const random = new Random(seed);
      const fate = (): Fate =>
        random.chance(0.6) ? 'arrives' : random.pick(['answer_lost', 'request_lost', 'arrives_late', 'refused']);
      const unreliable = await Promise.all([openUnreliable(fate), openUnreliable(fate)]);
      const room = newRoom();
      const told = new Map<number, string>();

      await Promise.all(
        unreliable.flatMap(({ log }, w) =>
          Array.from({ length: 4 }, async (_, caller) => {
            for (let i = 0; i < 6; i += 1) {
              const value = `${w}.${caller}.${i}`;
              const { rev } = await log.append(room, one(value));
              expect(told.get(rev)).toBeUndefined();
              told.set(rev, value);
            }
          }),
        ),
      );
      for (const { store } of unreliable) await store().settled();

      const stored = valuesOf(await allEntries(await harness().open(), room));
      expect(stored.map(([rev]) => rev)).toEqual(stored.map((_, index) => index + 1));
      expect(new Map(stored)).toEqual(told);
    });
  });

  describe('while the log cannot be reached', () => {
    test('[L14] an append fails with log_unavailable when it certainly was not stored', async () => {
      const { log } = await openUnreliable(() => 'refused', SHORT_DEADLINE_MS);
      const room = newRoom();
      const startedAt = performance.now();

      const error = await rejection(log.append(room, one('a')));

      expect(error).toMatchObject({ code: 'log_unavailable', retryable: true, httpStatus: 503 });
      expect(performance.now() - startedAt).toBeLessThan(SHORT_DEADLINE_MS + SLACK_MS);
      expect(await log.heads([room])).toEqual(new Map([[room, null]]));
    });

    test('[L14] an append fails with outcome_unknown when it may have been stored', async () => {
      const { log, store } = await openUnreliable((put) => {
        if (put > 1) return 'request_lost';
        store().unreadable = true;
        return 'answer_lost';
      }, SHORT_DEADLINE_MS);
      const room = newRoom();
      const startedAt = performance.now();

      const error = await rejection(log.append(room, one('a', { key: 'k' })));

      expect(error).toMatchObject({ code: 'outcome_unknown', retryable: true, httpStatus: 503 });
      expect(performance.now() - startedAt).toBeLessThan(SHORT_DEADLINE_MS + SLACK_MS);
    });

    test('[L4] after outcome_unknown a retry with the same key is answered the place of the first', async () => {
      const { log, store } = await openUnreliable((put) => {
        if (put !== 1) return 'arrives';
        store().unreadable = true;
        return 'answer_lost';
      }, SHORT_DEADLINE_MS);
      const room = newRoom();
      expect(await rejection(log.append(room, one('a', { key: 'k' })))).toMatchObject({ code: 'outcome_unknown' });

      store().unreadable = false;
      const retried = await log.append(room, one('a', { key: 'k' }));

      expect(retried).toMatchObject({ rev: 1, duplicate: true });
      expect(valuesOf(await allEntries(log, room))).toEqual([[1, 'a']]);
    });

    test('[L4] after outcome_unknown a retry with the same key is stored once, even if the first arrives after it', async () => {
      const { log, store } = await openUnreliable(() => 'arrives_late', 1);
      const room = newRoom();
      expect(await rejection(log.append(room, one('a', { key: 'k' })))).toMatchObject({ code: 'outcome_unknown' });

      const other = await harness().open();
      const retried = await other.append(room, one('a', { key: 'k' }));
      await store().settled();

      expect(retried).toMatchObject({ rev: 1 });
      expect(valuesOf(await allEntries(other, room))).toEqual([[1, 'a']]);
    });

    test('[L14] appends go on when it is back before their deadline', async () => {
      let reachable = false;
      const { log, store } = await openUnreliable(() => (reachable ? 'arrives' : 'refused'));
      const room = newRoom();
      const appending = Promise.all([log.append(room, one(1)), log.append(room, one(2))]);
      await waitFor(() => store().puts >= 3, { what: 'several puts were refused' });

      reachable = true;

      expect((await appending).map(({ rev }) => rev)).toEqual([1, 2]);
    });

    test('[L14] closing the log fails what waits', async () => {
      const { log, store } = await openUnreliable(() => 'refused');
      const appending = rejection(log.append(newRoom(), one(1)));
      await waitFor(() => store().puts >= 1, { what: 'a put was refused' });

      await log.close();

      expect(await appending).toMatchObject({ code: 'log_unavailable' });
      expect(await rejection(log.append(newRoom(), one(1)))).toMatchObject({ code: 'log_unavailable' });
    });
  });
}
