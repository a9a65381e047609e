/** The Ethereum source on a real nats-server: the log on disk, killed and started again under it. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Anvil } from '../support/anvil.js';
import { chainOf, readBlocks } from '../support/block-room.js';
import { startSource, type StartedSource } from '../support/ethereum-source-parts.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const WAIT = { timeout: 60_000, interval: 100 };

let server: NatsServer;
let anvil: Anvil;
let reader: TestLog;

beforeAll(async () => {
  server = await NatsServer.start();
  anvil = await Anvil.start();
  reader = await openJetStreamLog(server.url);
});

afterAll(async () => {
  await reader.close();
  await anvil.stop();
  await server.dispose();
});

async function untilRoomHolds(): Promise<number> {
  return vi.waitFor(async () => {
    const blocks = await readBlocks(reader.log);
    expect(chainOf(blocks).map(({ hash }) => hash)).toEqual(await anvil.hashes(0));
    expect(new Set(blocks.map(({ hash }) => hash)).size).toBe(blocks.length);
    return blocks.length;
  }, WAIT);
}

it('[E5] [E6] two producers on a server that is killed and started again publish each block once', async () => {
  const logs = [await openJetStreamLog(server.url), await openJetStreamLog(server.url)];
  const sources: StartedSource[] = logs.map(({ log }) => startSource(anvil.url, log, { ethereumStart: 0 }));
  try {
    let replaced = 0;
    for (let round = 0; round < 3; round += 1) {
      await anvil.mine(10);
      await untilRoomHolds();
      // Mined while the server goes down, is down and comes up.
      const mining = anvil.mine(10);
      await server.kill();
      await mining;
      await anvil.mine(10);
      await server.start();
      await anvil.mine(10);
      await untilRoomHolds();
      await anvil.reorg(5);
      replaced += 5;
      expect(await untilRoomHolds()).toBe((await anvil.height()) + 1 + replaced);
    }
    for (const { faults } of sources) expect(faults).toEqual([]);
  } finally {
    for (const { source } of sources) await source.stop();
    for (const each of logs) await each.close();
  }
});
