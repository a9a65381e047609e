/** The calls that the source makes of an Ethereum node, each answer checked, over one connection that comes back. */
import { z } from 'zod';
import type { Logger } from '../../shared/logger.js';
import { parseNodeBlock, type Block } from './ethereum-block.js';
import { JsonRpcConnection, NodeError, type JsonRpcParts } from './json-rpc.js';

const announcement = z.object({
  result: z.object({
    number: z
      .string()
      .regex(/^0x[\da-f]{1,13}$/iu)
      .transform(Number),
    hash: z.string(),
  }),
});

/** A new head, as the node announced it. Its block is asked for separately: a header has no transactions. */
export interface Announced {
  readonly height: number;
  readonly hash: string;
}

export interface EthereumNodeParts extends Omit<JsonRpcParts, 'onUp' | 'onNotification'> {
  /** After each connect, when announcements have begun (if the node makes any): blocks may have been missed before. */
  readonly onReady: () => void;
  readonly onHead: (head: Announced) => void;
}

export class EthereumNode {
  private readonly connection: JsonRpcConnection;
  private readonly logger: Logger;
  private subscribed = false;

  constructor(private readonly parts: EthereumNodeParts) {
    this.logger = parts.logger;
    this.connection = new JsonRpcConnection({
      ...parts,
      onUp: () => {
        void this.subscribe();
      },
      onNotification: (_method, params) => {
        this.notified(params);
      },
    });
  }

  get up(): boolean {
    return this.connection.up;
  }

  /** Whether the node said that it will announce new blocks on this connection. */
  get announces(): boolean {
    return this.subscribed;
  }

  start(): void {
    this.connection.start();
  }

  close(): void {
    this.connection.close();
  }

  /** Connects again, and so subscribes again. */
  reconnect(reason: string): void {
    this.connection.drop(reason);
  }

  /** The newest block. Throws NodeError. */
  async latest(): Promise<Block> {
    return parseNodeBlock(await this.connection.request('eth_getBlockByNumber', ['latest', false]));
  }

  /** The block of the node's chain at the height. Throws NodeError. */
  async blockAt(height: number): Promise<Block> {
    const answer = await this.connection.request('eth_getBlockByNumber', [`0x${height.toString(16)}`, false]);
    if (answer === null) throw new NodeError('missing_block', `the node has no block at height ${height}`);
    const block = parseNodeBlock(answer);
    if (block.height !== height) {
      throw new NodeError('malformed', `asked for height ${height}, the node answered height ${block.height}`);
    }
    return block;
  }

  /** The block with the hash, on whatever branch. Throws NodeError. */
  async blockByHash(hash: string): Promise<Block> {
    const answer = await this.connection.request('eth_getBlockByHash', [hash, false]);
    if (answer === null) throw new NodeError('missing_block', `the node has no block ${hash}`);
    const block = parseNodeBlock(answer);
    if (block.hash !== hash) {
      throw new NodeError('malformed', `asked for block ${hash}, the node answered block ${block.hash}`);
    }
    return block;
  }

  private async subscribe(): Promise<void> {
    this.subscribed = false;
    try {
      await this.connection.request('eth_subscribe', ['newHeads']);
      this.subscribed = true;
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      if (error.code !== 'refused') {
        // Every connect subscribes.
        this.reconnect(error.message);
        return;
      }
      this.logger.warn({ reason: error.message }, 'the node announces no blocks, it is asked for them instead');
    }
    this.parts.onReady();
  }

  private notified(params: unknown): void {
    const parsed = announcement.safeParse(params);
    if (!parsed.success) {
      this.logger.debug('the node announced what is not a block header');
      return;
    }
    this.parts.onHead({ height: parsed.data.result.number, hash: parsed.data.result.hash.toLowerCase() });
  }
}
