import { describe, expect, it } from 'vitest';
import { sse, requestIdOf } from '../../services/edge/protocols/sse.js';
import { slotsOf, type Slot } from '../../services/edge/slot.js';
import { parseStreamId, positionText } from '../../services/edge/stream-id.js';
import { parseStreamQuery } from '../../services/edge/stream-query.js';
import { RevcastError } from '../../services/shared/errors.js';
import { revsFrom } from '../support/feed-parts.js';

const MAX_ROOMS = 1_000;
const position = { epoch: 'tiaZHB6or7o', rev: 41, tag: '0ae18e80' };

function slots(...texts: string[]): Slot[] {
  const revisions = texts.map((text) => ({ data: Buffer.from(text), time: 5 }));
  return slotsOf({
    room: 'a',
    epoch: 'e1',
    firstRev: 7,
    tag: '01020304',
    previousTime: 4,
    previousSeq: 1,
    seq: 2,
    keys: [],
    appendId: 'x',
    revisions,
  } as never);
}

/** The event as the client of a stream of one room gets it. */
function event(body: Buffer): string {
  return `${sse.first.toString()}${sse.own(requestIdOf('', 'a'), false)}${body.toString()}`;
}

function rooms(count: number): string {
  return revsFrom(1, count)
    .map((n) => `room=${n}`)
    .join('&');
}

describe('events', () => {
  it('[V1] a revision: data on one line, then the id', () => {
    const [slot] = slots('{"a":\n[1,\r\n2]}') as [Slot];
    expect(event(sse.single(slot))).toBe(
      'data: {"room":"a","rev":7,"tag":"01020304","time":5,"timeDelta":1,"data":{"a": [1,  2]}}\nid: e1.7.01020304\n\n',
    );
  });

  it('[V1] a batch: an array, then the id behind the last', () => {
    const text = event(sse.batch(slots('1', '2')));
    expect(text).toMatch(/^data: \[\{.*"rev":7.*\},\{.*"rev":8.*\}\]\nid: e1\.8\.01020304\n\n$/u);
  });

  it('[V5] [V6] what is gone carries an id that says so, what may pass none', () => {
    const gone = sse.refusal(
      requestIdOf('', 'a b'),
      new RevcastError('epoch_changed', 'no', { details: { head: null } }),
    );
    expect(gone).toBe(
      'data: {"room":"a b","error":{"code":"epoch_changed","message":"no","head":null}}\nevent: refused\nid: !\n\n',
    );
    expect(sse.refusal(requestIdOf('', 'a'), new RevcastError('overloaded', 'later'))).toBe(
      'data: {"room":"a","error":{"code":"overloaded","message":"later"}}\nevent: unavailable\n\n',
    );
  });

  it('[V3] of several rooms: the place on a line of its own, which is no field', () => {
    const text = sse.subscribed(requestIdOf('3', 'a'), 'a', position);
    expect(text).toBe(
      `d3\ndata: {"subscribed":true,"room":"a","epoch":"tiaZHB6or7o","rev":41,"tag":"0ae18e80"}\nevent: subscribed\nid: ${positionText(position)}\n\n`,
    );
  });
});

describe('ids', () => {
  it('[V2] of one room are its position', () => {
    expect(positionText(position)).toBe('tiaZHB6or7o.41.0ae18e80');
    expect(parseStreamId('tiaZHB6or7o.41.0ae18e80', 1, 'since')).toEqual([position]);
    expect(parseStreamId('.0.', 1, 'since')).toEqual([{ epoch: '', rev: 0 }]);
    expect(parseStreamId('!', 1, 'since')).toEqual(['refused']);
  });

  it('[V3] of several tell of each what is known', () => {
    expect(parseStreamId('2:!,0:e.1.', 3, 'since')).toEqual([{ epoch: 'e', rev: 1 }, undefined, 'refused']);
  });

  it.each(['', 'e', 'e.1', 'e.x.', 'e.1.12', 'e.1.0102030g', 'a b.1.', `${'e'.repeat(65)}.1.`, 'e.9999999999999999.'])(
    '[V3] %s is none',
    (id) => {
      expect(() => parseStreamId(id, 1, 'since')).toThrow(/^since is not an id/u);
      expect(() => parseStreamId(`0:${id}`, 2, 'since')).toThrow(/^since is not an id/u);
    },
  );
});

describe('requests', () => {
  it('[V4] Last-Event-ID wins for the rooms that it tells of', () => {
    const query = 'room=a&room=b&room=c&since=0:e.1.,1:e.2.&batch=true';
    expect(parseStreamQuery(query, '1:e.5.,2:!', MAX_ROOMS)).toEqual({
      rooms: ['a', 'b', 'c'],
      places: [{ epoch: 'e', rev: 1 }, { epoch: 'e', rev: 5 }, 'refused'],
      since: 'now',
      batch: true,
    });
    expect(parseStreamQuery('since=0&room=a+b&room=%C3%A9', '1:e.5.', MAX_ROOMS)).toEqual({
      rooms: ['a b', 'é'],
      places: [undefined, { epoch: 'e', rev: 5 }],
      since: 'first',
      batch: false,
    });
  });

  it('[V7] not more rooms than a stream, or a connection, may have', () => {
    expect(parseStreamQuery(rooms(32), '', MAX_ROOMS).rooms).toHaveLength(32);
    expect(() => parseStreamQuery(rooms(33), '', MAX_ROOMS)).toThrow('a stream may have 32 rooms');
    expect(() => parseStreamQuery(rooms(4), '', 3)).toThrow('a stream may have 3 rooms');
  });
});
