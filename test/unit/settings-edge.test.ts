import { describe, expect, it } from 'vitest';
import { roomMatcher } from '../../services/edge/room-pattern.js';
import { edgeSettings } from '../../services/edge/settings.js';
import { flagName, readSettings, SettingsError } from '../../services/shared/settings.js';

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readSettings(edgeSettings, {}, env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

/** Empty is what they are when nothing is said, and cannot be said. */
const EMPTY = new Set([
  'publishRooms',
  'latestRooms',
  'allowedOrigins',
  'blockbookRoom',
  'blockbookNetwork',
  'blockbookGenesis',
]);

describe('the edge’s settings', () => {
  it('[C1] have sound defaults: each passes its own check', () => {
    for (const [name, { env, fallback, parse }] of Object.entries(edgeSettings)) {
      if (EMPTY.has(name)) continue;
      expect([env, parse.safeParse(String(fallback)).data]).toEqual([env, fallback]);
    }
    expect(readSettings(edgeSettings, {}, {})).toMatchObject({
      port: 8080,
      fanout: 'prepared',
      flush: 'microtask',
      deflate: 'once',
      ring: 'counted',
      deflateMinSaving: 256,
      latestRooms: '',
    });
  });

  it('[C1] have a name each, of the edge', () => {
    const names = Object.values(edgeSettings).map(({ env }) => env);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^EDGE_[A-Z_]+$/u);
    for (const name of Object.keys(edgeSettings)) expect(flagName(name)).toMatch(/^[a-z]+(-[a-z]+)*$/u);
  });

  it('[C1] the switches of the four gains take their words and no others', () => {
    const switches = { EDGE_FANOUT: 'per-socket', EDGE_FLUSH: 'sync', EDGE_DEFLATE: 'off', EDGE_RING: 'scan' };
    expect(readSettings(edgeSettings, {}, switches)).toMatchObject({
      fanout: 'per-socket',
      flush: 'sync',
      deflate: 'off',
      ring: 'scan',
    });
    expect(problemsOf({ EDGE_FANOUT: 'all', EDGE_FLUSH: '', EDGE_DEFLATE: 'twice', EDGE_RING: 'x' })).toEqual([
      expect.stringMatching(/^EDGE_FANOUT must be one of prepared, per-socket/u),
      expect.stringMatching(/^EDGE_FLUSH must be one of microtask, immediate, sync/u),
      expect.stringMatching(/^EDGE_DEFLATE must be one of once, per-socket, off/u),
      expect.stringMatching(/^EDGE_RING must be one of counted, scan/u),
    ]);
  });

  it('[C1] all problems are told at once, by name, with what is allowed', () => {
    expect(
      problemsOf({ EDGE_PORT: '70000', EDGE_MAX_SOCKETS: 'many', EDGE_PAGE_BYTES: '1', EDGE_RING_MAX_REVISIONS: '-1' }),
    ).toEqual([
      expect.stringMatching(/^EDGE_PORT must be a whole number of port from 0 to 65535/u),
      expect.stringMatching(/^EDGE_MAX_SOCKETS must be a whole number of sockets from 1/u),
      expect.stringMatching(/^EDGE_RING_MAX_REVISIONS must be/u),
      expect.stringMatching(/^EDGE_PAGE_BYTES must be/u),
    ]);
  });
});

describe('rooms of the policy latest', () => {
  it('[F17] are named, or share a prefix', () => {
    const isLatest = roomMatcher('ticker, eth* ,price/*,');
    expect(['ticker', 'eth', 'eth-2', 'price/a'].map(isLatest)).toEqual([true, true, true, true]);
    expect(['tickers', 'et', 'price', '', 'doc-1'].map(isLatest)).toEqual([false, false, false, false, false]);
    expect(roomMatcher('')('doc-1')).toBe(false);
    expect(roomMatcher('*')('doc-1')).toBe(true);
  });
});
