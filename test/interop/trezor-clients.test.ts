/**
 * Trezor's clients of Blockbook, unmodified, on the blocks of a real Ethereum node: node → Ethereum source → nats-server →
 * two edges → clients, all of them processes of the built program.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Anvil } from '../support/anvil.js';
import { Cluster, type ServiceProcess } from '../support/cluster.js';
import { PlainClient } from '../support/plain-client.js';
import { ApiViewer, asTold, LinkViewer, type ToldBlock } from '../support/trezor-clients.js';
import { waitFor } from '../support/wait-for.js';

const EDGE = ['--edge-blockbook-room', 'eth', '--edge-blockbook-testnet', '--edge-drain-ms', '500'];

let anvil: Anvil;
let cluster: Cluster;
let edges: ServiceProcess[];
const viewers: { close(): void }[] = [];

beforeAll(async () => {
  anvil = await Anvil.start();
  await anvil.mine(20);
  cluster = await Cluster.create();
  // As a node's history is on a real chain: the room begins far above height 1.
  await cluster.add('producer', 'producer', ['--ethereum-url', anvil.url, '--ethereum-start', '10']);
  await cluster.add('revision', 'revision');
  edges = [await cluster.add('edge', 'edge-1', EDGE), await cluster.add('edge', 'edge-2', EDGE)];
  await cluster.ready();
  await untilTheyStand();
});

afterEach(() => {
  for (const viewer of viewers.splice(0)) viewer.close();
});

afterAll(async () => {
  await cluster?.dispose();
  await anvil?.stop();
});

function kept<V extends { close(): void }>(viewer: V): V {
  viewers.push(viewer);
  return viewer;
}

function url(index: number): string {
  return edges[index]?.url ?? '';
}

/** Both edges stand at the node's newest block. */
async function untilTheyStand(): Promise<void> {
  const height = await anvil.height();
  for (const edge of edges) {
    const client = await PlainClient.connect(`${edge.url.replace('http', 'ws')}/websocket`);
    await waitFor(async () => ((await client.request('getInfo')) as { bestHeight?: number }).bestHeight === height, {
      timeoutMs: 30_000,
      what: `${edge.name} stands at height ${height}`,
    });
    client.close();
  }
}

async function blocks(from: number, to: number): Promise<ToldBlock[]> {
  const found: ToldBlock[] = [];
  for (let height = from; height <= to; height += 1) found.push(asTold(await anvil.block(height)));
  return found;
}

async function untilTold(all: readonly { readonly told: readonly ToldBlock[] }[], height: number): Promise<void> {
  await waitFor(() => all.every(({ told }) => told.at(-1)?.height === height), {
    timeoutMs: 30_000,
    what: `all are told of height ${height}`,
  });
}

describe('Trezor’s clients', () => {
  it('[B9] have every block by height and hash, in order, on both edges; the public class the newest', async () => {
    const apis = await Promise.all([0, 1, 0, 1].map((at) => ApiViewer.subscribed(url(at)).then(kept)));
    const links = [0, 1].map((at) => kept(new LinkViewer([url(at)])));
    const unthrottled = kept(new LinkViewer([url(0)], { throttleMs: 0 }));
    for (const viewer of [...links, unthrottled]) expect(await viewer.subscribe()).toEqual({ subscribed: true });
    const from = (await anvil.height()) + 1;
    for (let n = 0; n < 20; n += 1) {
      await anvil.mine();
      await untilTold([unthrottled], await anvil.height());
    }
    await anvil.mine(30);
    const to = await anvil.height();
    await untilTold([...apis, ...links, unthrottled], to);
    const expected = await blocks(from, to);
    expect(expected).toHaveLength(50);
    for (const { told } of apis) expect(told).toEqual(expected);
    const short = expected.map(({ height, hash }) => ({ height, hash }));
    expect(unthrottled.told.slice(0, 20)).toEqual(short.slice(0, 20));
    for (const { told } of links) {
      expect(told[0]).toEqual(short[0]);
      expect(told.at(-1)).toEqual(short.at(-1));
    }
  });

  it('[B9] [B4] are told of a reorganisation’s blocks, and then have the new chain by height', async () => {
    const api = kept(await ApiViewer.subscribed(url(0)));
    await anvil.mine(5);
    const height = await anvil.height();
    await untilTold([api], height);
    const replaced = (await anvil.block(height)).hash;
    expect((await api.api.getBlockHash(height)).hash).toBe(replaced);
    await anvil.reorg(3);
    await anvil.mine();
    await untilTold([api], height + 1);
    expect(api.told.slice(-4)).toEqual(await blocks(height - 2, height + 1));
    const other = kept(new LinkViewer([url(1)]));
    for (let at = 10; at <= height + 1; at += 1) {
      const { hash } = await anvil.block(at);
      expect(await api.api.getBlockHash(at)).toEqual({ hash });
      expect(await other.link.getBlockHash(at)).toBe(hash);
    }
    expect((await anvil.block(height)).hash).not.toBe(replaced);
  });

  it('[B9] [B3] have what they ask for, and errors as they know them', async () => {
    const viewer = kept(new LinkViewer([url(1)]));
    const { number, hash } = await anvil.block();
    expect(await viewer.link.getInfo()).toEqual({
      url: url(1),
      name: 'Ethereum',
      shortcut: 'ETH',
      network: 'ETH',
      testnet: true,
      version: '0.5.0',
      decimals: 18,
      blockHeight: Number(number),
      blockHash: hash,
    });
    await expect(viewer.link.getBlockHash(9)).rejects.toThrow('no block of height 9 is known here');
    await expect(viewer.link.getBlockHash(Number(number) + 1)).rejects.toThrow('no block of height');
    await expect(viewer.link.getTransaction('0x00')).rejects.toThrow('unknown method "getTransaction"');
    await expect(viewer.link.subscribe({ type: 'mempool' })).rejects.toThrow('unknown method');
    await viewer.subscribe();
    await anvil.mine();
    await untilTold([viewer], await anvil.height());
    expect(await viewer.link.unsubscribe({ type: 'block' })).toEqual({ subscribed: false });
    const { length } = viewer.told;
    await anvil.mine();
    await untilTheyStand();
    expect(viewer.told).toHaveLength(length);
    expect(viewer.disconnects).toBe(0);
  });

  it('[B9] keep their connections alive, though the room has no block of height 1', async () => {
    const api = kept(await ApiViewer.subscribed(url(0), { pingMs: 100 }));
    const link = kept(new LinkViewer([url(1)], { pingMs: 100 }));
    await link.subscribe();
    await waitFor(() => api.sent.filter((method) => method === 'getBlockHash').length >= 10, {
      what: 'ten signs of life',
    });
    await anvil.mine();
    await untilTold([api, link], await anvil.height());
    expect([api.disconnects, link.disconnects]).toEqual([0, 0]);
  });

  it('[B9] [B2] subscribe again: one stream, under the new id', async () => {
    const api = kept(await ApiViewer.subscribed(url(0)));
    for (let n = 0; n < 5; n += 1) {
      await api.api.subscribeBlock();
      await anvil.mine();
      await untilTold([api], await anvil.height());
    }
    const to = await anvil.height();
    expect(api.told).toEqual(await blocks(to - 4, to));
  });

  it('[B9] come back when their edge is killed, and miss no block by height', async () => {
    const apis = await Promise.all([0, 0, 1].map((at) => ApiViewer.subscribed(url(at)).then(kept)));
    const link = kept(new LinkViewer([url(0), url(1)]));
    await link.subscribe();
    const from = (await anvil.height()) + 1;
    for (let round = 0; round < 2; round += 1) {
      await anvil.mine(3);
      await untilTold(apis, await anvil.height());
      await edges[0]?.kill();
      await anvil.mine(5);
      edges[0]?.start();
      await edges[0]?.ready();
      await waitFor(() => apis.slice(0, 2).every(({ returns }) => returns > round), {
        timeoutMs: 30_000,
        what: 'the clients are back',
      });
      await anvil.mine(2);
    }
    const to = await anvil.height();
    await untilTold(apis, to);
    const expected = await blocks(from, to);
    const hashes = expected.map(({ height, hash }) => [height, hash]);
    for (const [index, { told, caughtUp }] of apis.entries()) {
      const had = new Map([...caughtUp, ...told.map(({ height, hash }): [number, string] => [height, hash])]);
      expect([...had].sort(([a], [b]) => a - b)).toEqual(hashes);
      if (index === 2) expect(told).toEqual(expected);
    }
    // The public class says that it lost its server; subscribed again, it takes another.
    await link.subscribe();
    await anvil.mine();
    await untilTold([link], to + 1);
  });
});
