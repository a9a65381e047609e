import { defineConfig } from 'vitest/config';

/** Tests with a real Etherpad: `make etherpad`. */
export default defineConfig({
  test: { include: ['test/etherpad/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 120_000 },
});
