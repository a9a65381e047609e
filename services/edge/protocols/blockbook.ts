/**
 * Blockbook (SPEC.md, B rules): what Trezor's clients ask of a server about blocks, as methods of the plain protocol, whose
 * form of requests, answers and errors is Blockbook's. One coin, whose blocks are the revisions of one room.
 *
 * A notification is `{height, hash, evmData}` under the id of the subscribe. It has no position, so subscriptions are to
 * news: see Encoding.isNews. Accounts, transactions, fees and filters are not served: such methods are unknown.
 */
import { z } from 'zod';
import { RevcastError } from '../../shared/errors.js';
import { readBlock, type BlockData, type KnownBlock } from '../block-data.js';
import type { Blocks } from '../blocks.js';
import type { EdgeSettings } from '../settings.js';
import type { Method, Methods } from './plain.js';
import type { Encoding } from './protocol.js';

/** What `getInfo` tells beside the newest block. */
export interface Coin {
  readonly name: string;
  readonly shortcut: string;
  readonly network: string;
  readonly decimals: number;
  readonly version: string;
  /** Empty: not told. */
  readonly block0Hash: string;
  readonly testnet: boolean;
}

export function coinOf(settings: EdgeSettings): Coin {
  return {
    name: settings.blockbookName,
    shortcut: settings.blockbookShortcut,
    network: settings.blockbookNetwork === '' ? settings.blockbookShortcut : settings.blockbookNetwork,
    decimals: settings.blockbookDecimals,
    version: settings.blockbookVersion,
    block0Hash: settings.blockbookGenesis,
    testnet: settings.blockbookTestnet,
  };
}

const NOTHING = Buffer.alloc(0);
/** What else is in them does not matter, as in Blockbook. */
const BlockHashParams = z.object({ height: z.int().min(0) });

const blockEncoding: Encoding = {
  index: 2,
  first: Buffer.from('{'),
  isNews: true,

  own: (id) => `"id":${id},"data":`,
  single(slot) {
    const block = readBlock(slot.revision.data);
    return block === undefined ? NOTHING : Buffer.from(`${notification(block)}}`);
  },
  batch: () => notAsked(),
  joined: () => notAsked(),

  subscribed: (id) => `{"id":${id},"data":{"subscribed":true}}`,
  unsubscribed: (id) => `{"id":${id},"data":{"subscribed":false}}`,
};

/** Blockbook's methods, for a coin with these blocks in this room. */
export function blockbookMethods(coin: Coin, room: string, blocks: Blocks): Methods {
  const encoding = blockEncoding;
  return new Map<string, Method>([
    ['subscribeNewBlock', (id) => ({ kind: 'subscribe', id, room, since: 'now', batch: false, encoding })],
    ['unsubscribeNewBlock', (id) => ({ kind: 'unsubscribe', id, room, encoding })],
    ['getInfo', (id) => ({ kind: 'ask', id, find: () => told(blocks.newest(), (newest) => info(coin, newest)) })],
    [
      'getBlockHash',
      (id, params) => {
        const { height } = BlockHashParams.parse(params);
        return { kind: 'ask', id, find: () => told(blocks.hashAt(height), (hash) => JSON.stringify({ hash })) };
      },
    ],
  ]);
}

function told<T>(found: T | Promise<T>, text: (found: T) => string): string | Promise<string> {
  return found instanceof Promise ? found.then(text) : text(found);
}

function notification({ height, hash, gas }: BlockData): string {
  const evmData =
    gas === undefined ? null : { baseFeePerGas: gas.baseFeePerGas, blockGasUsed: gas.used, blockGasLimit: gas.limit };
  return JSON.stringify({ height, hash, evmData });
}

function info(coin: Coin, { height, hash }: KnownBlock): string {
  const { name, shortcut, network, decimals, version, block0Hash, testnet } = coin;
  return JSON.stringify({
    name,
    shortcut,
    network,
    decimals,
    version,
    bestHeight: height,
    bestHash: hash,
    block0Hash,
    testnet,
    backend: {},
  });
}

function notAsked(): never {
  throw new RevcastError('internal', 'Blockbook has neither batches nor snapshots');
}
