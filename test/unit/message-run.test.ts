import { describe, expect, it } from 'vitest';
import { EdgeCounters } from '../../services/edge/counters.js';
import { Frames } from '../../services/edge/frames.js';
import { inWords, MessageRun, OPENING_BYTES, type Opened } from '../../services/edge/message-run.js';
import { plain } from '../../services/edge/protocols/plain.js';
import { Slot } from '../../services/edge/slot.js';
import { EdgeHarness, revsTold } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';

const ROOM = 'doc-1';

function opened(text: string): Opened {
  const opening = Buffer.from(text);
  return { opening, openingBytes: opening.length, openingWords: inWords(opening) };
}

/** Slots of revisions 1, 2, …, with the data that `data` makes. */
function slots(count: number, data: (rev: number) => string = (rev) => `{"n":${rev}}`): Map<number, Slot> {
  const fields = { room: ROOM, tag: '01020304', time: 1, timeDelta: 1 };
  return new Map(
    revsFrom(1, count).map((rev) => [rev, new Slot({ ...fields, rev, data: Buffer.from(data(rev)) }, 'e1')]),
  );
}

describe('a run of messages', () => {
  it('[F1] is the opening and the body of each, whatever their lengths and whoever was before', () => {
    const bodies = revsFrom(0, 40).map((length) => Buffer.from('é'.repeat(length)).subarray(0, length));
    const run = new MessageRun(bodies);
    for (let length = 0; length <= OPENING_BYTES; length += 1) {
      const { opening, openingBytes, openingWords } = opened('x'.repeat(length));
      const messages = run.messages(openingBytes);
      expect(run.messages(openingBytes)).toBe(messages);
      for (let index = bodies.length - 1; index >= 0; index -= 1) run.open(index, openingWords, openingBytes);
      bodies.forEach((body, index) => {
        expect(messages[index]?.equals(Buffer.concat([opening, body]))).toBe(true);
        expect(run.bodies[index]?.equals(body)).toBe(true);
      });
    }
  });

  it('[F1] is made once for all who lack the same, or a part of it', () => {
    const frames = new Frames({ minSavingBytes: 256, shared: true }, new EdgeCounters());
    const source = slots(20);
    const run = frames.run(source, plain, 1, 20, false);
    expect(run).toMatchObject({ firstRev: 1, messages: { count: 20 } });
    for (const rev of revsFrom(1, 20)) expect(frames.run(source, plain, rev, 20, false)).toBe(run);
    expect(frames.run(source, plain, 1, 19, false)).not.toBe(run);
  });

  it('[F1] is not taken for one of another room, or of a history that was replaced', () => {
    const frames = new Frames({ minSavingBytes: 256, shared: true }, new EdgeCounters());
    const before = frames.run(slots(5), plain, 1, 5, false);
    const after = frames.run(
      slots(5, () => '"other"'),
      plain,
      1,
      5,
      false,
    );
    expect(before?.messages.bodies[4]?.toString()).toContain('{"n":5}');
    expect(after?.messages.bodies[4]?.toString()).toContain('"other"');
  });

  it('[F4] for sockets that deflate ends before the first that is sent deflated', () => {
    const frames = new Frames({ minSavingBytes: 256, shared: true }, new EdgeCounters());
    const source = slots(6, (rev) => JSON.stringify('a'.repeat(rev === 4 ? 1_000 : 10)));
    expect(frames.run(source, plain, 1, 6, true)?.messages.count).toBe(3);
    expect(frames.run(source, plain, 4, 6, true)).toBeUndefined();
    expect(frames.run(source, plain, 5, 6, true)?.messages.count).toBe(2);
    expect(frames.run(source, plain, 1, 6, false)?.messages.count).toBe(6);
  });
});

/** More than one cork of it in a burst, and some deflated where that is negotiated. */
function mixedData(rev: number): string {
  return JSON.stringify('b'.repeat(rev % 7 === 0 ? 1_500 : 300));
}

describe('a burst', () => {
  it.each([
    ['once', 'prepared'],
    ['per-socket', 'prepared'],
    ['once', 'per-socket'],
  ] as const)(
    '[F9] reaches sockets of all kinds, each revision once and under its own id (deflate %s, fan-out %s)',
    async (deflate, fanout) => {
      const edge = new EdgeHarness({ deflate, fanout });
      const history = edge.history();
      const ids = ['1', '"two"', '"é"', JSON.stringify('long'.repeat(20)), '"last"'];
      const clients = ids.flatMap((id) =>
        [false, true].map((deflates) => ({ id, client: edge.connect({ deflates }) })),
      );
      for (const { id, client } of clients) edge.subscribe(client, { room: ROOM, id });
      await edge.clock.advance(10);
      for (let burst = 0; burst < 3; burst += 1) {
        const entries = [];
        for (let i = 0; i < 30; i += 1) entries.push(await history.add(1, mixedData));
        edge.live.deliver(...entries);
      }
      await edge.settle(20);
      for (const { id, client } of clients) {
        expect(revsTold(client)).toEqual(revsFrom(1, 90));
        expect(client.socket.faults).toEqual([]);
        for (const message of client.socket.messages.slice(1)) expect(message.startsWith(`{"id":${id},`)).toBe(true);
      }
    },
  );
});
