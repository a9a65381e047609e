/** `revcast producer`, `revision` and `edge` as processes of their own: before NATS is there, with it, and at the end. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KeptProcess } from '../support/built-program.js';
import { freePort } from '../support/free-port.js';
import { NatsServer } from '../support/nats-server.js';
import { waitFor } from '../support/wait-for.js';

const SERVICES = ['producer', 'revision', 'edge'] as const;
/** More than several attempts to connect take. */
const WATCH_MS = 3_000;

let nats: NatsServer;
let services: { name: string; url: string; process: KeptProcess }[];

beforeEach(async () => {
  nats = await NatsServer.prepare();
  services = [];
  for (const name of SERVICES) {
    const port = String(await freePort());
    const process = KeptProcess.revcast([name], {
      NATS_URL: nats.url,
      [`${name.toUpperCase()}_PORT`]: port,
      LOG_LEVEL: 'info',
    });
    services.push({ name, url: `http://127.0.0.1:${port}`, process });
  }
});
afterEach(async () => {
  await Promise.all(services.map(({ process }) => process.stop()));
  await nats.dispose();
});

async function statusOf(url: string): Promise<{ status: number; body: { detail?: string } }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    return { status: response.status, body: (await response.json()) as { detail?: string } };
  } catch {
    return { status: 0, body: {} };
  }
}

const everyone = (path: string, status: number) =>
  waitFor(
    async () =>
      (await Promise.all(services.map(({ url }) => statusOf(url + path)))).every((one) => one.status === status),
    {
      timeoutMs: 30_000,
      what: `${path} answers ${status} everywhere`,
    },
  );

describe('the services', () => {
  test('[H1][H2] without NATS they live, are not ready and say so once; then they are ready; then they stop', async () => {
    await everyone('/healthz', 200);
    for (const { url, name } of services) {
      const { status, body } = await statusOf(`${url}/readyz`);
      expect({ name, status }).toEqual({ name, status: 503 });
      expect({ name, detail: body.detail }).toEqual({ name, detail: expect.stringContaining('NATS') as string });
    }
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
    for (const { name, process } of services) {
      const lines = process.stderr
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { level: number; msg: string });
      const warnings = lines.filter(({ level }) => level >= 40).map(({ msg }) => msg);
      expect({ name, warnings }).toEqual({ name, warnings: ['NATS cannot be reached; waiting for it'] });
      expect(process.stdout).toBe('');
    }

    await nats.start();
    await everyone('/readyz', 200);

    for (const { process } of services) process.kill('SIGTERM');
    for (const { name, process } of services)
      expect({ name, ...(await process.ended) }).toEqual({ name, code: 0, signal: null });
  });
});
