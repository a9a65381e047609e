import { expect, it } from 'vitest';
import { EdgeHarness, revsTold } from '../support/edge-parts.js';
import { revsFrom } from '../support/feed-parts.js';

it.each([true, false])(
  '[D1] a page of a revision service that is ahead of this edge gives nothing beyond the head (batch %s)',
  async (batch) => {
    const edge = new EdgeHarness({ ringKeepRevisions: 0, pageRevisions: 100 });
    const history = edge.history();
    const steady = await edge.subscriber();
    await edge.publish(history, 10);
    await edge.settle();
    // In the log, and not yet here.
    const ahead = await history.add(5);
    const late = await edge.subscriber({ since: 'first', batch });
    await edge.settle(20);
    expect(revsTold(late)).toEqual(revsFrom(1, 10));
    edge.live.deliver(ahead);
    await edge.settle(20);
    expect([revsTold(late), revsTold(steady)]).toEqual([revsFrom(1, 15), revsFrom(1, 15)]);
    expect(late.session.open).toBe(true);
  },
);

it('[F15] what a page keeps for batches is bounded, from however many positions members come', async () => {
  const edge = new EdgeHarness({ ringKeepRevisions: 0, ringMaxRevisions: 1, pageRevisions: 200 });
  const history = edge.history();
  await edge.publish(history, 400, (rev) => JSON.stringify(`${rev} `.padEnd(1_000, 'x')));
  const first = await edge.subscriber();
  await edge.settle();
  for (let rev = 1; rev < 200; rev += 1) {
    const client = await edge.subscriber({ since: { epoch: 'e1', rev }, batch: true });
    await edge.settle(20);
    expect(revsTold(client)).toEqual(revsFrom(rev + 1, 400));
    client.session.cut();
  }
  expect(first.session.open).toBe(true);
  // 400 revisions of 1 KB, the frames of 199 positions: without a bound they would be more than 4 MB for this page.
  const answer = await edge.parts.pages.containing('doc-1', 'e1', 1);
  if (answer.kind !== 'page') throw new Error(`a page was expected, not ${answer.kind}`);
  expect(answer.page.ranges.keptBytes).toBeLessThanOrEqual(answer.page.bytes / 2);
  expect(answer.page.ranges.keptBytes).toBeGreaterThan(0);
});
