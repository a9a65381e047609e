/** Clients of Blockbook at an edge without a listener, whose room `eth` a test fills with blocks. */
import { Blocks } from '../../services/edge/blocks.js';
import { blockbookMethods, coinOf } from '../../services/edge/protocols/blockbook.js';
import { plainProtocol } from '../../services/edge/protocols/plain.js';
import type { EdgeSettings } from '../../services/edge/settings.js';
import type { Entry } from '../../services/log/log.js';
import type { History } from './edge-doubles.js';
import { EdgeHarness, type Client } from './edge-parts.js';

/** What a test says of a block; its hash follows from height and branch. */
export interface TestBlock {
  readonly height: number;
  readonly branch?: string;
  readonly reorg?: { readonly forkHeight: number | null };
}

export function hashOf({ height, branch = 'a' }: TestBlock): string {
  return `0x${branch}${height}`;
}

export function blockText(block: TestBlock): string {
  const { height, reorg } = block;
  return JSON.stringify({ height, hash: hashOf(block), parentHash: '0x', ...(reorg === undefined ? {} : { reorg }) });
}

export class BlockEdge {
  readonly edge: EdgeHarness;
  readonly history: History;
  readonly blocks: Blocks;
  private readonly protocol;

  constructor(
    settings: Partial<EdgeSettings> = {},
    { maxBlocks = 1_000, keep }: { maxBlocks?: number; keep?: number } = {},
  ) {
    this.edge = new EdgeHarness(settings, keep === undefined ? {} : { keep });
    this.history = this.edge.history('eth');
    this.blocks = new Blocks(this.edge.parts, 'eth', maxBlocks);
    this.protocol = plainProtocol(blockbookMethods(coinOf(this.edge.parts.settings), 'eth', this.blocks));
  }

  connect(deflates = false): Client {
    return this.edge.connect({ deflates, protocol: this.protocol });
  }

  /** Has the client say something. */
  say({ session }: Client, request: object): void {
    const bytes = Uint8Array.from(Buffer.from(JSON.stringify(request)));
    this.edge.commands.run(session, this.protocol.parse(bytes.buffer, false));
  }

  /** The answer to a request, which may take the clock to move. */
  async answer(client: Client, method: string, params: object = {}): Promise<unknown> {
    const at = client.socket.messages.length;
    this.say(client, { id: 'q', method, params });
    await this.edge.clock.advance(50);
    const data = client.socket.messages.slice(at).map((text) => JSON.parse(text) as { id: unknown; data: unknown });
    return data.find(({ id }) => id === 'q')?.data;
  }

  async viewer(id = '0', deflates = false): Promise<Client> {
    const client = this.connect(deflates);
    this.say(client, { id, method: 'subscribeNewBlock', params: {} });
    await this.edge.clock.advance(50);
    return client;
  }

  /** Adds blocks to the room, an entry each. */
  async add(...blocks: readonly TestBlock[]): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const block of blocks) entries.push(await this.history.add(1, () => blockText(block)));
    return entries;
  }

  /** Adds blocks and delivers them. */
  async publish(...blocks: readonly TestBlock[]): Promise<void> {
    for (const entry of await this.add(...blocks)) {
      this.edge.live.deliver(entry);
      await this.edge.settle(2);
    }
    await this.edge.settle();
  }
}

/** What a client was told of blocks, `id height hash` each, and other answers as `id` and their data. */
export function told({ socket }: Client): string[] {
  return socket.messages.map((text) => {
    const { id, data } = JSON.parse(text) as { id: unknown; data: { height?: number; hash?: string } };
    return data.height === undefined
      ? `${String(id)} ${JSON.stringify(data)}`
      : `${String(id)} ${data.height} ${data.hash}`;
  });
}

export function heights(from: number, to: number, branch = 'a'): TestBlock[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => ({ height: from + index, branch }));
}
