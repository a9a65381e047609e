import { expect, it } from 'vitest';
import { Queue } from '../../services/edge/queue.js';

it('[F10] the flusher’s queue gives what came first, whatever comes and goes', () => {
  const queue = new Queue<number>();
  const model: number[] = [];
  for (let n = 1; n <= 5_000; n += 1) {
    queue.push(n);
    model.push(n);
    if (n % 7 < 4) expect(queue.shift()).toBe(model.shift());
    expect(queue.length).toBe(model.length);
  }
  while (model.length > 0) expect(queue.shift()).toBe(model.shift());
  expect([queue.shift(), queue.length]).toEqual([undefined, 0]);
});
