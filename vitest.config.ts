import { defineConfig } from 'vitest/config';

/** unit: no process, no socket. contract: both logs. integration: real processes and sockets, one file
 * at a time. containers: a whole cluster of containers; needs a Docker engine and images (test/setup/with-engine.sh). */
export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 10_000 } },
      {
        test: {
          name: 'contract',
          include: ['test/contract/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', 'test/interop/**/*.test.ts'],
          exclude: ['test/integration/containers/**'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'containers',
          include: ['test/integration/containers/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
