/** The times of a stop have to fit each other. */
import { describe, expect, it } from 'vitest';
import { drainProblems, edgeStopMs } from '../../services/cli/service-parts.js';
import { runCli } from '../support/cli-context.js';

describe('the times of a stop', () => {
  it('[Q3] a process that leaves before its edge can have closed its clients is a configuration error', async () => {
    const { exitCode, stderr } = await runCli(['edge', '--nats', 'nats://127.0.0.1:4222', '--edge-drain-ms', '60000']);
    expect([exitCode, stderr]).toEqual([
      2,
      'revcast: --edge-drain-wait-ms, --edge-drain-ms and --edge-close-timeout-ms need a --stop-timeout-ms ' +
        '(STOP_TIMEOUT_MS) of at least 68000 (got 25000)\n',
    ]);
    expect((await runCli(['dev', '--edge-drain-wait-ms', '30000'])).exitCode).toBe(2);
  });

  it('[Q3] those that fit are taken', () => {
    const times = { edgeDrainWaitMs: 5_000, edgeDrainMs: 10_000, edgeCloseTimeoutMs: 5_000 };
    expect(edgeStopMs(times)).toBe(22_000);
    expect(drainProblems({ ...times, stopTimeoutMs: 23_000 })).toEqual([]);
    expect(drainProblems({ ...times, stopTimeoutMs: 22_999 })).toHaveLength(1);
  });
});

describe('the times of silence', () => {
  it('[C2] a client that would be cut off before it is pinged is a configuration error', async () => {
    const words = ['edge', '--nats', 'nats://127.0.0.1:4222', '--edge-ping-after-ms', '60000'];
    const { exitCode, stderr } = await runCli(words);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/--edge-ping-after-ms \(EDGE_PING_AFTER_MS, 60000\) must be below --edge-dead-after-ms/u);
    expect((await runCli(['dev', '--edge-dead-after-ms', '20000'])).exitCode).toBe(2);
  });
});
