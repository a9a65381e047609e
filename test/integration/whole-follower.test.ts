/** Following the whole log through what comes in the middle of an opening, and past entries that were removed unseen: rule L15. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { JetStreamApi } from '../../services/log/jetstream/api.js';
import { EntryReader } from '../../services/log/jetstream/entry-reader.js';
import { HistoryGuard } from '../../services/log/jetstream/history-guard.js';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { readExtent } from '../../services/log/jetstream/stream.js';
import { ReplicaReads } from '../../services/log/jetstream/replica-reads.js';
import { WholeFollower } from '../../services/log/jetstream/whole-follower.js';
import type { Entry, LogExtent, WholeListener } from '../../services/log/log.js';
import { STREAM, storedSubject } from '../../services/log/subjects.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger } from '../../services/shared/logger.js';
import { data, one } from '../contract/harness.js';
import { openJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { waitFor } from '../support/wait-for.js';

/** What follows is let through only when the test says so. */
class Barrier {
  private waiting: (() => void)[] = [];
  closed = false;

  get count(): number {
    return this.waiting.length;
  }

  async pass(): Promise<void> {
    if (!this.closed) return;
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
    });
  }

  open(): void {
    this.closed = false;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  async holds(): Promise<void> {
    await waitFor(() => this.count > 0, { what: 'it is asked' });
  }
}

/** Remembers what it is told, in order. */
class Witness implements WholeListener {
  entries: Entry[] = [];
  calls = 0;
  reached = -1;
  restarts = 0;

  onEntry(entry: Entry): void {
    this.calls += 1;
    this.entries.push(entry);
  }

  onReached(seq: number): void {
    this.calls += 1;
    this.reached = Math.max(this.reached, seq);
  }

  onRestart(): void {
    this.restarts += 1;
    this.entries = [];
    this.reached = -1;
  }
}

describe('a follower of the whole stream', () => {
  let server: NatsServer;
  let writer: TestLog;
  let link: NatsLink;
  let api: JetStreamApi;
  let follower: WholeFollower | undefined;
  const tagAt = new Barrier();
  const extent = new Barrier();
  const create = new Barrier();
  const flow = new Barrier();
  const complaints: string[] = [];

  beforeEach(async () => {
    server = await NatsServer.start();
    writer = await openJetStreamLog(server.url);
    link = testLink(server.url);
    link.start();
    await waitFor(() => link.up, { what: 'the link is up' });
    api = new JetStreamApi(link, 5_000);
    complaints.length = 0;
  });

  afterEach(async () => {
    for (const barrier of [tagAt, extent, create, flow]) barrier.open();
    follower?.stop();
    api.close();
    await link.close();
    await writer.close();
    await server.dispose();
  });

  function complain(about: { reason: string }): void {
    complaints.push(about.reason);
  }

  const follow = (witness: Witness): WholeFollower => {
    const reader = new EntryReader(api, new ReplicaReads(api, systemClock), new HistoryGuard());
    const slowly = new Proxy(api, {
      get(target, property, receiver) {
        if (property === 'call') {
          return async (verb: string, body?: object) => {
            if (verb.startsWith('CONSUMER.CREATE')) await create.pass();
            return target.call(verb, body);
          };
        }
        return property === 'link' ? controlled : (Reflect.get(target, property, receiver) as unknown);
      },
    });
    const controlled = new Proxy(link, {
      get(target, property) {
        // While it is closed the server hears nothing of what has come, and stops to send.
        if (property === 'publish')
          return (...given: Parameters<NatsLink['publish']>) => flow.closed || link.publish(...given);
        const value = Reflect.get(target, property) as unknown;
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    follower = new WholeFollower(
      {
        api: slowly,
        reader: {
          tagAt: async (seq) => {
            await tagAt.pass();
            return reader.tagAt(seq);
          },
          seqAfter: (seq) => reader.seqAfter(seq),
        },
        extent: async () => {
          await extent.pass();
          return readExtent(api);
        },
        clock: systemClock,
        logger: Object.assign(Object.create(silentLogger) as typeof silentLogger, { warn: complain }),
      },
      witness,
    );
    return follower;
  };

  const append = async (room: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1) await writer.log.append(room, one(i));
  };
  const purge = (room: string) =>
    writer.link.request(`$JS.API.STREAM.PURGE.${STREAM}`, data({ filter: storedSubject(room) }), 5_000);
  const end = async (): Promise<LogExtent> => writer.log.extent();
  const reachesEnd = async (witness: Witness): Promise<void> => {
    const { lastSeq } = await end();
    await waitFor(() => witness.reached >= lastSeq, { what: `seq ${lastSeq} is reached` });
  };
  const consumers = async (): Promise<number> => {
    const info = (await api.call(`STREAM.INFO.${STREAM}`)) as { state: { consumer_count: number } };
    return info.state.consumer_count;
  };

  it('[L15] begun again while what was given last is looked at: all heads come anew, without a complaint', async () => {
    await append('one', 3);
    await append('two', 3);
    const witness = new Witness();
    const following = follow(witness);
    await reachesEnd(witness);
    tagAt.closed = true;
    following.verify();
    await tagAt.holds();
    following.restart();
    tagAt.open();
    await append('one', 2);
    await reachesEnd(witness);
    expect(witness.restarts).toBe(1);
    expect(witness.entries.map(({ room, firstRev }) => [room, firstRev])).toEqual(
      expect.arrayContaining([
        ['two', 3],
        ['one', 5],
      ]),
    );
    const seqs = witness.entries.map(({ seq }) => seq);
    expect(seqs).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    expect(complaints).toEqual([]);
    await waitFor(async () => (await consumers()) === 1, { what: 'one consumer is left' });
  });

  it.each(['extent', 'tagAt', 'create'] as const)(
    '[L15] stopped during %s: no call follows, no consumer stays',
    async (during) => {
      await append('one', 3);
      const witness = new Witness();
      const following = follow(witness);
      await reachesEnd(witness);
      const barrier = { extent, tagAt, create }[during];
      barrier.closed = true;
      following.verify();
      await barrier.holds();
      following.stop();
      const { calls } = witness;
      barrier.open();
      await append('one', 3);
      await waitFor(async () => (await consumers()) === 0, { what: 'no consumer is left' });
      expect(witness.calls).toBe(calls);
    },
  );

  it('[L15] begun again while its consumer is made: nothing is reached before the heads are there', async () => {
    await append('one', 3);
    const witness = new Witness();
    const following = follow(witness);
    await reachesEnd(witness);
    create.closed = true;
    following.verify();
    await create.holds();
    following.restart();
    expect(witness.reached).toBe(-1);
    await new Promise((resolve) => setImmediate(resolve));
    create.open();
    await waitFor(() => witness.reached >= 0, { what: 'something is reached' });
    expect(witness.entries.map(({ room }) => room)).toContain('one');
    expect(complaints).toEqual([]);
  });

  it('[L15] entries that were removed before they came do not keep the end from being reached', async () => {
    await append('quiet', 1);
    const witness = new Witness();
    follow(witness);
    await reachesEnd(witness);
    flow.closed = true;
    const large = `"${'x'.repeat(200_000)}"`;
    for (let i = 0; i < 80; i += 1) await writer.log.append('burst', { revisions: [{ data: Buffer.from(large) }] });
    await waitFor(() => witness.entries.length > 1, { what: 'some of it came' });
    await purge('burst');
    const { lastSeq } = await end();
    expect(witness.reached).toBeLessThan(lastSeq);
    flow.open();
    await reachesEnd(witness);
    expect(witness.restarts).toBe(0);
    await append('quiet', 1);
    await reachesEnd(witness);
    expect(witness.entries.at(-1)).toMatchObject({ room: 'quiet', firstRev: 2 });
  });

  it('[L15] all heads of many rooms come while the server is told in time that they came', async () => {
    const rooms = Array.from({ length: 2_500 }, (_, index) => `room ${index}`);
    await Promise.all(rooms.map((room) => writer.log.append(room, one(room))));
    const witness = new Witness();
    follow(witness);
    await reachesEnd(witness);
    expect(new Set(witness.entries.map(({ room }) => room)).size).toBe(2_500);
    await append('later', 1_500);
    await reachesEnd(witness);
    expect(witness.entries.filter(({ room }) => room === 'later')).toHaveLength(1_500);
    expect(witness.restarts).toBe(0);
  });

  it('[L15] what is on its way is bounded: a request during the first heads does not wait for all of them', async () => {
    const rooms = Array.from({ length: 4_000 }, (_, index) => `room ${index}`);
    const text = `"${'x'.repeat(2_000)}"`;
    await Promise.all(rooms.map((room) => writer.log.append(room, { revisions: [{ data: Buffer.from(text) }] })));
    const witness = new Witness();
    let answeredAfter: number | undefined;
    witness.onEntry = (entry) => {
      witness.entries.push(entry);
      if (witness.entries.length > 1) return;
      void readExtent(api).then(() => {
        answeredAfter = witness.entries.length;
      });
    };
    follow(witness);
    await reachesEnd(witness);
    // What was sent ahead twice: before the request, and before its answer.
    expect(answeredAfter).toBeLessThanOrEqual(2_000);
  });
});
