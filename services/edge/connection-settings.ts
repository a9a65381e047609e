/**
 * Settings of how connections come and go: how many are taken and how fast, how old they grow, and how a stopping edge
 * lets them go. What a stop takes at most is the sum of its parts (`stopLimitMs`).
 */
import { whole, type Setting } from '../shared/settings.js';

function number(env: string, help: string, value: string, bounds: [number, number], fallback: number): Setting<number> {
  return { env, help, value, parse: whole(value, bounds[0], bounds[1]), fallback };
}

export const connectionSettings = {
  maxSockets: number(
    'EDGE_MAX_SOCKETS',
    'sockets open at once; fewer where the process may not open so many files (the limit less 5 %)',
    'sockets',
    [1, 1_000_000],
    100_000,
  ),
  acceptRate: number(
    'EDGE_ACCEPT_RATE',
    'new sockets a second; further ones are answered 503 with Retry-After. 0: no limit',
    'sockets',
    [0, 1_000_000],
    0,
  ),
  acceptBurst: number(
    'EDGE_ACCEPT_BURST',
    'and so many at once, where there is a limit',
    'sockets',
    [1, 1_000_000],
    1_000,
  ),
  maxConnectionAgeMs: number(
    'EDGE_MAX_CONNECTION_AGE_MS',
    'age at which a client is told to connect again, so that new edges fill up. 0: none',
    'ms',
    [0, 604_800_000],
    0,
  ),
  connectionAgeJitter: number(
    'EDGE_CONNECTION_AGE_JITTER',
    'by how much of it the age differs from client to client, up and down',
    'percent',
    [0, 90],
    10,
  ),
  drainWaitMs: number(
    'EDGE_DRAIN_WAIT_MS',
    'how long a stopping edge, which is not ready any more, still answers load balancers that send it clients (503)',
    'ms',
    [0, 600_000],
    0,
  ),
  drainMs: number(
    'EDGE_DRAIN_MS',
    'over how long it then spreads the closing of its clients; few are closed faster, 50 ms apart',
    'ms',
    [0, 600_000],
    5_000,
  ),
  closeTimeoutMs: number(
    'EDGE_CLOSE_TIMEOUT_MS',
    'how long a client that is to be closed may take to read what is on its way; then it is cut',
    'ms',
    [0, 600_000],
    5_000,
  ),
} as const;

/** Closed sockets stay a little for their clients' own closing, before they are cut: a tenth of the drain, within this. */
export const LINGER_MS = { least: 100, most: 1_000 } as const;

/** What a stop of an edge takes at most, in milliseconds. */
export function stopLimitMs(times: { drainWaitMs: number; drainMs: number; closeTimeoutMs: number }): number {
  return times.drainWaitMs + times.drainMs + times.closeTimeoutMs + LINGER_MS.most;
}
