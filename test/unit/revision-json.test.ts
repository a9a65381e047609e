import { describe, expect, it } from 'vitest';
import type { Entry } from '../../services/log/log.js';
import { entryJson, revisionJson } from '../../services/log/revision-json.js';

const deltas = (entry: Entry) =>
  entryJson(entry, { withRoom: false }).map(
    (text) => (JSON.parse(text.toString()) as { timeDelta: unknown }).timeDelta,
  );

const base = { rev: 7, tag: '00c0ffee', time: 1_700_000_000_000, timeDelta: 12, data: Buffer.from('{"a":1}') };

describe('a revision as JSON text', () => {
  it('[R4] has its fields in one order, with data as it was stored', () => {
    expect(revisionJson({ room: 'doc-1', author: 'ada', ...base }).toString()).toBe(
      '{"room":"doc-1","rev":7,"tag":"00c0ffee","time":1700000000000,"timeDelta":12,"author":"ada","data":{"a":1}}',
    );
  });

  it('[R4] leaves out room and author where there is none, and says null for no timeDelta', () => {
    expect(revisionJson({ ...base, timeDelta: null }).toString()).toBe(
      '{"rev":7,"tag":"00c0ffee","time":1700000000000,"timeDelta":null,"data":{"a":1}}',
    );
  });

  it('[R4] keeps every byte of data: number spellings, escapes, unicode, repeated keys', () => {
    for (const data of [
      '1.0',
      '1e400',
      '"\\u00e9é😀\\ud800"',
      '{"a":1,"a":2}',
      '[-0,12345678901234567890]',
      '"\ufeff"',
    ]) {
      const text = revisionJson({ ...base, data: Buffer.from(data) });
      expect(text.subarray(text.indexOf('"data":') + 7, -1)).toEqual(Buffer.from(data));
    }
  });

  it('[R4] escapes what needs it in room and author', () => {
    const text = revisionJson({ ...base, room: 'a"\\é😀', author: '\u2028"\n' }).toString();
    expect(JSON.parse(text)).toMatchObject({ room: 'a"\\é😀', author: '\u2028"\n' });
  });

  it('[R4] takes timeDelta of an entry from the time before it, null only where nothing is before', () => {
    const entry: Entry = {
      room: 'r',
      epoch: 'e',
      tag: '0000000a',
      appendId: 'x',
      firstRev: 1,
      previousTime: 0,
      previousSeq: 0,
      revisions: [100, 100, 130].map((time) => ({ time, data: Buffer.from('0') })),
      seq: 1,
    };
    expect(deltas(entry)).toEqual([null, 0, 30]);
    expect(deltas({ ...entry, firstRev: 4, previousTime: 95 })).toEqual([5, 0, 30]);
    expect(entryJson(entry, { withRoom: true })[2]?.toString()).toBe(
      '{"room":"r","rev":3,"tag":"0000000a","time":130,"timeDelta":30,"data":0}',
    );
  });
});
