import { describe, expect, it } from 'vitest';
import type { EdgeSettings } from '../../services/edge/settings.js';
import { EdgeHarness, revsTold, told, type Client } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';
import { Gate } from '../support/edge-doubles.js';

const POSITIONS = 20;
const PAGE = 50;
const SETTINGS = { ringKeepRevisions: 20, ringMaxRevisions: 100, pageRevisions: PAGE };

/** A room with `count` revisions, of which the edge has the last in its ring; positions as clients keep them. */
async function edgeWith(count: number, settings: Partial<EdgeSettings> = {}) {
  const edge = new EdgeHarness({ ...SETTINGS, ...settings });
  const history = edge.history();
  const steady = await edge.subscriber();
  for (let rev = 1; rev <= count; rev += 1) {
    await edge.publish(history);
    await edge.settle(1);
  }
  const entries = edge.store.entriesOf('doc-1');
  const at = (rev: number) => ({ epoch: 'e1', rev, tag: entries[rev - 1]?.tag ?? '' });
  return { edge, history, steady, at };
}

/** As many clients as ask at once, in turn from each of the positions. */
function comeBack(edge: EdgeHarness, count: number, sinces: readonly { epoch: string; rev: number; tag: string }[]) {
  const clients = Array.from({ length: count }, () => edge.connect());
  for (const [index, client] of clients.entries())
    edge.subscribe(client, { since: sinces[index % sinces.length] ?? 'now' });
  return clients;
}

/** Time passes with each write, as it does on a machine. */
function takesTime(edge: EdgeHarness, clients: readonly Client[], ms: number): void {
  for (const { socket } of clients) {
    socket.beforeWrite = () => {
      edge.clock.skip(ms);
    };
  }
}

function written(clients: readonly Client[]): number {
  return clients.reduce((sum, { socket }) => sum + socket.writes.length, 0);
}

function isBack({ session }: Client): boolean {
  return session.members[0]?.state === 'steady';
}

describe('a reconnect storm', () => {
  it('[F21] 1,000 clients at 20 positions cost the distinct pages, while revisions go on', async () => {
    const { edge, history, at } = await edgeWith(600);
    const sinces = Array.from({ length: POSITIONS }, (_, index) => at(300 + 13 * index));
    const before = { ...edge.reader.asked };
    const clients = comeBack(edge, 1_000, sinces);
    let head = 600;
    for (let i = 0; i < 30; i += 1) {
      head = await edge.publish(history);
      await edge.settle(4);
    }
    await edge.clock.advance(2_000);
    await edge.settle(50);
    for (const [index, client] of clients.entries()) {
      const { rev } = sinces[index % POSITIONS] ?? at(0);
      expect(revsTold(client)).toEqual(revsFrom(rev + 1, head));
    }
    const distinctPages = Math.ceil(head / PAGE) - Math.floor((300 - 1) / PAGE);
    expect(edge.reader.asked.range - before.range).toBeLessThanOrEqual(distinctPages + 5);
    // The room's second look after it had opened, if that fell into this time.
    expect(edge.reader.asked.heads - before.heads).toBeLessThanOrEqual(1);
    expect(edge.live.followed).toBe(1);
  });

  it('[F21] clients that are ahead of their edge share one look at the confirmed head', async () => {
    const { edge, history } = await edgeWith(30);
    // Committed, and lost on the live path.
    const ahead = await history.add(5);
    const before = { ...edge.reader.asked };
    const clients = comeBack(edge, 500, [{ epoch: 'e1', rev: 33, tag: ahead.tag }]);
    await edge.clock.advance(200);
    expect(new Set(clients.map((client) => told(client).join(' ')))).toEqual(
      new Set(['subscribed doc-1 at 33 doc-1/34 doc-1/35']),
    );
    expect(edge.reader.headsAsked.at(-1)).toHaveLength(1);
    expect(edge.reader.asked.heads - before.heads).toBe(1);
    expect(edge.reader.asked.range - before.range).toBeLessThanOrEqual(2);
  });

  it('[F21] while nobody answers, all who need a page wait together: a request a round, and one timer', async () => {
    const { edge, at } = await edgeWith(600, { pageCacheBytes: 0 });
    const gate = new Gate();
    edge.reader.nextRange(async (query) => {
      await gate.promise;
      return edge.reader.real.range(query);
    });
    const clients = comeBack(edge, 500, [at(105), at(120), at(140)]);
    await edge.settle(4);
    // Their positions are found; then the service goes away.
    gate.open();
    edge.reader.unavailable = true;
    await edge.settle(20);
    const [timers, asked] = [edge.clock.waiting, edge.reader.asked.range];
    expect(edge.parts.catchUp.waitCount).toBe(1);
    await edge.clock.advance(20_000);
    expect(edge.clock.waiting).toBeLessThanOrEqual(timers + 1);
    expect(edge.reader.asked.range - asked).toBeLessThan(25);
    const gone = clients.splice(0, 400);
    for (const { socket } of gone) socket.close();
    edge.reader.unavailable = false;
    await edge.clock.advance(3_000);
    await edge.settle(100);
    for (const [index, client] of clients.entries()) {
      expect(revsTold(client)).toEqual(revsFrom([106, 121, 141][(index + 400) % 3] ?? 0, 600));
    }
    expect(edge.parts.catchUp.waitCount).toBe(0);
  });

  it('[F21] when all who wait for a page have left, nobody asks for it any more', async () => {
    const { edge, at } = await edgeWith(600);
    const clients = comeBack(edge, 10, [at(105)]);
    edge.reader.unavailable = true;
    await edge.clock.advance(100);
    for (const { socket } of clients) if (socket.closed === undefined) socket.close();
    await edge.clock.advance(5_000);
    const asked = edge.reader.asked.range;
    await edge.clock.advance(20_000);
    expect([edge.reader.asked.range, edge.parts.catchUp.waitCount]).toEqual([asked, 0]);
  });
});

describe('steady members beside those who catch up', () => {
  it('[F22] get what comes before them, and those get their part of every slice', async () => {
    const { edge, at } = await edgeWith(600);
    const calm: Client[] = [];
    for (let i = 0; i < 60; i += 1) calm.push(await edge.subscriber({ room: 'calm' }));
    takesTime(edge, calm, 0.1);
    const late = comeBack(edge, 300, [at(105)]);
    takesTime(edge, late, 1);
    // Catching up is under way.
    for (let turns = 0; written(late) < 310; turns += 1) {
      await edge.settle(1);
      expect(turns).toBeLessThan(1_000);
    }
    const [calmBefore, lateBefore] = [written(calm), written(late)];
    await edge.publish(edge.history('calm'));
    let turns = 0;
    for (; written(calm) - calmBefore < 60; turns += 1) await edge.settle(1);
    expect(turns).toBeLessThanOrEqual(4);
    const lateMeanwhile = written(late) - lateBefore;
    expect(lateMeanwhile).toBeGreaterThanOrEqual(turns - 1);
    expect(lateMeanwhile).toBeLessThanOrEqual(4 * turns);
    await edge.settle(3_000);
    for (const client of late) expect(revsTold(client)).toEqual(revsFrom(106, 600));
  });

  it('[F22] get it as quickly as before after their room was held up once', async () => {
    const { edge, at } = await edgeWith(600);
    const { clock } = edge;
    const calm: Client[] = [];
    for (let i = 0; i < 1_000; i += 1) calm.push(await edge.subscriber({ room: 'calm' }));
    takesTime(edge, calm, 0.01);
    const late = comeBack(edge, 300, [at(105)]);
    takesTime(edge, late, 1);
    const history = edge.history('calm');
    const tookMs: number[] = [];
    for (let round = 1; round <= 12; round += 1) {
      const start = clock.monotonic();
      const head = await edge.publish(history);
      const hasAll = ({ session }: Client) => session.members[0]?.cursor === head;
      for (let turns = 1; !calm.every(hasAll) && clock.monotonic() < start + 50; turns += 1) {
        await edge.settle(1);
        // In the middle of the visits: the whole process is away.
        if (round === 3 && turns === 1) clock.skip(60);
      }
      tookMs.push(clock.monotonic() - start);
      while (clock.monotonic() < start + 50) clock.skip(1);
    }
    expect(late.every(isBack)).toBe(false);
    expect(Math.max(...tookMs.slice(4))).toBeLessThan(45);
    for (let turns = 0; !late.every(isBack) && turns < 10_000; turns += 100) await edge.settle(100);
    for (const client of late) expect(revsTold(client)).toEqual(revsFrom(106, 600));
  });

  it('[F22] when rooms never come to their end, those who catch up get the larger part', async () => {
    const { edge, history, at } = await edgeWith(600);
    const busy: Client[] = [];
    for (let i = 0; i < 200; i += 1) busy.push(await edge.subscriber());
    takesTime(edge, busy, 1);
    const late = comeBack(edge, 20, [at(105)]);
    takesTime(edge, late, 1);
    let head = 600;
    let turns = 0;
    for (; !late.every(isBack); turns += 1) {
      head = await edge.publish(history);
      await edge.settle(1);
      expect(turns).toBeLessThan(400);
    }
    await edge.settle(500);
    for (const client of late) expect(revsTold(client)).toEqual(revsFrom(106, head));
    for (const client of busy) expect(revsTold(client)).toEqual(revsFrom(601, head));
  });
});
