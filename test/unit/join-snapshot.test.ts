/** Joining with the room's snapshot, and rooms that begin with one: rules S8 to S10. */
import { describe, expect, it } from 'vitest';
import type { EdgeSettings } from '../../services/edge/settings.js';
import type { Entry, Snapshot } from '../../services/log/log.js';
import type { SnapshotAnswer } from '../../services/revision/contract.js';
import { Gate } from '../support/edge-doubles.js';
import { EdgeHarness, told, type Client } from '../support/edge-parts.js';

const ROOM = 'doc-1';
const KB = 1_000;

function put(edge: EdgeHarness, rev: number, text = `"snapshot at ${rev}"`, replaces?: string): Promise<Snapshot> {
  const data = Buffer.from(text);
  return edge.reader.log.putSnapshot(ROOM, { rev, data, ...(replaces === undefined ? {} : { replaces }) });
}

/** An edge over a room with `count` revisions, and a snapshot at `rev`. */
async function edgeOver(count: number, rev?: number, settings: Partial<EdgeSettings> = {}, keep?: number) {
  const edge = new EdgeHarness(settings, keep === undefined ? {} : { keep });
  const history = edge.history();
  for (let i = 0; i < count; i += 1) await history.add();
  if (rev !== undefined) await put(edge, rev);
  return { edge, history };
}

/** An edge over a room that begins with a snapshot, and the base as the live path tells it. */
async function edgeBegunAt(rev: number) {
  const edge = new EdgeHarness();
  const begun = await put(edge, rev);
  const base = edge.store.entriesOf(ROOM)[0];
  if (base === undefined) throw new Error('the room has begun');
  const history = edge.history(ROOM, begun.epoch);
  /** One more revision, behind the base too. */
  const publish = async (): Promise<Entry> => {
    await edge.reader.log.append(ROOM, { revisions: [{ data: Buffer.from('{}') }] });
    edge.live.deliver(history.last);
    await edge.settle();
    return history.last;
  };
  return { edge, begun, base, publish };
}

function answerOf({ socket }: Client): Record<string, unknown> {
  return (JSON.parse(socket.messages[0] ?? '{}') as { data: Record<string, unknown> }).data;
}

function errorOf({ socket }: Client, index = 0): unknown {
  return (JSON.parse(socket.messages[index] ?? '{}') as { data: { error: unknown } }).data.error;
}

/** A revision, as `told` says it. */
function given(rev: number): string {
  return `${ROOM}/${rev}`;
}

const fromSnapshot = { since: 'snapshot' } as const;

describe('a subscribe since the base of a room', () => {
  it('[D4] with another tag is told epoch_changed; its own tag is told where the client names none', async () => {
    const { edge, begun } = await edgeBegunAt(150);
    const { epoch, tag } = begun;
    const wrong = await edge.subscriber({ since: { epoch, rev: 150, tag: '00000000' } });
    expect(errorOf(wrong)).toMatchObject({ code: 'epoch_changed', head: { epoch, rev: 150, tag } });
    for (const since of [
      { epoch, rev: 150 },
      { epoch, rev: 150, tag },
    ]) {
      expect(answerOf(await edge.subscriber({ since }))).toMatchObject({ subscribed: true, epoch, rev: 150, tag });
    }
  });
});

describe('a subscribe since the snapshot', () => {
  it('[S8] is answered with it, and what follows comes from there on, each once', async () => {
    const { edge, history } = await edgeOver(5, 3);
    const client = await edge.subscriber({ ...fromSnapshot, id: '"a"' });
    await edge.publish(history, 2);
    await edge.settle();
    expect(told(client)).toEqual([`subscribed ${ROOM} at 3`, ...[4, 5, 6, 7].map(given)]);
    const { epoch, tag } = history.store.entriesOf(ROOM)[2] as Entry;
    const { time } = (await edge.reader.log.snapshot(ROOM)) as Snapshot;
    expect(client.socket.messages[0]).toBe(
      `{"id":"a","data":{"subscribed":true,"room":"${ROOM}","epoch":"${epoch}","rev":3,"tag":"${tag}",` +
        `"snapshot":{"rev":3,"time":${time},"data":"snapshot at 3"}}}`,
    );
    expect(client.socket.faults).toEqual([]);
  });

  it('[S8] at the head is followed by what comes', async () => {
    const { edge, history } = await edgeOver(3, 3);
    const client = await edge.subscriber(fromSnapshot);
    expect(told(client)).toEqual([`subscribed ${ROOM} at 3`]);
    await edge.publish(history);
    await edge.settle();
    expect(told(client).slice(1)).toEqual([given(4)]);
  });

  it('[S8] with batch gets the answer alone, and then the rest in one message', async () => {
    const { edge } = await edgeOver(6, 2);
    const client = await edge.subscriber({ ...fromSnapshot, batch: true });
    expect(client.socket.messages).toHaveLength(2);
    expect(told(client)).toEqual([`subscribed ${ROOM} at 2`, ...[3, 4, 5, 6].map(given)]);
  });

  it('[S8] gives the data byte for byte, compressed too', async () => {
    for (const deflates of [false, true]) {
      const { edge } = await edgeOver(1);
      const data = `{"n":1.50e3,"t":"\\u00e4ä","more":"${'word '.repeat(500)}"}`;
      await put(edge, 1, data);
      const client = await edge.subscriber({ ...fromSnapshot, deflates });
      expect(client.socket.messages[0]).toContain(`"data":${data}}}}`);
      expect(client.socket.compressedMessages).toBe(deflates ? 1 : 0);
      expect(client.socket.faults).toEqual([]);
    }
  });

  it('[S9] without a snapshot is answered null, and gets all revisions', async () => {
    const { edge } = await edgeOver(3);
    const client = await edge.subscriber(fromSnapshot);
    expect(answerOf(client)).toMatchObject({ subscribed: true, rev: 0, snapshot: null });
    expect(told(client).slice(1)).toEqual([1, 2, 3].map(given));
  });

  it('[S9] of the empty room is answered null, and gets what comes', async () => {
    const { edge, history } = await edgeOver(0);
    const client = await edge.subscriber(fromSnapshot);
    expect(answerOf(client)).toMatchObject({ epoch: '', rev: 0, snapshot: null });
    await edge.publish(history);
    await edge.settle();
    expect(told(client).slice(1)).toEqual([given(1)]);
  });

  it('[S9] without a snapshot and without the first revisions is refused, with what is kept', async () => {
    const { edge } = await edgeOver(60, undefined, {}, 20);
    const client = await edge.subscriber(fromSnapshot);
    const [first] = edge.store.entriesOf(ROOM);
    expect(errorOf(client)).toMatchObject({
      code: 'history_truncated',
      firstRev: first?.firstRev,
      head: { rev: 60 },
    });
  });

  it('[S9] with a snapshot that is no longer followed is refused, never given a hole', async () => {
    const { edge, history } = await edgeOver(3, 2, {}, 20);
    for (let i = 0; i < 60; i += 1) await history.add();
    const client = await edge.subscriber(fromSnapshot);
    expect(errorOf(client)).toMatchObject({ code: 'history_truncated', head: { rev: 63 } });
    expect(client.socket.messages).toHaveLength(1);
  });

  it('[S9] that was kept here, and is no longer followed, is asked for anew', async () => {
    const { edge, history } = await edgeOver(3, 2, { ringKeepRevisions: 0, pageCacheBytes: 0 }, 20);
    const first = await edge.subscriber(fromSnapshot);
    expect(answerOf(first)).toMatchObject({ rev: 2 });
    for (let i = 0; i < 60; i += 1) await edge.publish(history);
    await put(edge, 60);
    const second = edge.connect();
    edge.subscribe(second, fromSnapshot);
    await edge.settle();
    expect(answerOf(second)).toMatchObject({ subscribed: true, rev: 60, snapshot: { rev: 60 } });
    expect(edge.reader.asked.snapshot).toBe(2);
  });

  it('[S8] which this edge is behind of waits for it to be there', async () => {
    const { edge, history } = await edgeOver(3, 3);
    await edge.subscriber();
    // Not told on the live path yet.
    for (let i = 0; i < 4; i += 1) await history.add();
    await put(edge, 6);
    const client = await edge.subscriber(fromSnapshot);
    await edge.clock.advance(100);
    expect(told(client)).toEqual([`subscribed ${ROOM} at 6`, given(7)]);
  });

  it('[S8] while appends go on, wherever the snapshot stands, misses nothing and repeats nothing', async () => {
    const { edge, history } = await edgeOver(3, 1, { ringKeepRevisions: 2, pageRevisions: 4 });
    const clients: Client[] = [];
    for (let i = 0; i < 30; i += 1) {
      if (i % 4 === 0) await put(edge, 2 + i);
      clients.push(edge.connect());
      edge.subscribe(clients.at(-1) as Client, fromSnapshot);
      await edge.publish(history);
      await edge.clock.advance(i % 3 === 0 ? 500 : 1);
    }
    await edge.clock.advance(2_000);
    for (const client of clients) {
      const begin = Number(answerOf(client)['rev']);
      const revs = Array.from({ length: 33 - begin }, (_, index) => given(begin + 1 + index));
      expect(told(client).slice(1)).toEqual(revs);
    }
  });
});

describe('many who join with a snapshot', () => {
  it('[S10] cost one read, one serialization and one deflation', async () => {
    const { edge } = await edgeOver(3, 3);
    await put(edge, 3);
    const clients = Array.from({ length: 300 }, (_, index) => edge.connect({ deflates: index % 2 === 0 }));
    for (const client of clients) edge.subscribe(client, fromSnapshot);
    await edge.clock.advance(50);
    for (const client of clients) expect(told(client)).toEqual([`subscribed ${ROOM} at 3`]);
    expect(edge.reader.asked.snapshot).toBe(1);
    expect(edge.parts.counters).toMatchObject({ bodiesSerialized: 1, framesPrepared: 1, snapshotsSent: 300 });
    expect(edge.parts.counters.bodiesDeflated).toBeLessThanOrEqual(1);
  });

  it('[S10] later too: what is read again and is the same is not prepared again', async () => {
    const { edge } = await edgeOver(3, 3);
    for (let i = 0; i < 3; i += 1) {
      await edge.subscriber(fromSnapshot);
      await edge.clock.advance(1_500);
    }
    expect(edge.reader.asked.snapshot).toBe(3);
    expect(edge.parts.counters).toMatchObject({ bodiesSerialized: 1, snapshotsSent: 3 });
  });

  it('[S10] and kept snapshots are bounded, the longest unused go first', async () => {
    const edge = new EdgeHarness({ snapshotCacheBytes: 12 * KB });
    for (const room of ['a', 'b', 'c']) {
      await edge.reader.log.putSnapshot(room, { rev: 1, data: Buffer.from(JSON.stringify('x'.repeat(KB))) });
    }
    for (const room of ['a', 'b', 'a', 'c', 'a']) await edge.subscriber({ ...fromSnapshot, room });
    expect(edge.reader.asked.snapshot).toBe(3);
    await edge.subscriber({ ...fromSnapshot, room: 'b' });
    expect(edge.reader.asked.snapshot).toBe(4);
  });

  it('[S10] a large one goes alone and without a cork, to an empty socket only', async () => {
    const { edge, history } = await edgeOver(3);
    await put(edge, 2, JSON.stringify('x'.repeat(300 * KB)));
    for (const deflates of [false, true]) {
      const client = edge.connect({ deflates });
      client.socket.kernelFree = 0;
      edge.subscribe(client, { room: 'another' });
      await edge.clock.advance(10);
      expect(told(client)).toEqual(['subscribed another at 0']);

      edge.subscribe(client, fromSnapshot);
      await edge.publish(history);
      await edge.clock.advance(10);
      // The answer to the first subscribe has not left.
      expect(client.socket.messages).toHaveLength(1);
      client.socket.take(500);
      await edge.settle();
      expect(told(client).slice(1)).toEqual(deflates ? expect.anything() : [`subscribed ${ROOM} at 2`]);

      await edge.publish(history);
      client.socket.take(500 * KB);
      await edge.settle();
      client.socket.kernelFree = Infinity;
      await edge.publish(history);
      await edge.settle();
      const revs = told(client).slice(2);
      expect(revs).toEqual(revs.map((_, index) => given(3 + index)));
      expect(revs.at(-1)).toBe(given(history.last.firstRev));
      expect(client.socket.faults).toEqual([]);
      expect(client.socket.largestCork).toBeLessThan(16_000);
    }
  });

  it('[S8] who unsubscribes before it was sent is told so, and gets nothing', async () => {
    const { edge } = await edgeOver(3, 2);
    const client = edge.connect();
    client.socket.kernelFree = 0;
    edge.subscribe(client, { room: 'another' });
    await edge.clock.advance(10);
    edge.subscribe(client, { ...fromSnapshot, id: '"late"' });
    await edge.clock.advance(10);
    edge.unsubscribe(client);
    client.socket.take(1_000 * KB);
    await edge.settle();
    expect(told(client)).toEqual(['subscribed another at 0', 'not_subscribed', `unsubscribed ${ROOM}`]);
  });

  it('[S8] who leaves while the snapshot is read leaves nothing behind', async () => {
    const { edge } = await edgeOver(3, 2);
    const gate = new Gate<SnapshotAnswer>();
    edge.reader.nextSnapshot(() => gate.promise);
    const client = edge.connect();
    edge.subscribe(client, fromSnapshot);
    await edge.clock.advance(10);
    client.socket.close();
    gate.open(await edge.reader.real.snapshot(ROOM));
    await edge.settle();
    expect(client.session.members).toEqual([]);
  });

  it('[S8] is refused as it came when the snapshot cannot be read', async () => {
    const { edge } = await edgeOver(3, 2);
    await edge.subscriber();
    edge.reader.unavailable = true;
    const client = await edge.subscriber(fromSnapshot);
    expect(told(client)).toEqual(['log_unavailable']);
    edge.reader.unavailable = false;
    edge.subscribe(client, fromSnapshot);
    await edge.settle();
    expect(told(client).at(1)).toBe(`subscribed ${ROOM} at 2`);
  });
});

describe('a room that begins with a snapshot', () => {
  for (const rev of [0, 1_000]) {
    it(`[S5] at ${rev} is joined with it, behind it, and from the oldest kept on`, async () => {
      const { edge, begun, publish } = await edgeBegunAt(rev);
      const { epoch, tag } = begun;
      const clients = [
        await edge.subscriber(fromSnapshot),
        await edge.subscriber({ since: 'now' }),
        await edge.subscriber({ since: 'first' }),
        await edge.subscriber({ since: { epoch, rev, tag } }),
        await edge.subscriber({ since: { epoch, rev } }),
      ];
      await publish();
      clients.push(
        await edge.subscriber(fromSnapshot),
        await edge.subscriber({ since: 'first' }),
        await edge.subscriber({ since: { epoch, rev, tag } }),
      );
      await publish();
      for (const client of clients) {
        expect(told(client)).toEqual([`subscribed ${ROOM} at ${rev}`, given(rev + 1), given(rev + 2)]);
      }
      expect(answerOf(clients[0] as Client)).toMatchObject({ epoch, rev, tag, snapshot: { rev } });
    });

    it(`[S5] at ${rev} is joined so by an edge that has nothing in its ring`, async () => {
      const { edge, begun, publish } = await edgeBegunAt(rev);
      const { epoch, tag } = begun;
      await publish();
      await publish();
      for (const since of ['snapshot', 'first', { epoch, rev, tag }] as const) {
        const fresh = new EdgeHarness();
        fresh.reader.nextSnapshot(edge.reader.real.snapshot.bind(edge.reader.real));
        for (const calls of Array.from({ length: 5 }, () => edge.reader.real)) {
          fresh.reader.nextRange(calls.range.bind(calls));
          fresh.reader.nextHeads(calls.heads.bind(calls));
        }
        const client = await fresh.subscriber({ since });
        expect(told(client)).toEqual([`subscribed ${ROOM} at ${rev}`, given(rev + 1), given(rev + 2)]);
      }
    });

    it(`[D4] at ${rev} is not followed from before it`, async () => {
      const { edge, begun, publish } = await edgeBegunAt(rev);
      for (let i = 0; i < 2; i += 1) {
        const client = await edge.subscriber({ since: { epoch: '', rev: 0 } });
        expect(errorOf(client)).toMatchObject({
          code: 'history_truncated',
          firstRev: rev + 1,
          head: { epoch: begun.epoch, rev: rev + i },
        });
        await publish();
      }
      const other = await edge.subscriber({ since: { epoch: 'another', rev: Math.max(1, rev) } });
      expect(told(other)).toEqual(['epoch_changed']);
    });

    it(`[S5] at ${rev} while clients are in the empty room tells them to load it, and gives them nothing`, async () => {
      for (const live of ['base first', 'base lost', 'base late']) {
        const edge = new EdgeHarness();
        const client = await edge.subscriber({ since: live === 'base first' ? 'now' : 'first' });
        const begun = await put(edge, rev);
        const base = edge.store.entriesOf(ROOM)[0] as Entry;
        if (live === 'base first') edge.live.deliver(base);
        await edge.settle();
        await edge.reader.log.append(ROOM, { revisions: [{ data: Buffer.from('{}') }] });
        edge.live.deliver(edge.store.entriesOf(ROOM)[1] as Entry);
        if (live === 'base late') edge.live.deliver(base, base);
        await edge.clock.advance(200);

        expect(told(client)).toEqual([`subscribed ${ROOM} at 0`, 'history_truncated']);
        expect(errorOf(client, 1)).toMatchObject({ firstRev: rev + 1, head: { epoch: begun.epoch } });
        edge.subscribe(client, fromSnapshot);
        await edge.clock.advance(20);
        expect(told(client).slice(2)).toEqual([`subscribed ${ROOM} at ${rev}`, given(rev + 1)]);
      }
    });

    it(`[S6] at ${rev} in place of another history is told as that`, async () => {
      const { edge, history } = await edgeOver(3);
      const client = await edge.subscriber();
      const begun = await put(edge, rev, '"anew"', history.epoch);
      edge.live.deliver(edge.store.entriesOf(ROOM).at(-1) as Entry);
      await edge.clock.advance(2_000);
      expect(told(client)).toEqual([`subscribed ${ROOM} at 3`, 'epoch_changed']);
      expect(errorOf(client, 1)).toMatchObject({ head: { epoch: begun.epoch, rev } });
      edge.subscribe(client, fromSnapshot);
      await edge.clock.advance(20);
      expect(told(client)[2]).toBe(`subscribed ${ROOM} at ${rev}`);
    });
  }

  it('[S5] told late or twice on the live path is nothing new', async () => {
    const { edge, base, publish } = await edgeBegunAt(1_000);
    const client = await edge.subscriber(fromSnapshot);
    edge.live.deliver(base, base);
    await publish();
    edge.live.deliver(base);
    await publish();
    edge.live.deliver(base);
    await edge.settle();
    expect(told(client)).toEqual([`subscribed ${ROOM} at 1000`, given(1001), given(1002)]);
    expect(edge.reader.asked.range).toBeLessThanOrEqual(3);
  });

  it('[D7] at 0, lost and begun again, is told though both stand at 0', async () => {
    const { edge } = await edgeBegunAt(0);
    const client = await edge.subscriber(fromSnapshot);
    edge.store.removeHistory(ROOM);
    const again = await put(edge, 0, '"another"');
    edge.live.deliver(edge.store.entriesOf(ROOM)[0] as Entry);
    await edge.clock.advance(3_000);
    expect(told(client)).toEqual([`subscribed ${ROOM} at 0`, 'epoch_changed']);
    expect(errorOf(client, 1)).toMatchObject({ head: { epoch: again.epoch, rev: 0 } });
  });
});
