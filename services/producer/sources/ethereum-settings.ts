/** Settings of the Ethereum source. Without ETHEREUM_URL there is no such source. */
import { z } from 'zod';
import { address, whole, type Setting, type Values } from '../../shared/settings.js';
import { roomSetting } from './room-setting.js';

/** Where to begin in a room that holds no block yet: at the node's newest block, or at a height. */
export type EthereumStart = 'latest' | number;

const start: z.ZodType<EthereumStart> = z
  .string()
  .regex(/^(latest|\d{1,15})$/u, 'must be "latest" or a block height')
  .transform((word) => (word === 'latest' ? 'latest' : Number(word)));

export const ethereumSettings = {
  ethereumUrl: {
    env: 'ETHEREUM_URL',
    help: 'WebSocket address of an Ethereum node whose blocks are published; without one none are',
    parse: address('ws', 'wss').refine((url) => !url.includes('#'), 'must not have a fragment (#...)'),
    fallback: undefined,
    value: 'url',
    secret: true,
  } satisfies Setting<string | undefined> as Setting<string | undefined>,
  ethereumRoom: {
    env: 'ETHEREUM_ROOM',
    help: 'room that the blocks are published to',
    parse: roomSetting,
    fallback: 'eth',
    value: 'room',
  },
  ethereumStart: {
    env: 'ETHEREUM_START',
    help: 'where to begin in a room without blocks: "latest", or a block height; later it goes on after the room’s last block',
    parse: start,
    fallback: 'latest',
    value: 'latest|height',
  } satisfies Setting<EthereumStart> as Setting<EthereumStart>,
  ethereumMaxBackfill: {
    env: 'ETHEREUM_MAX_BACKFILL',
    help: 'most blocks to fetch behind the node’s newest; older missed ones are left out, which the next block says in "skipped"',
    parse: whole('blocks', 1, 10_000_000),
    fallback: 10_000,
    value: 'blocks',
  },
  ethereumMaxReorg: {
    env: 'ETHEREUM_MAX_REORG',
    help: 'deepest reorganisation that is followed to its fork point; a deeper one starts the chain anew in the room',
    parse: whole('blocks', 1, 10_000),
    fallback: 256,
    value: 'blocks',
  },
  ethereumPollMs: {
    env: 'ETHEREUM_POLL_MS',
    help: 'ask the node for its newest block when it has announced none for so long',
    parse: whole('ms', 100, 3_600_000),
    fallback: 15_000,
    value: 'ms',
  },
  ethereumTimeoutMs: {
    env: 'ETHEREUM_TIMEOUT_MS',
    help: 'how long the node may take to answer a request, and to show any sign of life',
    parse: whole('ms', 50, 600_000),
    fallback: 10_000,
    value: 'ms',
  },
} as const;

/** The settings of a source that has an address. */
export type EthereumValues = Values<typeof ethereumSettings> & { readonly ethereumUrl: string };
