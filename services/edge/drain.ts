/**
 * How a stopping edge lets its clients go: never all at once, for they come back at other edges, and in no order of
 * rooms. What the edge has for them goes on until it is their turn.
 *
 *   refusing (the listener answers 503, so load balancers turn away) ──drainWaitMs──▶ closing (paced) ──▶ finishing ──▶ over
 *
 * closing: in a random order, spread over `drainMs` (pace.ts), each as closer.ts does. finishing: until the last has taken
 * what is on its way, or is cut. Bounded by drainWaitMs + drainMs + closeTimeoutMs, whatever clients do.
 */
import { sleep, type Clock } from '../shared/clock.js';
import type { Closer, ClosingSocket } from './closer.js';
import { Pace, shuffled } from './pace.js';

/** Further closes that are due go in a turn of their own, so that others are served meanwhile. */
const CLOSES_PER_TURN = 100;
/** Timers are no finer than this. */
const TICK_MS = 2;
const LOOK_MS = 10;

export interface DrainParts {
  readonly clock: Clock;
  readonly closer: Pick<Closer, 'close'>;
  readonly sockets: ReadonlySet<ClosingSocket>;
  readonly settings: { readonly drainWaitMs: number; readonly drainMs: number; readonly closeTimeoutMs: number };
  /** Takes no connection any more. */
  readonly closeListener: () => void;
  readonly random: () => number;
}

/** Resolves when all sockets are closed, or the time for it is over. */
export async function drain(parts: DrainParts): Promise<void> {
  const { clock, sockets, settings } = parts;
  if (settings.drainWaitMs > 0) await sleep(clock, settings.drainWaitMs);
  parts.closeListener();
  const begun = clock.monotonic();
  const endMs = begun + settings.drainMs + settings.closeTimeoutMs;
  await closePaced(parts, begun, endMs);
  while (sockets.size > 0 && clock.monotonic() < endMs) await sleep(clock, LOOK_MS);
}

async function closePaced(parts: DrainParts, begun: number, endMs: number): Promise<void> {
  const { clock, closer, sockets, settings, random } = parts;
  const order = shuffled(sockets, random);
  const pace = new Pace(order.length, settings.drainMs, random);
  let at = 0;
  while (!pace.isOver && sockets.size > 0 && clock.monotonic() < endMs) {
    for (let closes = 0; closes < CLOSES_PER_TURN && pace.take(clock.monotonic() - begun); closes += 1) {
      const socket = order[at];
      at += 1;
      if (socket !== undefined) closer.close(socket, 'restarting');
    }
    if (pace.isOver) return;
    const dueInMs = pace.nextMs - (clock.monotonic() - begun);
    await (dueInMs > 0 ? sleep(clock, Math.max(dueInMs, TICK_MS)) : nextTurn());
  }
  // Where there was no time for it, the others are told at least.
  for (const socket of order.slice(at)) closer.close(socket, 'restarting');
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
