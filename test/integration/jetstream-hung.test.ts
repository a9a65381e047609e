/** The log on three nats-servers of which one hangs: its process stands still, its connections stay. Rule L17. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Appended } from '../../services/log/log.js';
import { STREAM } from '../../services/log/subjects.js';
import { asError, RevcastError } from '../../services/shared/errors.js';
import { allEntries, data, newRoom, valuesOf } from '../contract/harness.js';
import { becomesReady, startJetStreamLog, type TestLog } from '../support/jetstream.js';
import { keepAppending } from '../support/keep-appending.js';
import { NatsCluster } from '../support/nats-cluster.js';
import type { NatsServer } from '../support/nats-server.js';
import { Random, testSeed } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

const SETTINGS = { logReplicas: 3 };
/** What is missed is a heartbeat of the leader; usually 4 to 9 s. */
const ELECTION_MS = 30_000;
const GOES_ON_MS = 20_000;
/** Silence is noticed within 8 s, and one consumer in three is then given to the node that hangs. */
const WHOLE_GOES_ON_MS = 45_000;
const READS = 5;
/** Appends of each log before a node hangs: what is kept of keys is then a long read. */
const BEFORE = 100;
const PROGRESS = 20;
const RETRIES = 30;

const seed = testSeed();

/** One log's appends to one room, as far as they were acknowledged. */
interface Author {
  readonly room: string;
  acknowledged: number;
  readonly told: Promise<Map<string, Appended>>;
}

/** Entries of each room that a follower was given. */
class Seen {
  private readonly rooms = new Map<string, number>();

  readonly add = ({ room }: { readonly room: string }): void => {
    this.rooms.set(room, this.of(room) + 1);
  };

  of(room: string): number {
    return this.rooms.get(room) ?? 0;
  }
}

/** Each log appends to a room of its own and, racing with the others, to one that they share. */
class Work {
  readonly shared = newRoom();
  readonly rooms: readonly string[];
  readonly authors: Author[];
  /** Of each log, what came of its rooms, and what came of the whole log. */
  readonly seen: { readonly live: Seen; readonly whole: Seen }[];
  private readonly until = { stop: false };
  private readonly followings: { stop(): void }[];

  constructor(logs: readonly TestLog[], name: string) {
    const own = logs.map(newRoom);
    this.rooms = [...own, this.shared];
    this.seen = logs.map(() => ({ live: new Seen(), whole: new Seen() }));
    this.followings = logs.flatMap(({ log }, at) => [
      log.follow(this.rooms, (entry) => this.seen[at]?.live.add(entry)),
      log.followAll({
        onEntry: (entry) => this.seen[at]?.whole.add(entry),
        onReached: () => undefined,
        onRestart: () => undefined,
      }),
    ]);
    this.authors = logs.flatMap((opened, at) =>
      [own[at] ?? '', this.shared].map((room) => this.author(opened, room, `${name}.${at}`)),
    );
  }

  /** How many appends to each room were acknowledged. */
  acknowledged(): ReadonlyMap<string, number> {
    const of = (room: string) => this.authors.filter((author) => author.room === room);
    return new Map(this.rooms.map((room) => [room, of(room).reduce((sum, author) => sum + author.acknowledged, 0)]));
  }

  /** What the appends to each room were answered, by value. */
  async end(): Promise<ReadonlyMap<string, [value: string, Appended][]>> {
    this.until.stop = true;
    const answers = new Map<string, [string, Appended][]>(this.rooms.map((room) => [room, []]));
    for (const { room, told } of this.authors) answers.get(room)?.push(...(await told));
    for (const following of this.followings) following.stop();
    return answers;
  }

  private author({ log }: TestLog, room: string, name: string): Author {
    const append: typeof log.append = async (...args) => {
      const appended = await log.append(...args);
      author.acknowledged += 1;
      return appended;
    };
    const told = keepAppending({ append }, room, name, this.until);
    const author: Author = { room, acknowledged: 0, told };
    return author;
  }
}

/** What may be tried again is: a node that is back takes part in elections. */
async function retrying<T>(ask: () => Promise<T>): Promise<T> {
  for (const until = performance.now() + GOES_ON_MS; ;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof RevcastError && error.retryable) || performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Resolves when each count has grown by PROGRESS. */
async function grows(counts: () => readonly number[], what: string, timeoutMs = GOES_ON_MS): Promise<void> {
  const before = counts();
  await waitFor(() => counts().every((count, index) => count >= (before[index] ?? 0) + PROGRESS), {
    timeoutMs,
    what: `${what} while the node hangs`,
  });
}

async function leaderOf({ link }: TestLog): Promise<string | undefined> {
  try {
    const answer = await link.request(`$JS.API.STREAM.INFO.${STREAM}`, data({}), 1_000);
    return (JSON.parse(Buffer.from(answer).toString()) as { cluster?: { leader?: string } }).cluster?.leader;
  } catch {
    return undefined;
  }
}

async function anyLeader(logs: readonly TestLog[], but?: string): Promise<string> {
  let found: string | undefined;
  await waitFor(
    async () => {
      const leaders = await Promise.all(logs.map(leaderOf));
      found = leaders.find((leader) => leader !== undefined && leader !== but);
      return found !== undefined;
    },
    { timeoutMs: ELECTION_MS, what: 'the stream has a leader' },
  );
  return found ?? '';
}

/** All kinds of reads, READS times without a failure between; answers why not where that does not come about in time. */
async function readsGoOn({ log }: TestLog, rooms: readonly string[]): Promise<string | undefined> {
  const until = performance.now() + GOES_ON_MS;
  let reason: string | undefined = 'never read';
  for (let done = 0; done < READS && performance.now() < until; done += 1) {
    try {
      await log.heads(rooms);
      for (const room of rooms) {
        await log.range(room, 'first', { limit: 1_000, maxBytes: 1e9 });
        await log.snapshot(room);
      }
      reason = undefined;
    } catch (error) {
      reason = asError(error).message;
      done = -1;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  return performance.now() < until ? undefined : (reason ?? 'too slow');
}

describe(`the log while a node hangs (seed ${seed})`, () => {
  const random = new Random(seed);
  let cluster: NatsCluster | undefined;
  /** One at each node, as long as that answers. */
  let logs: TestLog[] = [];

  beforeAll(async () => {
    cluster = await NatsCluster.prepare();
    await cluster.start();
    logs = cluster.nodes.map(({ url }) => startJetStreamLog(url, { settings: SETTINGS }));
    for (const { log } of logs) await becomesReady(log);
  });

  afterAll(async () => {
    for (const node of cluster?.nodes ?? []) node.resume();
    for (const opened of logs) await opened.close();
    await cluster?.dispose();
  });

  const pick = (leader: string, who: 'leader' | 'follower'): NatsServer => {
    if (cluster === undefined) throw new Error('not started');
    const leading = cluster.node(leader);
    const [first, ...rest] = cluster.nodes.filter((node) => node !== leading);
    return who === 'leader' || first === undefined ? leading : random.pick([first, ...rest]);
  };

  async function goesOnWhileHung(work: Work, who: 'leader' | 'follower'): Promise<void> {
    await waitFor(() => [...work.acknowledged().values()].every((count) => count > BEFORE), {
      timeoutMs: 30_000,
      what: 'appends are under way',
    });
    const leader = await anyLeader(logs);
    const node = pick(leader, who);
    await node.pause();
    try {
      if (who === 'leader') await anyLeader(logs, leader);
      const reads = Promise.all(logs.map((opened) => readsGoOn(opened, work.rooms)));
      const counted = (seen: Seen) => work.rooms.map((room) => seen.of(room));
      await Promise.all([
        grows(() => [...work.acknowledged().values()], 'every log appends'),
        grows(() => work.seen.flatMap(({ live }) => counted(live)), 'every follower of rooms is given entries'),
        grows(
          () => work.seen.flatMap(({ whole }) => counted(whole)),
          'every follower of the log is given entries',
          WHOLE_GOES_ON_MS,
        ),
      ]);
      expect(await reads).toEqual(logs.map(() => undefined));
    } finally {
      node.resume();
    }
  }

  for (const who of ['leader', 'follower'] as const) {
    test(`[L17] appends, reads and following go on while a ${who} of the stream still hangs, at every log; each append is there once`, async () => {
      const work = new Work(logs, who);
      let answers: Awaited<ReturnType<Work['end']>>;
      try {
        await goesOnWhileHung(work, who);
      } finally {
        answers = await work.end();
      }

      for (const { log } of logs) await becomesReady(log);
      const [{ log }] = logs as [TestLog];
      for (const [room, told] of answers) {
        const stored = valuesOf(await retrying(() => allEntries(log, room)));
        expect(stored.map(([rev]) => rev)).toEqual(stored.map((_, index) => index + 1));
        expect(new Map(stored)).toEqual(new Map(told.map(([value, { rev }]) => [rev, value])));
        for (let i = 0; i < RETRIES; i += 1) {
          const [value, first] = random.pick(told as [(typeof told)[0]]);
          const again = await retrying(() => log.append(room, { revisions: [{ data: data(value) }], key: value }));
          expect(again).toMatchObject({ rev: first.rev, epoch: first.epoch, duplicate: true });
        }
      }
    });
  }
});
