/**
 * An Ethereum node that misbehaves as told: a real WebSocket server with a chain of its own making. `answer` may replace
 * what it answers to a call; SILENCE answers nothing.
 */
import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

export const SILENCE = Symbol('no answer');
/** Sent as it is, instead of a JSON-RPC message. */
export class RawAnswer {
  constructor(readonly text: string) {}
}
/** Answered as a JSON-RPC error. */
export class ErrorAnswer {
  constructor(
    readonly code: number,
    readonly message: string,
  ) {}
}

export interface ScriptedBlock {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: string;
  readonly gasUsed: string;
  readonly transactions: readonly string[];
}

/** `length` blocks from genesis on; another `branch` gives other hashes from height `fork` on. */
export function scriptedChain(length: number, branch = 'main', fork = 0): ScriptedBlock[] {
  const blocks: ScriptedBlock[] = [];
  for (let height = 0; height < length; height += 1) {
    const parentHash = blocks.at(-1)?.hash ?? `0x${'0'.repeat(64)}`;
    const name = `${parentHash}/${height < fork ? 'main' : branch}`;
    blocks.push({
      number: `0x${height.toString(16)}`,
      hash: `0x${createHash('sha256').update(name).digest('hex')}`,
      parentHash,
      timestamp: `0x${(1_700_000_000 + height).toString(16)}`,
      gasUsed: '0x5208',
      transactions: [],
    });
  }
  return blocks;
}

export class ScriptedNode {
  chain: readonly ScriptedBlock[];
  announces = true;
  /** What to answer instead; undefined: the proper answer. */
  answer: (method: string, params: readonly unknown[]) => unknown = () => undefined;
  readonly calls: string[] = [];
  /** Connections that were accepted. */
  accepted = 0;

  private constructor(
    private readonly server: WebSocketServer,
    chain: readonly ScriptedBlock[],
  ) {
    this.chain = chain;
    server.on('connection', (socket) => {
      this.accepted += 1;
      socket.on('message', (data: Buffer) => {
        this.called(socket, data.toString());
      });
      socket.on('error', () => {
        socket.terminate();
      });
    });
  }

  static async start(chain: readonly ScriptedBlock[]): Promise<ScriptedNode> {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    await new Promise((resolve) => server.once('listening', resolve));
    return new ScriptedNode(server, chain);
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Makes this the node's chain, and announces its newest block. */
  grow(chain: readonly ScriptedBlock[]): void {
    this.chain = chain;
    if (this.announces) this.announce(chain.at(-1));
  }

  announce(header: unknown): void {
    const params = { subscription: '0x1', result: header };
    this.sendAll(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }));
  }

  sendAll(text: string): void {
    for (const socket of this.server.clients) socket.send(text);
  }

  async stop(): Promise<void> {
    for (const socket of this.server.clients) socket.terminate();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }

  private called(socket: WebSocket, text: string): void {
    const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: unknown[] };
    this.calls.push(method);
    const replaced = this.answer(method, params);
    const answer = replaced === undefined ? this.properAnswer(method, params) : replaced;
    if (answer === SILENCE) return;
    if (answer instanceof RawAnswer) socket.send(answer.text);
    else if (answer instanceof ErrorAnswer) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: answer.code, message: answer.message } }));
    } else socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: answer }));
  }

  private properAnswer(method: string, [at]: readonly unknown[]): unknown {
    if (method === 'eth_subscribe') return '0x1';
    if (method === 'eth_getBlockByHash') return this.chain.find(({ hash }) => hash === at) ?? null;
    if (method !== 'eth_getBlockByNumber') return new ErrorAnswer(-32_601, 'no such method');
    return (at === 'latest' ? this.chain.at(-1) : this.chain[Number(at)]) ?? null;
  }
}
