/** Viewers of pads on an edge: etherpad-cli-client as it is, socket.io-client, and bare sockets. */
import { afterEach, expect, it, vi } from 'vitest';
import { TestEdge, type TestEdgeOptions } from '../support/edge.js';
import { PadText } from '../support/etherpad/changeset.js';
import { PadHistory } from '../support/etherpad/pad-history.js';
import { PadRoom, PadViewer, RawViewer, shortly } from '../support/etherpad/viewers.js';
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
