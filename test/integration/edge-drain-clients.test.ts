/** Event streams and viewers of pads at an edge that stops: they are told to come back in their own way, and miss nothing. */
import { afterEach, describe, expect, it } from 'vitest';
import { TestEdge } from '../support/edge.js';
import { PadHistory } from '../support/etherpad/pad-history.js';
import { PadPage, PadRoom, RawViewer } from '../support/etherpad/viewers.js';
import { freePort } from '../support/free-port.js';
import { PlainClient } from '../support/plain-client.js';
import { SseClient } from '../support/sse-client.js';
import { waitFor } from '../support/wait-for.js';

const STREAMS = 40;
const PAGES = 12;

let stops: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const stop of stops.reverse()) await stop();
  stops = [];
});

async function startEdge(options: Parameters<typeof TestEdge.start>[0]): Promise<TestEdge> {
  const edge = await TestEdge.start(options);
  stops.push(() => edge.edge.stop());
  return edge;
}

describe('an edge that stops', () => {
  it('[Q2] ends event streams with a retry of their own, one after the other, and nothing is missed', async () => {
    const first = await startEdge({ settings: { drainMs: 2_000 } });
    const second = await startEdge({ live: first.log, reader: first.reader });
    const revs = Array.from({ length: STREAMS }, (): number[] => []);
    const ends: number[] = [];
    const retries = new Set<number>();
    const follow = async (index: number) => {
      const stream = await SseClient.open(`${first.url}/v1/sse?room=a&since=0`);
      await stream.toldOf('subscribed');
      return async () => {
        expect(await stream.untilEnded(20_000)).toBe('whole');
        ends.push(performance.now());
        expect(stream.retries).toHaveLength(2);
        retries.add(stream.retries[1] ?? 0);
        const again = await SseClient.open(`${second.url}/v1/sse?room=a`, stream.lastEventId);
        stops.push(() => {
          again.destroy();
        });
        return async (head: number) => {
          await again.upTo('a', head);
          revs[index] = [...stream.revs('a'), ...again.revs('a')];
        };
      };
    };
    await first.append('a', '0');
    const goneOn = await Promise.all(revs.map((_, index) => follow(index)));
    let head = 1;
    const publication = { isOver: false };
    const publishing = (async () => {
      while (!publication.isOver) {
        head = (await first.append('a', String(head))).rev;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    const begun = performance.now();
    const stopping = first.edge.stop();
    const resumed = await Promise.all(goneOn.map((untilEnd) => untilEnd()));
    await stopping;
    publication.isOver = true;
    await publishing;
    await first.append('a', '"the last"');
    head += 1;
    await Promise.all(resumed.map((upTo) => upTo(head)));
    const all = Array.from({ length: head }, (_, n) => n + 1);
    for (const seen of revs) expect(seen).toEqual(all);
    expect(retries.size).toBeGreaterThan(STREAMS / 2);
    const late = ends.filter((atMs) => atMs - begun > 1_000).length;
    expect([late > STREAMS / 5, late < (STREAMS * 4) / 5]).toEqual([true, true]);
    expect(first.edge.counters()).toMatchObject({ sockets: 0, socketsCut: 0 });
  });

  it('[Q2] pages of pads connect again by themselves, and go on where they were', async () => {
    const port = await freePort();
    const settings = { etherpadRooms: 'pad:{pad}', port };
    const first = await startEdge({ settings: { ...settings, drainMs: 600 } });
    const pad = new PadRoom(first.log, new PadHistory());
    await pad.begin();
    const pages = Array.from({ length: PAGES }, () => new PadPage(first.url));
    stops.push(() => {
      for (const page of pages) page.close();
    });
    await waitFor(() => pages.every(({ told }) => told.whole === 1), { what: 'all have the pad' });
    const raw = await RawViewer.connect(port);
    raw.ready();
    await raw.told(1);
    const stopping = first.edge.stop();
    for (let i = 0; i < 10; i += 1) {
      pad.pad.append('w');
      await pad.publish();
    }
    await stopping;
    expect(await raw.untilClosed()).toEqual({ code: 1012, reason: 'restarting' });
    const second = await startEdge({ settings, live: first.log, reader: first.reader });
    expect(second.port).toBe(port);
    pad.pad.append('w');
    await pad.publish();
    await waitFor(() => pages.every(({ rev }) => rev === pad.pad.head), { what: 'all are at the head' });
    for (const page of pages) {
      expect([page.faults, page.told.whole, page.told.reloads]).toEqual([[], 1, 0]);
      expect(page.content).toEqual(pad.pad.content);
    }
  });

  it('[U10] its clients publish until it is their turn, and no answer is lost', async () => {
    const first = await startEdge({ settings: { publishRooms: '*', drainWaitMs: 400, drainMs: 500 } });
    const author = await PlainClient.connect(first.wsUrl);
    expect(await author.request('publish', { room: 'a', data: 0 })).toMatchObject({ published: true });
    const stopping = first.edge.stop();
    let acknowledged = 1;
    for (; author.closed === undefined; acknowledged += 1) {
      const answer = await author.request('publish', { room: 'a', data: acknowledged }).catch(() => undefined);
      if (answer?.published !== true) break;
    }
    expect((await author.untilClosed()).code).toBe(1012);
    await stopping;
    expect(acknowledged).toBeGreaterThan(1);
    const { rev } = await first.append('a', '"behind"');
    expect(rev).toBeGreaterThan(acknowledged);
    expect(rev).toBeLessThanOrEqual(acknowledged + 2);
  });
});
