/** Old connections: when they are closed, on a clock that the test moves. The sockets are doubles. */
import { describe, expect, it } from 'vitest';
import { ConnectionAge } from '../../services/edge/connection-age.js';
import { ManualClock } from '../support/manual-clock.js';
import { Random, testSeed } from '../support/random.js';

class Socket {
  open = true;
  end(): void {
    this.open = false;
  }
  cut(): void {
    this.open = false;
  }
}

function ageWith(maxAgeMs: number, jitter: number, random: () => number = Math.random) {
  const clock = new ManualClock();
  const closed: { socket: Socket; atMs: number }[] = [];
  let counted = 0;
  const age = new ConnectionAge({
    clock,
    closer: {
      close: (socket) => {
        closed.push({ socket: socket as Socket, atMs: clock.monotonic() });
        socket.end(1012, '');
      },
    },
    maxAgeMs,
    jitter,
    random,
    onClose: () => {
      counted += 1;
    },
  });
  return { clock, age, closed, counted: () => counted };
}

describe('the age of connections', () => {
  it('[Q6] without a limit nothing is kept, and nobody is closed', async () => {
    const { clock, age, closed } = ageWith(0, 10);
    age.start();
    age.add(new Socket());
    expect([age.size, clock.waiting]).toEqual([0, 0]);
    await clock.advance(100_000);
    expect(closed).toEqual([]);
  });

  const seed = testSeed();
  it(`[Q6] each is closed at its own age, within the jitter, with one timer for all (seed ${seed})`, async () => {
    const random = new Random(seed);
    const { clock, age, closed, counted } = ageWith(10_000, 20, () => random.next());
    age.start();
    for (let i = 0; i < 150; i += 1) age.add(new Socket());
    expect([age.size, clock.waiting]).toEqual([150, 1]);
    await clock.advance(7_990);
    expect(closed).toEqual([]);
    await clock.advance(4_200);
    expect([closed.length, counted(), age.size, clock.waiting]).toEqual([150, 150, 0, 1]);
    const inQuarter = (n: number) => closed.filter(({ atMs }) => Math.floor((atMs - 8_000) / 1_000) === n).length;
    expect(Math.min(...[0, 1, 2, 3].map(inQuarter))).toBeGreaterThan(10);
  });

  it('[Q6] who left before is not closed, and nothing of it is kept', async () => {
    const { clock, age, closed } = ageWith(1_000, 0);
    age.start();
    const [stays, leaves] = [new Socket(), new Socket()];
    age.add(stays);
    age.add(leaves);
    age.remove(leaves);
    age.remove(leaves);
    expect(age.size).toBe(1);
    await clock.advance(1_100);
    expect(closed.map(({ socket }) => socket)).toEqual([stays]);
  });

  it('[Q6] of very many that are due together a part goes at a time, and none is forgotten', async () => {
    const { clock, age, closed } = ageWith(1_000, 0);
    age.start();
    for (let i = 0; i < 1_000; i += 1) age.add(new Socket());
    await clock.advance(1_015);
    expect(closed.length).toBeLessThanOrEqual(400);
    await clock.advance(200);
    expect([closed.length, age.size]).toEqual([1_000, 0]);
  });

  it('[Q6] those that were due while the edge was busy go afterwards', async () => {
    const { clock, age, closed } = ageWith(1_000, 50);
    age.start();
    for (let i = 0; i < 100; i += 1) age.add(new Socket());
    clock.skip(10_000);
    await clock.advance(50);
    expect(closed.length).toBe(100);
  });

  it('[Q6] after its stop nobody is closed any more', async () => {
    const { clock, age, closed } = ageWith(1_000, 0);
    age.start();
    age.add(new Socket());
    age.stop();
    age.add(new Socket());
    await clock.advance(5_000);
    expect([closed.length, age.size, clock.waiting]).toEqual([0, 0, 0]);
  });
});
