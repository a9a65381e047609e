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
