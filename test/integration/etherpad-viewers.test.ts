/** Viewers of pads on an edge: etherpad-cli-client as it is, socket.io-client, and bare sockets. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { TestEdge, type TestEdgeOptions } from '../support/edge.js';
import { PadText } from '../support/etherpad/changeset.js';
import { PadHistory } from '../support/etherpad/pad-history.js';
import { PadPage, PadRoom, PadViewer, RawViewer, shortly } from '../support/etherpad/viewers.js';
import { Random, testSeed } from '../support/random.js';

const SEED = testSeed();

let edge: TestEdge;
let cleanUps: (() => void)[] = [];

async function start(options: TestEdgeOptions = {}): Promise<TestEdge> {
  edge = await TestEdge.start({ ...options, settings: { etherpadRooms: 'pad:{pad}', ...options.settings } });
  return edge;
}

/** A pad of so many edits in the room, which began with a snapshot. */
async function padWith(edits: number): Promise<PadRoom> {
  const room = new PadRoom(edge.log, new PadHistory());
  await room.begin();
  for (let n = 0; n < edits; n += 1) room.pad.append(`word ${n} `);
  await room.publish(1);
  return room;
}

function viewer(pad?: string): PadViewer {
  const made = new PadViewer(edge.url, pad);
  cleanUps.push(() => {
    made.close();
  });
  return made;
}

async function raw(auth?: string): Promise<RawViewer> {
  const made = await RawViewer.connect(edge.port, auth);
  cleanUps.push(() => {
    made.destroy();
  });
  return made;
}

afterEach(async () => {
  for (const cleanUp of cleanUps) cleanUp();
  cleanUps = [];
  await edge.stop();
});

it(`[K1] etherpad-cli-client, unmodified, has the pad's text and attributes, joining early and late (seed ${SEED})`, async () => {
  await start();
  const random = new Random(SEED);
  const room = await padWith(3);
  const early = viewer();
  await early.upTo(3);
  for (let n = 0; n < 100; n += 1) room.pad.editAtRandom(random);
  await room.publish(7);
  const late = viewer();
  for (let n = 0; n < 100; n += 1) room.pad.editAtRandom(random);
  await room.publish(1);
  for (const each of [early, late]) {
    await each.upTo(203);
    expect(each.content).toEqual(room.pad.content);
    expect(each.disconnects).toEqual([]);
  }
});

it('[K2] CLIENT_VARS has the snapshot, read-only; every later revision is NEW_CHANGES with times of the log', async () => {
  await start();
  const room = await padWith(2);
  await room.snapshot();
  room.pad.append('three', 'a.writer');
  await room.publish();
  const client = await raw();
  client.ready();
  await client.told(2);
  room.pad.append('four', '');
  await room.publish();
  const [vars, three, four] = await client.told(3);
  expect(vars).toMatchObject({
    type: 'CLIENT_VARS',
    data: { readonly: true, padId: 'notes', collab_client_vars: { rev: 2, padId: 'notes' } },
  });
  const { initialAttributedText, apool } = vars?.data?.collab_client_vars ?? {};
  if (initialAttributedText === undefined || apool === undefined) throw new Error('it has a text');
  const text = PadText.of(initialAttributedText, apool);
  for (const [message, rev] of [
    [three, 3],
    [four, 4],
  ] as const) {
    const { changeset, author, currentTime, apool: pool } = room.pad.revision(rev);
    expect(message).toEqual({
      type: 'COLLABROOM',
      data: {
        type: 'NEW_CHANGES',
        newRev: rev,
        changeset,
        author,
        currentTime,
        apool: pool,
        timeDelta: expect.any(Number) as number,
      },
    });
    text.apply({ changeset, apool: pool });
  }
  expect(text.content).toEqual(room.pad.content);
  expect([three, four].every((message) => (message?.data?.timeDelta ?? -1) >= 0)).toBe(true);
});

it('[K3] who reconnects is told each revision it missed, once, and then what comes', async () => {
  await start();
  const room = await padWith(5);
  const client = await raw();
  client.ready({ reconnect: true, client_rev: 2 });
  await client.told(3);
  room.pad.append('six');
  await room.publish();
  await client.told(4);
  expect(shortly(client.messages)).toEqual([
    'CLIENT_RECONNECT 3 of 5',
    'CLIENT_RECONNECT 4 of 5',
    'CLIENT_RECONNECT 5 of 5',
    'NEW_CHANGES 6',
  ]);
  const atHead = await raw();
  atHead.ready({ reconnect: true, client_rev: 6 });
  await atHead.told(1);
  room.pad.append('seven');
  await room.publish();
  await atHead.told(2);
  expect(shortly(atHead.messages)).toEqual(['CLIENT_RECONNECT none 6', 'NEW_CHANGES 7']);
  expect(atHead.messages[0]?.data).toEqual({ type: 'CLIENT_RECONNECT', noChanges: true, newRev: 6 });
});

it('[K4] a revision that a position names of another history, or above the head, ends with a reason to load the pad again', async () => {
  await start();
  const room = await padWith(5);
  const first = await raw();
  first.ready();
  await first.told(6);
  const offset = first.events.at(-1)?.[2] ?? '';
  expect(offset).toMatch(/^[\w-]+\.5\.[0-9a-f]{8}$/u);
  const above = await raw();
  above.ready({ reconnect: true, client_rev: 9 });
  expect(await above.untilClosed()).toMatchObject({ code: 4_410 });
  expect(shortly(above.messages)).toEqual(['disconnect epoch_changed']);
  const foreign = await raw(JSON.stringify({ pid: 'x', offset: offset.replace(/^[^.]+/u, 'other') }));
  foreign.ready({ reconnect: true, client_rev: 3 });
  expect(await foreign.untilClosed()).toMatchObject({ code: 4_410 });
  const sound = await raw(JSON.stringify({ pid: 'x', offset }));
  room.pad.append('six');
  await room.publish();
  await first.told(7);
  sound.ready({ reconnect: true, client_rev: 5 });
  expect(shortly(await sound.told(1))).toEqual(['CLIENT_RECONNECT 6 of 6']);
});

it('[K5] an edit is refused as Etherpad refuses a message, with its ack, and nothing of it comes to anybody', async () => {
  await start();
  await padWith(1);
  const typing = viewer();
  await typing.upTo(1);
  typing.append('mine');
  await vi.waitFor(() => expect(typing.disconnects).toEqual(['rejected', 'io server disconnect']), { timeout: 5_000 });
  const client = await raw();
  client.ready();
  await client.told(2);
  client.say(
    { type: 'COLLABROOM', component: 'pad', data: { type: 'USER_CHANGES', baseRev: 1, changeset: 'Z:1>0$' } },
    '7',
  );
  expect(await client.untilClosed()).toMatchObject({ code: 4_403 });
  expect(client.packets.slice(-3)).toEqual([
    '437[{"name":"Error","message":"this pad can be viewed here, not written to"}]',
    '42["message",{"disconnect":"rejected"}]',
    '41',
  ]);
  expect((await edge.log.heads(['pad:notes'])).get('pad:notes')?.rev).toBe(1);
});

it('[K4] viewers are told when the history of their room breaks, and the client package has the pad as it then is', async () => {
  await start({ settings: { lookEveryMs: 100 } });
  const room = await padWith(3);
  const client = viewer();
  await client.upTo(3);
  const other = await raw();
  other.ready();
  await other.told(4);
  const epoch = (await edge.log.heads(['pad:notes'])).get('pad:notes')?.epoch ?? '';
  const again = new PadHistory('Another pad\n');
  again.append('with words ');
  const { initialAttributedText, apool, rev } = again.initialAttributedText();
  const data = Buffer.from(JSON.stringify({ initialAttributedText, apool }));
  await edge.log.putSnapshot('pad:notes', { rev, data, replaces: epoch });
  expect(await other.untilClosed()).toMatchObject({ code: 4_410 });
  expect(shortly(other.messages).at(-1)).toBe('disconnect epoch_changed');
  await vi.waitFor(() => expect(client.content).toEqual(again.content), { timeout: 10_000 });
  again.append('and more ');
  await new PadRoom(edge.log, again, room.room, rev).publish();
  await client.upTo(2);
  await vi.waitFor(() => expect(client.content).toEqual(again.content), { timeout: 10_000 });
});

it('[K4] a history that was replaced while a viewer was away is noticed by what socket.io-client keeps, at any revision', async () => {
  await start();
  const room = await padWith(3);
  const pages = [0, 1].map(() => new PadPage(edge.url));
  cleanUps.push(() => {
    for (const page of pages) page.close();
  });
  const [away, stays] = pages;
  await vi.waitFor(() => expect(pages.map(({ rev }) => rev)).toEqual([3, 3]), { timeout: 5_000 });
  away?.leave();
  const epoch = (await edge.log.heads(['pad:notes'])).get('pad:notes')?.epoch ?? '';
  const again = new PadHistory('Another pad\n');
  for (let n = 0; n < 2; n += 1) again.append('x');
  const { initialAttributedText, apool, rev } = again.initialAttributedText();
  const data = Buffer.from(JSON.stringify({ initialAttributedText, apool }));
  await edge.log.putSnapshot('pad:notes', { rev, data, replaces: epoch });
  for (let n = 0; n < 4; n += 1) again.append('y');
  await new PadRoom(edge.log, again, room.room, rev).publish();
  away?.comeBack();
  await vi.waitFor(() => expect(pages.map(({ rev: at }) => at)).toEqual([6, 6]), { timeout: 10_000 });
  for (const page of pages) {
    expect(page.content).toEqual(again.content);
    expect(page.told).toMatchObject({ whole: 2, reloads: 1 });
    expect(page.faults).toEqual([]);
  }
  // In the same history they go on where they are.
  stays?.leave();
  again.append('z');
  await new PadRoom(edge.log, again, room.room, 6).publish();
  stays?.comeBack();
  await vi.waitFor(() => expect(stays?.rev).toBe(7), { timeout: 5_000 });
  expect(stays?.told).toMatchObject({ whole: 2, missed: 1 });
});

it('[K4] who missed more than the room keeps is told so', async () => {
  await start({ keep: 5 });
  await padWith(20);
  const client = await raw();
  client.ready({ reconnect: true, client_rev: 3 });
  expect(await client.untilClosed()).toMatchObject({ code: 4_410 });
  expect(shortly(client.messages)).toEqual(['disconnect history_truncated']);
});

it('[K2] a pad without a snapshot begins empty, and has all its revisions', async () => {
  await start();
  const pad = new PadHistory();
  for (let n = 0; n < 5; n += 1) pad.append(`${n} `);
  const first = pad.revision(0);
  await edge.append('pad:notes', JSON.stringify(first));
  for (let rev = 1; rev <= pad.head; rev += 1) await edge.append('pad:notes', JSON.stringify(pad.revision(rev)));
  const client = viewer();
  await client.upTo(6);
  expect(client.content).toEqual(pad.content);
  const bare = await raw();
  bare.ready();
  const [vars, one] = await bare.told(7);
  expect(vars?.data?.collab_client_vars).toMatchObject({
    rev: 0,
    initialAttributedText: { text: '\n', attribs: '|1+1' },
  });
  expect(one?.data?.timeDelta).toBe(0);
});

describe('a room that holds something else than a pad', () => {
  it.each([
    ['no object', '1'],
    ['no changeset', '{"n":1}'],
    ['a changeset that is none', '{"changeset":"Z:x","apool":{"numToAttrib":{},"nextNum":0}}'],
    ['an attribute that its pool does not have', '{"changeset":"Z:1>1*0+1$x","apool":{"numToAttrib":{},"nextNum":0}}'],
  ])('[K11] %s: viewers are told that the pad is corrupt, who joins too, and nobody crashes', async (_what, junk) => {
    await start();
    const room = await padWith(2);
    const steady = await raw();
    steady.ready();
    await steady.told(3);
    const package_ = viewer();
    await package_.upTo(2);
    await edge.append('pad:notes', junk);
    for (const client of [steady, await raw()]) {
      client.ready();
      expect(await client.untilClosed()).toMatchObject({ code: 4_422 });
      expect(client.packets.slice(-2)).toEqual(['42["message",{"disconnect":"corruptPad"}]', '41']);
      expect(shortly(client.messages).slice(-2)[0]).toBe('NEW_CHANGES 2');
    }
    await vi.waitFor(() => expect(package_.disconnects).toEqual(['corruptPad', 'io server disconnect']), {
      timeout: 5_000,
    });
    expect(package_.content).toEqual(room.pad.content);
    // Who joins behind it, with a newer snapshot, is served.
    room.pad.append('on ');
    const { initialAttributedText, apool } = room.pad.initialAttributedText();
    await edge.log.putSnapshot('pad:notes', {
      rev: 3,
      data: Buffer.from(JSON.stringify({ initialAttributedText, apool })),
    });
    await vi.waitFor(
      async () => {
        const late = await raw();
        late.ready();
        expect(shortly(await late.told(1))[0]).toBe('CLIENT_VARS 3');
      },
      { timeout: 5_000 },
    );
  });

  it('[K11] a room whose revisions may be skipped is no pad', async () => {
    await start({ settings: { latestRooms: 'pad:n*' } });
    await padWith(1);
    const client = await raw();
    client.ready();
    expect(await client.untilClosed()).toMatchObject({ code: 4_422 });
    expect(shortly(client.messages)).toEqual(['disconnect corruptPad']);
  });

  it('[K11] a snapshot that is none of a pad', async () => {
    await start();
    await edge.log.putSnapshot('pad:notes', { rev: 7, data: Buffer.from('{"text":"x"}') });
    const client = await raw();
    client.ready();
    expect(await client.untilClosed()).toMatchObject({ code: 4_422 });
    expect(shortly(client.messages)).toEqual(['disconnect corruptPad']);
  });
});

describe('many viewers', () => {
  it.each([false, true])(
    '[K12] a revision is prepared once for all of them (compressed: %s)',
    async (perMessageDeflate) => {
      await start({ settings: { deflateMinSaving: 16 } });
      const room = await padWith(1);
      const viewers: RawViewer[] = [];
      const connect = () => RawViewer.connect(edge.port, '', { perMessageDeflate });
      while (viewers.length < 300) viewers.push(...(await Promise.all(Array.from({ length: 50 }, connect))));
      cleanUps.push(() => {
        for (const each of viewers) each.destroy();
      });
      for (const each of viewers) each.ready();
      for (const each of viewers) await each.told(2);
      const before = edge.edge.counters();
      for (let n = 0; n < 10; n += 1) {
        room.pad.append('a word that is said again and again '.repeat(20));
        await room.publish();
      }
      for (const each of viewers) await each.told(12);
      const after = edge.edge.counters();
      expect(after.deliveries - before.deliveries).toBe(3_000);
      expect(after.bodiesSerialized - before.bodiesSerialized).toBe(10);
      expect(after.bodiesDeflated - before.bodiesDeflated).toBe(perMessageDeflate ? 10 : 0);
      const [one, ...others] = viewers.map(({ packets }) => packets.filter((packet) => packet.startsWith('42')));
      for (const each of others) expect(each).toEqual(one);
    },
  );

  it('[K2] one that reads slowly holds up nobody, and gets every revision once, from pages', async () => {
    await start({
      settings: { ringMaxRevisions: 20, ringKeepRevisions: 10, pageRevisions: 20, deflateMinSaving: 1_000_000 },
    });
    const room = await padWith(1);
    const [slow, quick] = [await raw(), await raw()];
    slow.ready();
    quick.ready();
    await Promise.all([slow.told(2), quick.told(2)]);
    slow.socket.pause();
    for (let n = 0; n < 500; n += 1) {
      const { length } = room.pad.text;
      room.pad.splice(0, length - 1, `${n} `.repeat(5_000));
      await room.publish();
    }
    await quick.told(502);
    expect(edge.edge.counters().stragglersEntered).toBeGreaterThan(0);
    slow.socket.resume();
    await slow.told(502);
    expect(slow.messages).toEqual(quick.messages);
  });

  it('[K3] those who missed much come back together, from pages, each with all of it once', async () => {
    await start({ settings: { ringMaxRevisions: 20, ringKeepRevisions: 10, pageRevisions: 50, pageBytes: 4_096 } });
    const room = await padWith(700);
    const viewers: RawViewer[] = [];
    for (let n = 0; n < 60; n += 1) {
      const made = await RawViewer.connect(edge.port, '', { perMessageDeflate: n % 2 === 0 });
      cleanUps.push(() => {
        made.destroy();
      });
      viewers.push(made);
      made.ready({ reconnect: true, client_rev: 10 * n });
    }
    for (let n = 0; n < 50; n += 1) {
      room.pad.append('later ');
      await room.publish();
    }
    for (const [n, each] of viewers.entries()) {
      await each.told(750 - 10 * n);
      const revs = each.messages.map(({ data }) => data?.newRev);
      expect(revs).toEqual(Array.from({ length: 750 - 10 * n }, (_, index) => 10 * n + index + 1));
      const types = each.messages.map(({ data }) => data?.type);
      const turn = types.indexOf('NEW_CHANGES');
      const head = each.messages[0]?.data?.headRev ?? 0;
      expect(head).toBeGreaterThanOrEqual(700);
      expect(new Set(types.slice(0, turn < 0 ? types.length : turn))).toEqual(new Set(['CLIENT_RECONNECT']));
      expect(each.messages.find(({ data }) => data?.newRev === head)?.data?.type).toBe('CLIENT_RECONNECT');
      expect(each.messages.find(({ data }) => data?.newRev === head + 1)?.data?.type).toBe(
        head === 750 ? undefined : 'NEW_CHANGES',
      );
    }
  });
});
