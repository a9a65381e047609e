/** How a stopping edge lets clients go: the pace, the order and the bounds, on a clock that the test moves. */
import { describe, expect, it } from 'vitest';
import { Closer } from '../../services/edge/closer.js';
import { drain } from '../../services/edge/drain.js';
import { Pace, shuffled } from '../../services/edge/pace.js';
import { silentLogger } from '../../services/shared/logger.js';
import { Gate } from '../support/edge-doubles.js';
import { ManualClock, settle } from '../support/manual-clock.js';
import { Random, testSeed } from '../support/random.js';

/** Closes when it is told to, or never, or throws. */
class Socket {
  open = true;
  ended: { code: number; reason: string } | undefined;
  wasCut = false;
  onClosed: () => void = () => undefined;

  constructor(private readonly takes: 'all' | 'nothing' | 'throws' = 'all') {}

  end(code: number, reason: string): void {
    if (this.takes === 'throws') throw new Error('a fault');
    this.ended = { code, reason };
    if (this.takes === 'all') this.close();
  }

  cut(): void {
    this.wasCut = true;
    this.close();
  }

  close(): void {
    this.open = false;
    this.onClosed();
  }
}

const TIMES = { drainWaitMs: 0, drainMs: 10_000, closeTimeoutMs: 2_000 };

function drainOf(sockets: readonly Socket[], times: Partial<typeof TIMES> = {}, random: () => number = Math.random) {
  const clock = new ManualClock();
  const settings = { ...TIMES, ...times };
  const left = new Set(sockets);
  const closedAt = new Map<Socket, number>();
  for (const socket of sockets) {
    socket.onClosed = () => {
      left.delete(socket);
      closedAt.set(socket, clock.monotonic());
    };
  }
  const publications = new Map<object, Promise<void>>();
  let cuts = 0;
  const closer = new Closer({
    clock,
    logger: silentLogger,
    closeTimeoutMs: settings.closeTimeoutMs,
    finishPublishing: (socket) => publications.get(socket),
    onCut: () => {
      cuts += 1;
    },
  });
  let listenerClosedAt: number | undefined;
  let overAt: number | undefined;
  const begin = () => {
    void drain({
      clock,
      closer,
      sockets: left,
      settings,
      closeListener: () => {
        listenerClosedAt = clock.monotonic();
      },
      random,
    }).then(() => {
      overAt = clock.monotonic();
    });
  };
  return {
    clock,
    closer,
    closedAt,
    publications,
    begin,
    cuts: () => cuts,
    listenerClosedAt: () => listenerClosedAt,
    overAt: () => overAt,
  };
}

const many = (count: number) => Array.from({ length: count }, () => new Socket());
const seed = testSeed();

describe('the pace', () => {
  it(`[Q2] has one in each equal part of the time, at a moment that chance decides (seed ${seed})`, () => {
    const random = new Random(seed);
    const pace = new Pace(1_000, 5_000, () => random.next());
    const inPart: number[] = [];
    for (let part = 0; part < 1_000; part += 1) {
      let taken = 0;
      while (pace.take((part + 1) * 5 - 1e-9)) taken += 1;
      inPart.push(taken);
    }
    expect(new Set(inPart)).toEqual(new Set([1]));
    expect([pace.isOver, pace.totalMs, pace.take(1e9)]).toEqual([true, 5_000, false]);
  });

  it('[Q2] does not stretch a few over the whole time; no time is at once; nobody is over at once', () => {
    expect(new Pace(4, 60_000, Math.random).totalMs).toBe(200);
    const atOnce = new Pace(3, 0, Math.random);
    expect([atOnce.take(0), atOnce.take(0), atOnce.take(0), atOnce.isOver]).toEqual([true, true, true, true]);
    expect(new Pace(0, 1_000, Math.random).isOver).toBe(true);
  });

  it(`[Q2] any order is as likely as another (seed ${seed})`, () => {
    const random = new Random(seed);
    const first = [0, 0, 0, 0];
    for (let i = 0; i < 4_000; i += 1) {
      const order = shuffled([0, 1, 2, 3], () => random.next());
      expect(new Set(order)).toEqual(new Set([0, 1, 2, 3]));
      const at = order[0] ?? 0;
      first[at] = (first[at] ?? 0) + 1;
    }
    expect(Math.min(...first)).toBeGreaterThan(800);
    expect(Math.max(...first)).toBeLessThan(1_200);
  });
});

describe('a drain', () => {
  it(`[Q2] closes all, evenly over its time, rooms mixed, with 1012 (seed ${seed})`, async () => {
    const random = new Random(seed);
    const sockets = many(1_000);
    const { clock, closedAt, begin, overAt } = drainOf(sockets, {}, () => random.next());
    begin();
    await clock.advance(10_100);
    expect([closedAt.size, overAt() !== undefined]).toEqual([1_000, true]);
    for (const { ended } of sockets) expect(ended).toEqual({ code: 1012, reason: 'restarting' });
    const perSecond = (of: readonly Socket[]) =>
      Array.from({ length: 10 }, (_, second) => {
        return of.filter((socket) => Math.floor((closedAt.get(socket) ?? 0) / 1_000) === second).length;
      });
    for (const count of perSecond(sockets)) expect(Math.abs(count - 100)).toBeLessThanOrEqual(2);
    // The first hundred are one room, say: they do not go together.
    for (const count of perSecond(sockets.slice(0, 100))) expect(count).toBeLessThan(30);
  });

  it('[Q1] waits for load balancers before it closes its listener and anybody', async () => {
    const { clock, closedAt, begin, listenerClosedAt } = drainOf(many(10), { drainWaitMs: 3_000 });
    begin();
    await clock.advance(2_999);
    expect([listenerClosedAt(), closedAt.size]).toEqual([undefined, 0]);
    await clock.advance(1_000);
    expect([listenerClosedAt(), closedAt.size]).toEqual([3_000, 10]);
  });

  it('[Q3] cuts who does not take what is on its way, each after the same time, and is over then', async () => {
    const slow = [new Socket('nothing'), new Socket('nothing')];
    const { clock, closedAt, begin, overAt, cuts } = drainOf([...slow, ...many(200)], { drainMs: 4_000 });
    begin();
    await clock.advance(6_100);
    expect(closedAt.size).toBe(202);
    expect([cuts(), slow.map(({ wasCut }) => wasCut)]).toEqual([2, [true, true]]);
    expect(overAt()).toBeLessThanOrEqual(6_010);
  });

  it('[Q3] is over in its time, even if a busy edge comes late to all of it', async () => {
    const { clock, begin, overAt } = drainOf([new Socket('nothing'), ...many(100)], { drainMs: 1_000 });
    begin();
    await settle();
    clock.skip(60_000);
    await clock.advance(50);
    expect(overAt()).toBeDefined();
  });

  it('[Q3] a socket that fails is cut, and the others get their close', async () => {
    const faulty = new Socket('throws');
    const { clock, closedAt, begin, cuts } = drainOf([faulty, ...many(5)], { drainMs: 100 });
    begin();
    await clock.advance(200);
    expect([closedAt.size, faulty.wasCut, cuts()]).toEqual([6, true, 0]);
  });

  it('[Q2] who left by itself is passed over, and nobody is waited for who is not there', async () => {
    const sockets = many(100);
    const { clock, begin, overAt } = drainOf(sockets);
    begin();
    for (const socket of sockets) if (socket.open) socket.close();
    await clock.advance(100);
    expect(overAt()).toBeLessThan(100);
    expect(sockets.filter(({ ended }) => ended !== undefined).length).toBeLessThanOrEqual(1);
  });

  it('[U10] answers to what was published come before the close, but are not waited for beyond its time', async () => {
    const [answered, never] = [new Socket(), new Socket()];
    const { clock, begin, publications, closedAt } = drainOf([answered, never], { drainMs: 0, closeTimeoutMs: 500 });
    const gate = new Gate();
    publications.set(answered, gate.promise);
    publications.set(never, new Promise(() => undefined));
    begin();
    await clock.advance(100);
    expect(closedAt.size).toBe(0);
    gate.open();
    await clock.advance(10);
    expect([answered.ended?.code, answered.wasCut]).toEqual([1012, false]);
    await clock.advance(500);
    expect([never.ended, never.wasCut]).toEqual([undefined, true]);
  });

  it('[Q2] without any time for it all are told once', async () => {
    const sockets = Array.from({ length: 250 }, () => new Socket());
    const { clock, begin } = drainOf(sockets, { drainMs: 0, closeTimeoutMs: 0 });
    begin();
    await clock.advance(100);
    expect(sockets.filter(({ ended }) => ended?.code === 1012)).toHaveLength(sockets.length);
  });
});
