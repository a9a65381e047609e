import { describe, expect, it } from 'vitest';
import type { Since } from '../../services/edge/protocols/protocol.js';
import type { EdgeSettings } from '../../services/edge/settings.js';
import { headOf, lastRev, type Entry } from '../../services/log/log.js';
import { Gate } from '../support/edge-doubles.js';
import { EdgeHarness, revsTold, told, type Client } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';

/** Longer than an edge that is behind a client's position may take, and a rollback to be believed. */
const PATIENCE_MS = 6_000;

/** An edge whose room has `count` revisions, of which the ring has none; `keep`: about how many the log keeps. */
async function edgeWith(count: number, { keep, ...settings }: Partial<EdgeSettings> & { keep?: number } = {}) {
  const edge = new EdgeHarness({ pageRevisions: 10, ...settings }, keep === undefined ? {} : { keep });
  const history = edge.history();
  const entries: Entry[] = [];
  for (let i = 0; i < count; i += 1) entries.push(await history.add(1));
  const at = (rev: number) => {
    const entry = entries.find((each) => lastRev(each) === rev);
    if (entry === undefined) throw new Error(`no revision ${rev}`);
    const { epoch, tag } = entry;
    return { epoch, rev, tag };
  };
  return { edge, history, entries, at };
}

async function join(edge: EdgeHarness, since: Since): Promise<Client> {
  const client = edge.connect();
  edge.subscribe(client, { since });
  await edge.clock.advance(PATIENCE_MS);
  await edge.settle(30);
  return client;
}

/** The data of the client's last message. */
function lastData({ socket }: Client): unknown {
  return (JSON.parse(socket.messages.at(-1) ?? '{}') as { data: unknown }).data;
}

describe('where a subscription begins', () => {
  it('[D3] without since: with what comes from now on', async () => {
    const { edge, history, at } = await edgeWith(5);
    const client = await join(edge, 'now');
    expect(lastData(client)).toEqual({ subscribed: true, room: 'doc-1', ...at(5) });
    await edge.publish(history, 2);
    await edge.settle();
    expect(revsTold(client)).toEqual([6, 7]);
  });

  it('[D3] in a room that never was: from revision 1 on, whatever since says', async () => {
    for (const since of ['now', 'first', { epoch: '', rev: 0 }] satisfies Since[]) {
      const edge = new EdgeHarness();
      const client = await join(edge, since);
      expect(lastData(client)).toEqual({ subscribed: true, room: 'doc-1', epoch: '', rev: 0 });
      await edge.publish(edge.history(), 2);
      await edge.settle();
      expect(revsTold(client)).toEqual([1, 2]);
    }
  });

  it('[D3] 0: from the first revision, through pages and the ring', async () => {
    const { edge, history } = await edgeWith(25);
    const early = await join(edge, 'now');
    await edge.publish(history, 3);
    const client = await join(edge, 'first');
    expect(revsTold(client)).toEqual(revsFrom(1, 28));
    expect(revsTold(early)).toEqual([26, 27, 28]);
    await edge.publish(history);
    await edge.settle();
    expect(revsTold(client)).toEqual(revsFrom(1, 29));
  });

  it('[D3] 0: from the oldest that is kept', async () => {
    const { edge } = await edgeWith(60, { keep: 20 });
    const first = edge.store.entriesOf('doc-1')[0]?.firstRev ?? 0;
    expect(first).toBeGreaterThan(1);
    const client = await join(edge, 'first');
    expect(told(client)[0]).toBe(`subscribed doc-1 at ${first - 1}`);
    expect(revsTold(client)).toEqual(revsFrom(first, 60));
  });

  it.each([0, 1, 9, 10, 11, 24, 25, 26, 28])('[D3] after revision %i: with the next one', async (rev) => {
    const { edge, history, entries, at } = await edgeWith(25);
    await join(edge, 'now');
    for (let i = 0; i < 3; i += 1) {
      const entry = await history.add(1);
      entries.push(entry);
      edge.live.deliver(entry);
    }
    const { epoch, tag } = rev === 0 ? { epoch: 'e1', tag: '' } : at(rev);
    for (const since of [
      { epoch, rev },
      { epoch, rev, tag },
    ]) {
      const client = await join(edge, rev === 0 ? { epoch, rev } : since);
      expect(told(client)[0]).toBe(`subscribed doc-1 at ${rev}`);
      expect(revsTold(client)).toEqual(revsFrom(rev + 1, 28));
    }
  });

  it('[D2] the answer comes before the first revision, also when revisions come while the room is opened', async () => {
    const { edge, history } = await edgeWith(3);
    const gate = new Gate();
    edge.reader.nextHeads(async (known) => {
      const heads = await edge.reader.real.heads(known);
      await gate.promise;
      return heads;
    });
    const client = edge.connect();
    edge.subscribe(client);
    await edge.clock.advance(10);
    await edge.publish(history, 2);
    gate.open();
    await edge.clock.advance(10);
    expect(told(client)).toEqual(['subscribed doc-1 at 5']);
    await edge.publish(history);
    await edge.settle();
    expect(told(client)).toEqual(['subscribed doc-1 at 5', 'doc-1/6']);
  });

  it('[D3] what comes while the position is looked up in a page is not lost', async () => {
    const { edge, history, at } = await edgeWith(25);
    await join(edge, 'now');
    const gate = new Gate();
    edge.reader.nextRange(async (query) => {
      const answer = await edge.reader.real.range(query);
      await gate.promise;
      return answer;
    });
    const client = edge.connect();
    edge.subscribe(client, { since: at(3) });
    await edge.settle();
    await edge.publish(history, 5);
    gate.open();
    await edge.clock.advance(PATIENCE_MS);
    expect(revsTold(client)).toEqual(revsFrom(4, 30));
  });
});

describe('positions that are not the room’s', () => {
  it('[D4] another epoch: epoch_changed, with the head', async () => {
    const { edge, at } = await edgeWith(25);
    const client = await join(edge, { epoch: 'e0', rev: 3 });
    expect(lastData(client)).toMatchObject({ error: { code: 'epoch_changed', head: at(25) } });
  });

  it('[D4] above the head: epoch_changed', async () => {
    const { edge } = await edgeWith(25);
    for (const since of [
      { epoch: 'e1', rev: 26 },
      { epoch: 'e1', rev: 26, tag: '0123abcd' },
      { epoch: 'e0', rev: 99 },
    ]) {
      expect(told(await join(edge, since))).toEqual(['epoch_changed']);
    }
    const empty = new EdgeHarness();
    expect(told(await join(empty, { epoch: 'e1', rev: 1 }))).toEqual(['epoch_changed']);
  });

  it('[D4] another tag: epoch_changed, in the ring, at the head and in a page', async () => {
    const { edge, history } = await edgeWith(25);
    await join(edge, 'now');
    await edge.publish(history, 3);
    for (const rev of [1, 12, 25, 26, 28]) {
      expect(told(await join(edge, { epoch: 'e1', rev, tag: '0badc0de' }))).toEqual(['epoch_changed']);
    }
  });

  it('[D4] older than what is kept: history_truncated, with the oldest and the head', async () => {
    const { edge, at } = await edgeWith(60, { keep: 20 });
    const firstRev = edge.store.entriesOf('doc-1')[0]?.firstRev ?? 0;
    for (const since of [{ epoch: 'e1', rev: 0 }, at(1), { epoch: 'e1', rev: firstRev - 2 }]) {
      const client = await join(edge, since);
      expect(lastData(client)).toMatchObject({ error: { code: 'history_truncated', firstRev, head: at(60) } });
    }
    // The last one that is gone: everything after it is there.
    const client = await join(edge, at(firstRev - 1));
    expect(revsTold(client)).toEqual(revsFrom(firstRev, 60));
  });

  it('[D4] another tag right before the oldest that is kept: epoch_changed, though the revision itself is gone', async () => {
    const { edge, at } = await edgeWith(60, { keep: 20 });
    const firstRev = edge.store.entriesOf('doc-1')[0]?.firstRev ?? 0;
    const gone = at(firstRev - 1);
    const client = await join(edge, { ...gone, tag: '0badc0de' });
    expect(lastData(client)).toMatchObject({ error: { code: 'epoch_changed', head: at(60) } });
    const { epoch, rev } = gone;
    for (const since of [gone, { epoch, rev }]) {
      expect(revsTold(await join(edge, since))).toEqual(revsFrom(firstRev, 60));
    }
  });

  it('[F21] of many who come back right before the oldest that is kept, all are told by the same pages', async () => {
    const { edge, at } = await edgeWith(60, { keep: 20 });
    await join(edge, 'now');
    const firstRev = edge.store.entriesOf('doc-1')[0]?.firstRev ?? 0;
    await join(edge, at(firstRev - 1));
    const before = edge.reader.asked.range;
    const clients = Array.from({ length: 30 }, () => edge.connect());
    for (const client of clients) edge.subscribe(client, { since: at(firstRev - 1) });
    await edge.clock.advance(PATIENCE_MS);
    await edge.settle(30);
    for (const client of clients) expect(revsTold(client)).toEqual(revsFrom(firstRev, 60));
    expect(edge.reader.asked.range - before).toBeLessThan(3);
  });

  it('[D4] ahead of this edge, but not of the log: the edge catches up first', async () => {
    const { edge, history } = await edgeWith(5);
    const early = await join(edge, 'now');
    const { epoch, rev, tag } = headOf(await history.add(3));
    const client = await join(edge, { epoch, rev, tag });
    expect(told(client)).toEqual(['subscribed doc-1 at 8']);
    expect(revsTold(early)).toEqual([6, 7, 8]);
  });

  it('[D4] ahead of this edge while what it lacks cannot be fetched: log_unavailable, not epoch_changed', async () => {
    const { edge, history } = await edgeWith(5);
    await join(edge, 'now');
    const { epoch, rev, tag } = headOf(await history.add(3));
    const gate = new Gate();
    edge.reader.nextRange(async (query) => {
      await gate.promise;
      return edge.reader.real.range(query);
    });
    const client = await join(edge, { epoch, rev, tag });
    expect(told(client)).toEqual(['log_unavailable']);
    gate.open();
    await edge.settle();
    edge.subscribe(client, { since: { epoch, rev, tag } });
    await edge.settle();
    expect(told(client)).toEqual(['log_unavailable', 'subscribed doc-1 at 8']);
  });

  it('[D4] when the log cannot be asked nothing is concluded: log_unavailable', async () => {
    const { edge, at } = await edgeWith(25);
    await join(edge, 'now');
    edge.reader.unavailable = true;
    for (const since of [{ epoch: 'e1', rev: 26 }, { epoch: 'e0', rev: 1 }, at(3), 'first'] satisfies Since[]) {
      expect(told(await join(edge, since))).toEqual(['log_unavailable']);
    }
    // The head and what is in the ring need nobody.
    expect(told(await join(edge, at(25)))).toEqual(['subscribed doc-1 at 25']);
  });

  it('[D7] a history that breaks while a position is looked up: the position is judged by the new one', async () => {
    const { edge, history, at } = await edgeWith(25);
    await join(edge, 'now');
    const gate = new Gate();
    edge.reader.nextRange(async (query) => {
      const answer = await edge.reader.real.range(query);
      await gate.promise;
      return answer;
    });
    const client = edge.connect();
    edge.subscribe(client, { since: at(3) });
    await edge.settle();
    history.restart('e2');
    edge.live.deliver(await history.add(5));
    await edge.clock.advance(PATIENCE_MS);
    gate.open();
    await edge.clock.advance(PATIENCE_MS);
    expect(told(client)).toEqual(['epoch_changed']);
    expect(lastData(client)).toMatchObject({ error: { head: { epoch: 'e2', rev: 5 } } });
  });

  it('[D7] a room that is found rewritten: those in it are told, the one who asks is joined to the new history', async () => {
    const { edge, history } = await edgeWith(5);
    const early = await join(edge, 'now');
    history.restart('e2');
    await history.add(2);
    const { epoch, rev, tag } = headOf(history.last);
    const client = await join(edge, { epoch, rev, tag });
    expect(told(early)).toEqual(['subscribed doc-1 at 5', 'epoch_changed']);
    expect(told(client)).toEqual(['subscribed doc-1 at 2']);
    await edge.publish(history);
    await edge.settle();
    expect([revsTold(early), revsTold(client)]).toEqual([[], [3]]);
  });
});

describe('subscribing and unsubscribing', () => {
  it('[W4] twice: already_subscribed, also while the first is under way', async () => {
    const { edge } = await edgeWith(3);
    const client = edge.connect();
    edge.subscribe(client);
    edge.subscribe(client);
    await edge.clock.advance(10);
    edge.subscribe(client);
    await edge.settle();
    expect(told(client)).toEqual(['already_subscribed', 'subscribed doc-1 at 3', 'already_subscribed']);
  });

  it('[W4] unsubscribe ends it; nothing comes afterwards; not_subscribed where there is nothing to end', async () => {
    const { edge, history } = await edgeWith(3);
    const client = await join(edge, 'now');
    await edge.publish(history);
    edge.unsubscribe(client);
    await edge.publish(history);
    await edge.settle();
    edge.unsubscribe(client);
    expect(told(client).filter((each) => each !== 'doc-1/4')).toEqual([
      'subscribed doc-1 at 3',
      'unsubscribed doc-1',
      'not_subscribed',
    ]);
    expect(revsTold(client)).not.toContain(5);
  });

  it('[W4] unsubscribe while joining: both are answered, and nothing comes', async () => {
    const { edge, history } = await edgeWith(3);
    const client = edge.connect();
    edge.subscribe(client, { id: '"s"' });
    edge.unsubscribe(client, 'doc-1', '"u"');
    await edge.clock.advance(10);
    await edge.publish(history);
    await edge.settle();
    expect(client.socket.messages.map((text) => JSON.parse(text) as unknown)).toEqual([
      { id: 'u', data: { subscribed: false, room: 'doc-1' } },
      { id: 's', data: { error: expect.objectContaining({ code: 'not_subscribed' }) as unknown } },
    ]);
  });

  it('[W4] unsubscribe before the answer left: it comes first, and no revision', async () => {
    const { edge, history } = await edgeWith(3);
    await join(edge, 'now');
    await edge.publish(history, 3);
    await edge.settle();
    const client = edge.connect();
    edge.subscribe(client, { since: 'now' });
    edge.unsubscribe(client);
    await edge.publish(history);
    await edge.settle();
    expect(told(client)).toEqual(['subscribed doc-1 at 6', 'unsubscribed doc-1']);
  });

  it('[W4] after an unsubscribe that was answered one can subscribe again at once', async () => {
    const { edge, history } = await edgeWith(3);
    const client = edge.connect();
    edge.subscribe(client, { id: '"first"' });
    edge.unsubscribe(client, 'doc-1', '"u"');
    edge.subscribe(client, { id: '"second"' });
    await edge.clock.advance(10);
    await edge.publish(history);
    await edge.settle();
    const byId = (id: string) => client.socket.messages.filter((text) => text.startsWith(`{"id":${id}`)).length;
    expect([byId('"first"'), byId('"u"'), byId('"second"')]).toEqual([1, 1, 2]);
    expect(told(client).sort()).toEqual(['doc-1/4', 'not_subscribed', 'subscribed doc-1 at 3', 'unsubscribed doc-1']);
  });

  it('[W10] too_many_rooms: rooms that are being joined count', async () => {
    const { edge } = await edgeWith(0, { maxRoomsPerSocket: 2 });
    const client = edge.connect();
    for (const room of ['a', 'b', 'c']) edge.subscribe(client, { room });
    await edge.clock.advance(10);
    expect(told(client)).toEqual(['too_many_rooms', 'subscribed a at 0', 'subscribed b at 0']);
    edge.unsubscribe(client, 'a');
    edge.subscribe(client, { room: 'c' });
    await edge.clock.advance(10);
    expect(told(client).slice(3)).toEqual(['unsubscribed a', 'subscribed c at 0']);
  });

  it('[D8] a client that goes while it joins leaves nothing behind', async () => {
    const { edge } = await edgeWith(3, { lingerMs: 100 });
    const client = edge.connect();
    edge.subscribe(client);
    client.socket.close();
    await edge.clock.advance(50);
    expect(edge.parts.rooms.count).toBe(1);
    await edge.clock.advance(1_000);
    expect([edge.parts.rooms.count, edge.live.followers('doc-1'), client.socket.messages]).toEqual([0, 0, []]);
  });

  it('[D8] rooms of one connection are independent: one that breaks ends, the others go on', async () => {
    const { edge, history } = await edgeWith(3);
    const other = edge.history('doc-2', 'f1');
    await other.add(1);
    const client = edge.connect();
    edge.subscribe(client, { room: 'doc-1' });
    edge.subscribe(client, { room: 'doc-2' });
    await edge.clock.advance(10);
    history.restart();
    edge.live.deliver(await history.add(3));
    await edge.publish(other);
    await edge.clock.advance(PATIENCE_MS);
    await edge.publish(other);
    await edge.publish(history);
    await edge.settle();
    expect(revsTold(client, 'doc-2')).toEqual([2, 3]);
    expect(told(client).filter((each) => !each.startsWith('doc-2/'))).toEqual([
      'subscribed doc-1 at 3',
      'subscribed doc-2 at 1',
      'epoch_changed',
    ]);
    edge.subscribe(client, { room: 'doc-1' });
    await edge.clock.advance(10);
    expect(told(client).at(-1)).toBe('subscribed doc-1 at 4');
  });

  it('[D3] a room that nobody lingers in is still there for whoever is joining it', async () => {
    const { edge } = await edgeWith(25, { lingerMs: 0 });
    const gate = new Gate();
    edge.reader.nextRange(async (query) => {
      await gate.promise;
      return edge.reader.real.range(query);
    });
    const client = edge.connect();
    edge.subscribe(client, { since: 'first' });
    await edge.clock.advance(100);
    gate.open();
    await edge.clock.advance(100);
    expect(revsTold(client)).toEqual(revsFrom(1, 25));
    expect(edge.live.followed).toBe(1);
  });
});
