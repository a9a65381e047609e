/** A viewer's connection without a socket: whatever a client says, in whatever order, it is told something and nothing throws. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EtherpadViewer } from '../../services/edge/protocols/etherpad-viewer.js';
import { etherpadProtocol } from '../../services/edge/protocols/etherpad.js';
import { PadRooms, templateProblem } from '../../services/edge/protocols/pad-rooms.js';
import type { Said } from '../../services/edge/protocols/protocol.js';
import { readPacket } from '../../services/edge/protocols/socket-io.js';
import { attributesMissing } from '../../services/shared/pad-data.js';

const rooms = new PadRooms('pad:{pad}');
const protocol = etherpadProtocol(rooms);
const parameters = { pingInterval: 25_000, pingTimeout: 20_000, maxPayload: 65_536 };

function viewer(isUpgrade = false): EtherpadViewer {
  return new EtherpadViewer({ protocol, rooms, isLatest: () => false, isUpgrade, parameters });
}

function hear(one: EtherpadViewer, text: string): readonly Said[] {
  return one.hear(new Uint8Array(Buffer.from(text)).buffer, false);
}

function isEnd(said: Said): boolean {
  return said.kind === 'tell' && said.telling.end !== undefined;
}

const sound = [
  '40',
  '40{"pid":"x","offset":"e.1.0a0b0c0d"}',
  '2probe',
  '3',
  '5',
  '6',
  '1',
  '41',
  '42["message",{"type":"CLIENT_READY","padId":"notes"}]',
  '427["message",{"type":"CLIENT_READY","padId":"notes","reconnect":true,"client_rev":4}]',
  '42["message",{"type":"COLLABROOM","data":{"type":"USER_CHANGES"}}]',
  '423["message",{"type":"COLLABROOM","data":{"type":"USERINFO_UPDATE"}}]',
  '431[null]',
];

describe('[K8] what a client says', () => {
  it('never throws, and after the end nothing is heard', () => {
    const packet = fc.oneof(
      fc.constantFrom(...sound),
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc
        .tuple(fc.constantFrom('4', '40', '42', '42["message",', '42/a,', '43', '45'), fc.string())
        .map((p) => p.join('')),
      fc.json().map((json) => `42["message",${json}]`),
      fc.tuple(fc.constantFrom(...sound), fc.nat(60)).map(([text, at]) => text.slice(0, at)),
    );
    fc.assert(
      fc.property(fc.boolean(), fc.array(packet, { maxLength: 12 }), (isUpgrade, packets) => {
        const one = viewer(isUpgrade);
        let ended = false;
        let joined = 0;
        for (const text of packets) {
          const said = hear(one, text);
          if (ended) expect(said).toEqual([]);
          joined += said.filter(({ kind }) => kind === 'subscribe').length;
          ended ||= said.some(isEnd);
        }
        expect(joined).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('reads packets as Socket.IO writes them', () => {
    expect(readPacket('42/a-b,13["message",{"x":1},2]')).toEqual({
      kind: 'event',
      namespace: '/a-b',
      ack: 13,
      name: 'message',
      payload: { x: 1 },
    });
    expect(readPacket('40/a,{"token":"1"}')).toEqual({ kind: 'connect', namespace: '/a', auth: { token: '1' } });
  });
});

/** Where the viewer asks to begin that reconnects at a revision, with what its library kept. */
function since(offset: string | undefined, rev: number): unknown {
  const one = viewer();
  hear(one, offset === undefined ? '40' : `40${JSON.stringify({ pid: 'x', offset })}`);
  const ready = { type: 'CLIENT_READY', padId: 'notes', reconnect: true, client_rev: rev };
  const subscribe = hear(one, `42${JSON.stringify(['message', ready])}`).find(({ kind }) => kind === 'subscribe');
  return subscribe?.kind === 'subscribe' ? subscribe.since : undefined;
}

describe('[K3] where a viewer that reconnects begins', () => {
  it('behind the position that it kept, at the revision that it names; without one, in the present history', () => {
    expect(since('e1.4.0a0b0c0d', 4)).toEqual({ epoch: 'e1', rev: 4, tag: '0a0b0c0d' });
    expect(since('e1.4.0a0b0c0d', 3)).toEqual({ epoch: 'e1', rev: 3 });
    expect(since(undefined, 4)).toEqual({ presentRev: 4 });
    expect(since('no position', 4)).toEqual({ presentRev: 4 });
  });
});

describe('[K9] rooms of pads', () => {
  it('come from the template, and back', () => {
    const named = new PadRooms('team/{pad}/pad');
    expect(named.roomOf('a b')).toBe('team/a b/pad');
    expect(named.padOf('team/a b/pad')).toBe('a b');
    for (const name of ['', 7, null, 'a\u0000', 'x'.repeat(300)])
      expect(() => named.roomOf(name)).toThrow(/room name/u);
    expect([templateProblem(''), templateProblem('{pad}')]).toEqual([undefined, undefined]);
    expect(templateProblem('pads')).toMatch(/once/u);
    expect(templateProblem('{pad}{pad}')).toMatch(/once/u);
  });
});

it('[K11] attributes of a changeset are looked for in its pool, in base 36, not in the text that it inserts', () => {
  const pool = {
    numToAttrib: { '0': ['bold', 'true'], '36': ['author', 'a.x'] } as Record<string, [string, string]>,
    nextNum: 37,
  };
  expect(attributesMissing('Z:1>2*0*10+2$*z', pool)).toBe(false);
  expect(attributesMissing('Z:1>2*1+2$ab', pool)).toBe(true);
  expect(attributesMissing('*0+1|1+1', pool)).toBe(false);
});
