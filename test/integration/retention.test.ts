/** What `revcast gc` does to a log on a real server, whoever writes and reads meanwhile. */
import { randomBytes } from 'node:crypto';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JetStreamApi } from '../../services/log/jetstream/api.js';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { Retention, type Removed, type RetentionRule } from '../../services/log/jetstream/retention.js';
import type { Entry } from '../../services/log/log.js';
import { storedSubject } from '../../services/log/subjects.js';
import { systemClock } from '../../services/shared/clock.js';
import { becomesReady, openJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { Random, testSeed } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

const HOUR_MS = 3_600_000;
const seed = testSeed();

let server: NatsServer;
let link: NatsLink;
let retention: Retention;
/** A producer whose clock the tests set, and one of now. */
let past: TestLog;
let now: TestLog;
let hoursAgo = 0;

const clock = { ...systemClock, now: () => Date.now() - hoursAgo * HOUR_MS };

beforeAll(async () => {
  server = await NatsServer.start();
  past = await openJetStreamLog(server.url, { clock });
  now = await openJetStreamLog(server.url);
  link = testLink(server.url);
  retention = new Retention(new JetStreamApi(link, 5_000));
  link.start();
  await waitFor(() => link.up, { what: 'the link is up' });
});

afterAll(async () => {
  retention.close();
  await link.close();
  await past.close();
  await now.close();
  await server.dispose();
});

function rule(ageHours: number, keepRevisions = 0): RetentionRule {
  return { keepSince: Date.now() - ageHours * HOUR_MS, keepRevisions };
}

/** Entries of these sizes, each stored so many hours ago. */
async function fill(room: string, entries: readonly { hours: number; revisions?: number }[]): Promise<void> {
  for (const { hours, revisions = 1 } of entries) {
    hoursAgo = hours;
    await past.log.append(room, {
      revisions: Array.from({ length: revisions }, () => ({ data: Buffer.from(JSON.stringify({ hours })) })),
    });
  }
}

async function collect(room: string, by: RetentionRule, dryRun = false): Promise<Removed> {
  return retention.enforce({ room, entries: await retention.countOf(room) }, by, dryRun);
}

/** firstRev and head, as a reader finds them. */
async function bounds(room: string): Promise<[number, number]> {
  const range = await now.log.range(room, 'first', { limit: 1, maxBytes: 1 });
  if (range.kind !== 'entries') throw new Error(range.kind);
  return [range.entries[0]?.firstRev ?? 0, range.head.rev];
}

async function entriesOf(room: string, fromRev: number): Promise<readonly Entry[]> {
  const range = await now.log.range(room, fromRev, { limit: 1_000, maxBytes: 1e6 });
  return range.kind === 'entries' ? range.entries : [];
}

function purgeOf(room: string, seq: number): Buffer {
  return Buffer.from(JSON.stringify({ filter: storedSubject(room), seq }));
}

const ages = (...hours: number[]) => hours.map((each) => ({ hours: each }));

describe('what is removed', () => {
  it('[G1] entries whose newest revision is older than the age, of a room among others', async () => {
    await fill('among', ages(90, 80, 70));
    await fill('others', ages(99, 98));
    await fill('among', [{ hours: 60, revisions: 5 }, ...ages(49, 47, 20, 1)]);
    expect(await collect('among', rule(48), true)).toEqual({ entries: 5 });
    expect(await bounds('among')).toEqual([1, 12]);
    expect(await collect('among', rule(48))).toMatchObject({ entries: 5 });
    expect(await bounds('among')).toEqual([10, 12]);
    expect(await bounds('others')).toEqual([1, 2]);
    expect(await collect('among', rule(48))).toEqual({ entries: 0 });
  });

  it('[G2] the last entry stays, however old; so do the last revisions that are asked for', async () => {
    await fill('old', ages(500, 400, 300, 200));
    expect(await collect('old', rule(100, 2))).toMatchObject({ entries: 2 });
    expect(await bounds('old')).toEqual([3, 4]);
    expect(await collect('old', rule(100))).toMatchObject({ entries: 1 });
    expect(await collect('old', rule(100))).toEqual({ entries: 0 });
    expect(await bounds('old')).toEqual([4, 4]);
  });

  it('[G2] what follows the room’s snapshot stays, however old; a room that began with one goes on', async () => {
    hoursAgo = 100;
    const { epoch } = await past.log.putSnapshot('document', { rev: 50, data: Buffer.from('"a document"') });
    await fill('document', ages(90, 80, 70, 60));
    // The base entry is what the snapshot covers.
    expect(await collect('document', rule(48))).toMatchObject({ entries: 1 });
    expect(await bounds('document')).toEqual([51, 54]);
    await past.log.putSnapshot('document', { epoch, rev: 52, data: Buffer.from('"newer"') });
    expect(await collect('document', rule(48))).toMatchObject({ entries: 2 });
    expect(await bounds('document')).toEqual([53, 54]);
    expect(await now.log.snapshot('document')).toMatchObject({ epoch, rev: 52 });
    expect(await now.log.append('document', { revisions: [{ data: Buffer.from('0') }] })).toMatchObject({
      epoch,
      rev: 55,
    });
  });

  it('[S2] [G2] a snapshot that is put while what follows it is removed is refused, or keeps that', async () => {
    await fill('contended', ages(90, 80, 70, 60, 50));
    // It looked for a snapshot before this one was put, and removes when it is stored.
    const late = await openJetStreamLog(server.url, {
      wrapSnapshots: (store) => ({
        read: (...asked) => store.read(...asked),
        put: async (...given) => {
          const [entry] = await entriesOf('contended', 4);
          await link.request('$JS.API.STREAM.PURGE.REVISIONS', purgeOf('contended', entry?.seq ?? 0), 5_000);
          return store.put(...given);
        },
      }),
    });
    try {
      const put = () => late.log.putSnapshot('contended', { rev: 2, data: Buffer.from('"at 2"') });
      await expect(put()).rejects.toMatchObject({ code: 'history_truncated', details: { firstRev: 4 } });
      // The same again is no more true.
      await expect(put()).rejects.toMatchObject({ code: 'history_truncated' });
      const { rev } = await late.log.putSnapshot('contended', { rev: 4, data: Buffer.from('"at 4"') });
      expect(rev).toBe(4);
      await collect('contended', rule(1));
      expect(await bounds('contended')).toEqual([5, 5]);
    } finally {
      await late.close();
    }
  });

  it.each([
    { to: 5, what: 'that only moved up does not' },
    { to: 2, what: 'of an older revision than the cut was looked for with holds the removal up' },
  ])('[G2] a snapshot that is put before the removal $what', async ({ to }) => {
    const room = `moving-${to}`;
    await fill(room, ages(90, 80, 70, 60, 50, 40));
    const first = to === 2 ? undefined : await now.log.putSnapshot(room, { rev: 3, data: Buffer.from('"first"') });
    let looks = 0;
    class MovingApi extends JetStreamApi {
      override async call(...asked: Parameters<JetStreamApi['call']>): ReturnType<JetStreamApi['call']> {
        const isLook = asked[0] === 'STREAM.INFO.REVISIONS' && JSON.stringify(asked[1]) === '{}';
        if (isLook && ++looks === 1) await now.log.putSnapshot(room, { rev: to, data: Buffer.from('"moved"') });
        return super.call(...asked);
      }
    }
    const moving = new Retention(new MovingApi(link, 5_000));
    try {
      const removed = await moving.enforce({ room, entries: 6 }, rule(1), false);
      // With the first snapshot's cut at once: one look before the removal, one behind it. Else it is looked for anew.
      expect([removed.entries, looks]).toEqual(first === undefined ? [2, 3] : [3, 2]);
      expect(await bounds(room)).toEqual([first === undefined ? 3 : 4, 6]);
      expect(await now.log.snapshot(room)).toMatchObject({ rev: to });
    } finally {
      moving.close();
    }
  });

  it(`[G1] finds the place in rooms of any shape, as reading everything would (seed ${seed})`, async () => {
    const random = new Random(seed);
    const shapes = new Map<string, { hours: number; revisions: number }[]>();
    let hours = 1_000;
    for (let i = 0; i < 300; i += 1) {
      const room = `shape-${random.whole(1, 12)}`;
      const entry = { hours, revisions: random.whole(1, 4) };
      shapes.set(room, [...(shapes.get(room) ?? []), entry]);
      await fill(room, [entry]);
      if (random.chance(0.7)) hours -= random.whole(1, 5);
    }
    for (const [room, entries] of shapes) {
      const age = random.whole(0, 1_000) + 0.5;
      const keep = random.chance(0.5) ? 0 : random.whole(1, 20);
      const head = entries.reduce((sum, { revisions }) => sum + revisions, 0);
      let last = 0;
      const gone = entries.slice(0, -1).filter((entry) => {
        last += entry.revisions;
        return entry.hours > age && last <= head - keep;
      });
      const expected = [gone.reduce((sum, { revisions }) => sum + revisions, 1), head];
      expect({ room, ...(await collect(room, rule(age, keep), true)) }).toEqual({ room, entries: gone.length });
      expect({ room, ...(await collect(room, rule(age, keep))) }).toMatchObject({ room, entries: gone.length });
      expect({ room, bounds: await bounds(room) }).toEqual({ room, bounds: expected });
    }
  });

  it('[G1] what went is counted, and about its bytes', async () => {
    hoursAgo = 50;
    for (let i = 0; i < 20; i += 1) {
      await past.log.append('large', {
        revisions: [{ data: Buffer.from(JSON.stringify(randomBytes(5_000).toString('hex'))) }],
      });
    }
    const { entries, bytes = 0 } = await collect('large', rule(10));
    expect(entries).toBe(19);
    expect(bytes).toBeGreaterThan(19 * 10_000);
    expect(bytes).toBeLessThan(19 * 11_000);
  });
});

describe('at the same time as others', () => {
  it('[G2] two runs at once, and appends meanwhile: the room goes on, its newest entries are all there', async () => {
    const room = 'raced';
    await fill(room, ages(...Array.from({ length: 40 }, (_, index) => 100 - index)));
    const other = new Retention(new JetStreamApi(link, 5_000));
    let appended = 40;
    const enough = new AbortController();
    const appending = (async () => {
      while (!enough.signal.aborted) {
        const { rev } = await now.log.append(room, { revisions: [{ data: Buffer.from('"new"') }] });
        appended += 1;
        expect(rev).toBe(appended);
      }
    })();
    for (let round = 0; round < 15; round += 1) {
      const least = appended;
      await waitFor(() => appended > least + 3, { what: 'appends go on' });
      // An age of nothing: all but what is the newest entry at that moment.
      const by = rule(0);
      const stored = { room, entries: 1_000 };
      await Promise.all([retention.enforce(stored, by, false), other.enforce(stored, by, false)]);
      const [first, head] = await bounds(room);
      expect(first).toBeLessThanOrEqual(head);
      expect(head).toBeGreaterThan(least);
    }
    enough.abort();
    await appending;
    expect((await bounds(room))[1]).toBe(appended);
    expect((await bounds(room))[0]).toBeGreaterThan(40);
    other.close();
  });

  it('[G3] producers go on numbering: one that had read the room, one that is behind it, and a new one', async () => {
    const room = 'numbered';
    await fill(room, ages(90, 80, 70));
    // This one has read the room up to 4, and then others go on.
    expect((await now.log.append(room, { revisions: [{ data: Buffer.from('4') }], key: 'k4' })).rev).toBe(4);
    const third = await openJetStreamLog(server.url);
    for (const rev of [5, 6]) {
      expect((await third.log.append(room, { revisions: [{ data: Buffer.from('0') }], key: `k${rev}` })).rev).toBe(rev);
    }
    expect(await collect(room, rule(0))).toMatchObject({ entries: 5 });
    const next = async ({ log }: TestLog) => {
      const { rev, epoch } = await log.append(room, { revisions: [{ data: Buffer.from('0') }] });
      return { rev, epoch };
    };
    const { epoch } = await next(third);
    expect(await next(now)).toEqual({ rev: 8, epoch });
    const fresh = await openJetStreamLog(server.url);
    expect(await next(fresh)).toEqual({ rev: 9, epoch });
    // What is kept is known to every producer by its key.
    for (const { log } of [fresh, third, now]) {
      const again = await log.append(room, { revisions: [{ data: Buffer.from('0') }], key: 'k6' });
      expect(again).toMatchObject({ rev: 6, duplicate: true });
    }
    await fresh.close();
    await third.close();
  });

  it('[G2] a cut found before the log was rolled back is not made: seqs mean other entries now', async () => {
    const room = 'rolled-back';
    await fill(room, ages(90, 80));
    await server.stop();
    const copy = join(server.directory, 'copy');
    await cp(server.storeDirectory, copy, { recursive: true });
    await server.start();
    await Promise.all([becomesReady(past.log), becomesReady(now.log)]);
    await fill(room, ages(70, 60, 50));
    await waitFor(() => link.up, { what: 'the link is up' });

    let rolledBack = false;
    class Interrupted extends JetStreamApi {
      override async call(verb: string, body?: object): Promise<object> {
        const answer = await super.call(verb, body);
        // Between the look and the purge.
        if (!rolledBack && verb.startsWith('STREAM.INFO')) {
          rolledBack = true;
          await server.kill();
          await rm(server.storeDirectory, { recursive: true });
          await cp(copy, server.storeDirectory, { recursive: true });
          await server.start();
          await waitFor(() => link.up, { what: 'the link is up again' });
        }
        return answer;
      }
    }
    const interrupted = new Retention(new Interrupted(link, 5_000));
    const removed = await interrupted.enforce({ room, entries: 5 }, rule(48), false);
    expect(rolledBack).toBe(true);
    expect(removed.entries).toBe(1);
    await Promise.all([becomesReady(past.log), becomesReady(now.log)]);
    expect(await bounds(room)).toEqual([2, 2]);
    interrupted.close();
  });
});

describe('the list of rooms', () => {
  it('[G4] has every room once, with its entries, over the partitions; subjects of others are told apart', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `listed-${index}-é😀`);
    await Promise.all(names.map((room) => now.log.append(room, { revisions: [{ data: Buffer.from('1') }] })));
    await link.requestMessage(`${storedSubject('x')}.more`, Buffer.from('not an entry'), { timeoutMs: 2_000 });
    const found: string[] = [];
    const foreign: string[] = [];
    for await (const page of retention.rooms()) {
      found.push(...page.rooms.filter(({ entries }) => entries > 0).map(({ room }) => room));
      foreign.push(...page.foreign);
    }
    expect(found.filter((room) => room.startsWith('listed-')).sort()).toEqual(names.sort());
    expect(new Set(found).size).toBe(found.length);
    expect(foreign).toEqual([`${storedSubject('x')}.more`]);
  });
});
