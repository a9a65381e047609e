/** Trezor's own clients of Blockbook, unmodified, and what they were told of blocks. */
import { createRequire } from 'node:module';
import type linkModule from '@trezor/blockchain-link';
import type workerModule from '@trezor/blockchain-link/lib/workers/blockbook/index.js';
import type apiModule from '@trezor/blockchain-link/lib/workers/blockbook/websocket.js';
import type { AnvilBlock } from './anvil.js';
import { waitFor } from './wait-for.js';

// As Node itself loads them; vitest would unwrap their default exports.
const load = createRequire(import.meta.url);
const { default: Link } = load('@trezor/blockchain-link') as typeof linkModule;
const { default: worker } = load('@trezor/blockchain-link/lib/workers/blockbook/index.js') as typeof workerModule;
const { BlockbookAPI } = load('@trezor/blockchain-link/lib/workers/blockbook/websocket.js') as typeof apiModule;

const RETRY_MS = 100;

/** What is told of a block. */
export interface ToldBlock {
  readonly height: number;
  readonly hash: string;
  readonly evmData?: unknown;
}

export interface ApiViewerOptions {
  /** Silence after which it asks for a sign of life. */
  readonly pingMs?: number;
}

/** The class beneath the worker: every block, none left out by throttling. */
export class ApiViewer {
  readonly told: ToldBlock[] = [];
  /** What it asked for after it had been away, by height. */
  readonly caughtUp = new Map<number, string>();
  readonly api: InstanceType<typeof BlockbookAPI>;
  disconnects = 0;
  /** How often it was subscribed again, and had asked for what it missed. */
  returns = 0;
  /** What the server was asked by it. */
  readonly sent: string[] = [];
  private closed = false;

  constructor(server: string, { pingMs = 50_000 }: ApiViewerOptions = {}) {
    this.api = new BlockbookAPI({
      url: server,
      pingTimeout: pingMs,
      timeout: 10_000,
      onSending: (message) => this.sent.push(String(message['method'])),
    });
  }

  static async subscribed(server: string, options?: ApiViewerOptions): Promise<ApiViewer> {
    const viewer = new ApiViewer(server, options);
    await viewer.start();
    return viewer;
  }

  /** Connects and subscribes; afterwards it comes back by itself whenever its connection ends. */
  async start(): Promise<void> {
    this.api.on('block', (block) => this.told.push(block));
    this.api.on('disconnected', () => {
      this.disconnects += 1;
      void this.comeBack();
    });
    await this.api.connect();
    await this.api.subscribeBlock();
  }

  close(): void {
    this.closed = true;
    this.api.dispose();
  }

  /** As wallets do: connects, subscribes anew, and asks for the hashes of the heights between. */
  private async comeBack(): Promise<void> {
    const last = this.told.at(-1)?.height;
    await waitFor(
      async () => {
        // Not at once: the class clears up after it has told of the disconnect, and would take a new connection along.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        if (this.closed) return true;
        try {
          await this.api.connect();
          await this.api.subscribeBlock();
          const { bestHeight } = await this.api.getServerInfo();
          for (let height = (last ?? bestHeight) + 1; height <= bestHeight; height += 1) {
            this.caughtUp.set(height, (await this.api.getBlockHash(height)).hash);
          }
          this.returns += 1;
          return true;
        } catch {
          return false;
        }
      },
      { timeoutMs: 60_000, what: 'a client comes back' },
    );
  }
}

/** The public class. */
export class LinkViewer {
  readonly told: ToldBlock[] = [];
  readonly link: InstanceType<typeof Link>;
  disconnects = 0;

  constructor(servers: readonly string[], { throttleMs, pingMs }: { throttleMs?: number; pingMs?: number } = {}) {
    this.link = new Link({
      name: 'Ethereum',
      worker,
      server: [...servers],
      ...(throttleMs === undefined ? {} : { throttleBlockEvent: throttleMs }),
      ...(pingMs === undefined ? {} : { pingTimeout: pingMs }),
    });
    this.link.on('block', ({ blockHeight, blockHash }) => this.told.push({ height: blockHeight, hash: blockHash }));
    this.link.on('disconnected', () => (this.disconnects += 1));
  }

  async subscribe(): Promise<unknown> {
    return this.link.subscribe({ type: 'block' });
  }

  close(): void {
    this.link.dispose();
  }
}

/** The block as Blockbook tells it. */
export function asTold({ number, hash, ...block }: AnvilBlock): ToldBlock {
  const { baseFeePerGas, gasUsed, gasLimit } = block as unknown as Record<string, string>;
  return {
    height: Number(number),
    hash,
    evmData: {
      baseFeePerGas: decimal(baseFeePerGas),
      blockGasUsed: decimal(gasUsed),
      blockGasLimit: decimal(gasLimit),
    },
  };
}

function decimal(hex = '0x0'): string {
  return BigInt(hex).toString();
}
