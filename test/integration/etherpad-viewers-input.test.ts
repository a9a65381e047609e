/** What viewers of pads send that is wrong, or missing: each is answered clearly, and harms nobody else. */
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { TestEdge } from '../support/edge.js';
import { PadHistory } from '../support/etherpad/pad-history.js';
import { PadRoom, RawViewer, shortly } from '../support/etherpad/viewers.js';
import { waitFor } from '../support/wait-for.js';

let edge: TestEdge;
let pad: PadRoom;
let viewers: RawViewer[] = [];

beforeEach(async () => {
  edge = await TestEdge.start({ settings: { etherpadRooms: 'pad:{pad}', pingAfterMs: 200, deadAfterMs: 800 } });
  pad = new PadRoom(edge.log, new PadHistory());
  await pad.begin();
});

afterEach(async () => {
  for (const viewer of viewers) viewer.destroy();
  viewers = [];
  await edge.stop();
});

async function connect(): Promise<RawViewer> {
  const viewer = await RawViewer.connect(edge.port);
  viewers.push(viewer);
  return viewer;
}

async function ask(query: string, init: RequestInit = {}): Promise<{ status: number; body: string }> {
  const response = await fetch(`${edge.url}/socket.io/?${query}`, init);
  return { status: response.status, body: await response.text() };
}

/** How a handshake that is refused is answered. */
async function refusedHandshake(query: string): Promise<{ status: number | undefined; body: string }> {
  const socket = new WebSocket(`${edge.wsUrl.replace('/v1/ws', '/socket.io/')}?${query}`);
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [
    unknown,
    AsyncIterable<Buffer> & { statusCode?: number },
  ];
  let body = '';
  for await (const chunk of response) body += chunk.toString();
  return { status: response.statusCode, body };
}

/** The session of a connection that was opened by polling. */
async function opened(): Promise<string> {
  const { status, body } = await ask('EIO=4&transport=polling');
  expect([status, body[0]]).toEqual([200, '0']);
  const { sid, ...parameters } = JSON.parse(body.slice(1)) as { sid: string };
  expect(parameters).toEqual({ upgrades: ['websocket'], pingInterval: 200, pingTimeout: 600, maxPayload: 65_536 });
  return sid;
}

function why(what: string): { code: number; reason: string } {
  return { code: 4_400, reason: `invalid_request: ${what}` };
}

/** Somebody else's viewer still gets what comes. */
async function othersGoOn(): Promise<void> {
  const other = await connect();
  other.ready();
  const before = (await other.told(1)).length;
  pad.pad.append('on ');
  await pad.publish();
  await other.told(before + 1);
  expect(shortly(other.messages).at(-1)).toBe(`NEW_CHANGES ${pad.pad.head}`);
}

describe('[K6] requests that open no connection are refused with the codes of Engine.IO', () => {
  const transport = '{"code":0,"message":"Transport unknown"}';
  const session = '{"code":1,"message":"Session ID unknown"}';
  const method = '{"code":2,"message":"Bad handshake method"}';
  const request = '{"code":3,"message":"Bad request"}';
  const version = '{"code":5,"message":"Unsupported protocol version"}';

  it.each([
    ['EIO=4', {}, transport],
    ['', {}, transport],
    ['EIO=4&transport=carrier-pigeon', {}, transport],
    ['EIO=4&transport=webtransport', {}, transport],
    ['EIO=3&transport=polling', {}, version],
    ['transport=polling', {}, version],
    ['EIO=5&transport=polling', {}, version],
    ['EIO=4&transport=websocket', {}, request],
    ['EIO=4&transport=polling&j=1', {}, request],
    ['EIO=4&transport=polling', { method: 'POST', body: '40' }, method],
    ['EIO=4&transport=polling', { method: 'DELETE' }, method],
    ['EIO=4&transport=polling&sid=abc', {}, session],
    ['EIO=4&transport=polling&sid=', {}, session],
    ['EIO=4&transport=polling&sid=1.AAAAAAAAAAAAAAAAAAAA', {}, session],
  ] as const)('over HTTP: %s %o', async (query, init, body) => {
    expect(await ask(query, init)).toEqual({ status: 400, body });
  });

  it.each([
    ['EIO=4', transport],
    ['EIO=4&transport=polling', request],
    ['EIO=3&transport=websocket', version],
    ['transport=websocket', version],
    ['EIO=4&transport=websocket&sid=gone', session],
  ] as const)('as a handshake: %s', async (query, body) => {
    expect(await refusedHandshake(query)).toEqual({ status: 400, body });
  });

  it('half an upgrade is refused as at any path', async () => {
    const response = await fetch(`${edge.url}/socket.io/?EIO=4&transport=websocket`, {
      headers: { 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==', 'sec-websocket-version': '13' },
    });
    expect(response.status).toBe(426);
  });
});

describe('polling', () => {
  it('[K7] opens a connection, at any edge, and carries nothing: what is posted but a CONNECT is refused', async () => {
    const sid = await opened();
    const other = await TestEdge.start({ settings: { etherpadRooms: 'pad:{pad}' } });
    try {
      const query = `/socket.io/?EIO=4&transport=polling&sid=${sid}`;
      const post = async (body: string) => {
        const response = await fetch(other.url + query, { method: 'POST', body });
        return [response.status, await response.text()];
      };
      expect(await post('40')).toEqual([200, 'ok']);
      expect(await post('41\u001e1')).toEqual([200, 'ok']);
      const refused = [400, '{"code":3,"message":"Bad request"}'];
      for (const body of ['', 'x', '42["message",{}]', '40\u001e42["message",{"type":"CLIENT_READY"}]', '451-[]']) {
        expect(await post(body)).toEqual(refused);
      }
      expect((await post('40'.padEnd(70_000, ' ')))[0]).toBe(413);
      expect(await (await fetch(other.url + query)).text()).toBe('6');
    } finally {
      await other.stop();
    }
  });

  it('[K7] the WebSocket that it goes on with is probed, and then connected', async () => {
    const sid = await opened();
    const socket = new WebSocket(`ws://127.0.0.1:${edge.port}/socket.io/?EIO=4&transport=websocket&sid=${sid}`);
    const packets: string[] = [];
    socket.on('message', (data) => packets.push((data as Buffer).toString()));
    await once(socket, 'open');
    socket.send('2probe');
    await waitFor(() => packets.length === 1, { what: 'the probe is answered' });
    socket.send('5');
    await waitFor(() => packets.length >= 2, { what: 'it is connected' });
    expect([packets[0], packets[1]?.slice(0, 2)]).toEqual(['3probe', '40']);
    socket.send('42["message",{"type":"CLIENT_READY","padId":"notes"}]');
    await waitFor(() => packets.some((packet) => packet.includes('CLIENT_VARS')), { what: 'the pad' });
    socket.terminate();
  });
});

describe('[K8] packets that are not of the protocol end their connection, which says what they were', () => {
  it.each([
    ['', 'no packet that an Engine.IO client sends'],
    ['x', 'no packet that an Engine.IO client sends'],
    ['0{}', 'no packet that an Engine.IO client sends'],
    ['2', 'no packet that an Engine.IO client sends'],
    ['2probe', 'a probe of no upgrade'],
    ['5', 'an upgrade of what is none'],
    ['4', 'no Socket.IO packet'],
    ['49', 'no Socket.IO packet'],
    ['42', 'an EVENT without a name'],
    ['42{}', 'an EVENT without a name'],
    ['42[]', 'an EVENT without a name'],
    ['42[1]', 'an EVENT without a name'],
    ['42["message"', 'a Socket.IO packet whose data is not JSON'],
    ['42["message"]', 'an EVENT that is no message of Etherpad'],
    ['42["message",null]', 'an EVENT that is no message of Etherpad'],
    ['42["message",{"type":7}]', 'an EVENT that is no message of Etherpad'],
    ['42["hello",{"type":"CLIENT_READY"}]', 'an EVENT that is no message of Etherpad'],
    ['42["message",{"type":"COLLABROOM"}]', 'a COLLABROOM message without a type'],
    ['42["message",{"type":"CLIENT_READY"}]', 'a CLIENT_READY without a padId, or with a client_rev that is none'],
    [
      '42["message",{"type":"CLIENT_READY","padId":"notes","reconnect":true,"client_rev":-1}]',
      'a CLIENT_READY without a padId, or with a client_rev that is none',
    ],
    ['42/admin,["message",{"type":"CLIENT_READY","padId":"notes"}]', 'an EVENT before CONNECT'],
    ['43', 'an ACK without a number or data'],
    ['44{"message":"x"}', 'a packet that only servers send'],
    ['451-["message",{"_placeholder":true,"num":0}]', 'a binary packet, which is not supported'],
  ])('%s', async (packet, what) => {
    const viewer = await connect();
    viewer.send(packet);
    expect(await viewer.untilClosed()).toEqual(why(what));
    await othersGoOn();
  });

  it('an event before the CONNECT, binary messages, a second CLIENT_READY, too much at once', async () => {
    const early = await RawViewer.open(edge.port);
    early.ready();
    expect(await early.untilClosed()).toEqual(why('an EVENT before CONNECT'));
    const binary = await connect();
    binary.socket.send(Buffer.from('40'));
    expect(await binary.untilClosed()).toMatchObject({ code: 4_400 });
    const twice = await connect();
    twice.ready();
    twice.ready();
    expect(await twice.untilClosed()).toEqual(why('a second CLIENT_READY: a connection views one pad'));
    const large = await connect();
    large.say({ type: 'COLLABROOM', data: { type: 'USERINFO_UPDATE', more: 'x'.repeat(70_000) } });
    expect(await large.untilClosed()).toMatchObject({ code: 4_413 });
    for (const [start, what] of [
      ['4', 'no Socket.IO packet'],
      ['42', 'a Socket.IO packet whose data is not JSON'],
    ] as const) {
      const deep = await connect();
      deep.send(start + '['.repeat(60_000));
      expect(await deep.untilClosed()).toEqual(why(what));
    }
    await othersGoOn();
  });

  it('a namespace that is not there is a CONNECT_ERROR, and the connection stays', async () => {
    const viewer = await connect();
    viewer.send('40/settings,');
    await viewer.next((packet) => packet.startsWith('44'));
    expect(viewer.packets).toContain('44/settings,{"message":"Invalid namespace"}');
    viewer.ready();
    expect(shortly(await viewer.told(1))).toEqual(['CLIENT_VARS 0']);
  });
});

describe('messages of Etherpad', () => {
  it('[K5] those of no consequence are acknowledged and passed over', async () => {
    const viewer = await connect();
    viewer.say({ type: 'CLIENT_READY', padId: 'notes' }, '0');
    await viewer.told(1);
    for (const [n, type] of ['USERINFO_UPDATE', 'CLIENT_MESSAGE'].entries()) {
      viewer.say({ type: 'COLLABROOM', data: { type } }, String(n + 1));
    }
    viewer.say({ type: 'CHANGESET_REQ', data: { start: 0 } }, '3');
    viewer.say({ type: 'COLLABROOM', data: { type: 'GET_CHAT_MESSAGES', start: 0, end: 9 } }, '4');
    await viewer.next((packet) => packet === '434[null]');
    expect(viewer.packets.filter((packet) => packet.startsWith('43'))).toEqual(
      [0, 1, 2, 3, 4].map((n) => `43${n}[null]`),
    );
    expect(viewer.messages.at(-1)?.data).toEqual({ type: 'CHAT_MESSAGES', messages: [] });
    await othersGoOn();
    expect(viewer.closed).toBeUndefined();
  });

  it.each(['USER_CHANGES', 'CHAT_MESSAGE', 'SAVE_REVISION', 'PAD_DELETE', 'SOMETHING_ELSE'])(
    '[K5] %s is refused',
    async (type) => {
      const viewer = await connect();
      viewer.ready();
      viewer.say({ type: 'COLLABROOM', data: { type } });
      expect(await viewer.untilClosed()).toMatchObject({ code: 4_403 });
      expect(viewer.packets.slice(-2)).toEqual(['42["message",{"disconnect":"rejected"}]', '41']);
    },
  );

  it('[K9] a pad that is not there: 404, no access; names that are none; nothing is made of it', async () => {
    for (const [path, status] of [
      ['/p/notes', 200],
      ['/p/nobody', 404],
      ['/p/no%00tes', 400],
      ['/p/%zz', 400],
      [`/p/${'x'.repeat(300)}`, 400],
      ['/p/', 404],
    ] as const) {
      expect([path, (await fetch(edge.url + path)).status]).toEqual([path, status]);
    }
    for (const name of ['nobody', '', 'a\u0000b', 'x'.repeat(300)]) {
      const viewer = await connect();
      viewer.ready({}, name);
      expect(await viewer.untilClosed()).toMatchObject({ code: name === 'nobody' ? 4_404 : 4_400 });
      expect(viewer.packets.slice(-2)).toEqual(['42["message",{"accessStatus":"deny"}]', '41']);
    }
    const returning = await connect();
    returning.ready({ reconnect: true, client_rev: 0 }, 'nobody');
    expect(await returning.untilClosed()).toMatchObject({ code: 4_404 });
    expect((await fetch(`${edge.url}/p/notes`, { method: 'POST' })).status).toBe(405);
    expect((await edge.log.heads(['pad:nobody'])).get('pad:nobody')).toBeNull();
    await othersGoOn();
  });

  it('[K9] without the setting there are no pads', async () => {
    const other = await TestEdge.start();
    try {
      expect((await fetch(`${other.url}/p/notes`)).status).toBe(404);
      expect((await fetch(`${other.url}/socket.io/?EIO=4&transport=polling`)).status).toBe(404);
    } finally {
      await other.stop();
    }
  });
});

describe('[K10] signs of life', () => {
  it('who answers heartbeats stays, also while much comes; who does not is cut', async () => {
    const lively = await connect();
    lively.ready();
    const silent = await connect();
    silent.pongs = false;
    silent.ready();
    await silent.told(1);
    const started = Date.now();
    await waitFor(
      async () => {
        pad.pad.append('x');
        await pad.publish();
        return silent.closed !== undefined;
      },
      { what: 'it is cut' },
    );
    const closedAfterMs = Date.now() - started;
    expect(await silent.untilClosed()).toMatchObject({ code: 1_006 });
    expect(closedAfterMs).toBeGreaterThanOrEqual(600);
    await waitFor(() => lively.packets.filter((packet) => packet === '2').length >= 4, { what: 'heartbeats' });
    await waitFor(() => shortly(lively.messages).at(-1) === `NEW_CHANGES ${pad.pad.head}`, { what: 'all of it' });
    expect(lively.closed).toBeUndefined();
  });

  it('a client that says that it goes, in either way, is gone', async () => {
    for (const packet of ['41', '1']) {
      const viewer = await connect();
      viewer.ready();
      viewer.send(packet);
      expect(await viewer.untilClosed()).toMatchObject({ code: 1_000 });
    }
    await waitFor(() => edge.edge.counters().sockets === 0, { what: 'none is left' });
  });
});
