/**
 * A real Ethereum node for tests: anvil, from the package @foundry-rs/anvil. Mines on demand unless `blockTimeSeconds`
 * is given. It keeps its port over stop, kill and start; its chain only with a `stateFile` and a `stop` (which writes it).
 * Limits: START_MS until it listens, STOP_MS for a stop before it is killed. It dies with the test process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { asError } from '../../services/shared/errors.js';

const START_MS = 30_000;
const STOP_MS = 10_000;
const RPC_MS = 10_000;
const KEPT_OUTPUT_CHARS = 4_000;

/** The node's binary, from the package for this platform. */
function anvilBinary(): string {
  const resolve = createRequire(import.meta.url).resolve;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`;
  const binary = join(
    dirname(resolve(`${name}/package.json`)),
    'bin',
    process.platform === 'win32' ? 'anvil.exe' : 'anvil',
  );
  if (!existsSync(binary)) throw new Error(`${name} has no binary at ${binary}`);
  return binary;
}

export interface AnvilOptions {
  /** 0 or absent: any free one. */
  readonly port?: number;
  /** Mines a block so often; absent: only when asked. */
  readonly blockTimeSeconds?: number;
  /** Read at start, written at stop. */
  readonly stateFile?: string;
  readonly args?: readonly string[];
}

/** What tests look at in a block. */
export interface AnvilBlock {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestamp: string;
  readonly transactions: readonly string[];
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class Anvil {
  private child: ChildProcess | undefined;
  private lastPort: number;

  private constructor(private readonly options: AnvilOptions) {
    this.lastPort = options.port ?? 0;
  }

  static async start(options: AnvilOptions = {}): Promise<Anvil> {
    const anvil = new Anvil(options);
    await anvil.start();
    return anvil;
  }

  get port(): number {
    return this.lastPort;
  }

  /** For WebSocket clients. */
  get url(): string {
    return `ws://127.0.0.1:${this.lastPort}`;
  }

  /** Starts it again, on its port, after `stop` or `kill`. A port that is still being freed is tried again. */
  async start(): Promise<void> {
    const deadline = Date.now() + START_MS;
    for (;;) {
      try {
        await this.spawnOnce(deadline - Date.now());
        return;
      } catch (error) {
        const inUse = asError(error).message.includes('in use');
        if (!inUse || Date.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  }

  /** Ends it gently (it writes its state), or with SIGKILL when it does not end. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** Stops its clock: connections stay open and silent. */
  pause(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }

  /** The result of a JSON-RPC call over HTTP. */
  async rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T> {
    const response = await fetch(`http://127.0.0.1:${this.lastPort}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(RPC_MS),
    });
    const answer = (await response.json()) as { result?: T; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
    return answer.result as T;
  }

  async mine(blocks = 1): Promise<void> {
    await this.rpc('anvil_mine', `0x${blocks.toString(16)}`);
  }

  /** Replaces the last `depth` blocks by others. Only blocks mined since the start can be replaced. */
  async reorg(depth: number): Promise<void> {
    await this.rpc('anvil_reorg', depth, []);
  }

  async height(): Promise<number> {
    return Number(await this.rpc<string>('eth_blockNumber'));
  }

  async block(at: number | 'latest' = 'latest'): Promise<AnvilBlock> {
    return this.rpc<AnvilBlock>('eth_getBlockByNumber', at === 'latest' ? at : `0x${at.toString(16)}`, false);
  }

  /** Hashes of the node's chain from height `from` to its newest block. */
  async hashes(from: number): Promise<string[]> {
    const found: string[] = [];
    const to = await this.height();
    for (let height = from; height <= to; height += 1) found.push((await this.block(height)).hash);
    return found;
  }

  private arguments(): string[] {
    const { blockTimeSeconds, stateFile, args = [] } = this.options;
    return [
      '--host',
      '127.0.0.1',
      '--port',
      String(this.lastPort),
      ...(blockTimeSeconds === undefined ? ['--no-mining'] : ['--block-time', String(blockTimeSeconds)]),
      ...(stateFile === undefined ? [] : ['--state', stateFile]),
      ...args,
    ];
  }

  private async spawnOnce(timeoutMs: number): Promise<void> {
    const child = spawn(anvilBinary(), this.arguments(), { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    child.once('exit', () => running.delete(child));
    let output = '';
    // Goes on reading for as long as it runs: a full pipe would stop it.
    const port = await new Promise<number>((resolve, reject) => {
      const fail = (what: string) => {
        clearTimeout(timer);
        child.kill('SIGKILL');
        reject(new Error(`anvil ${what}: ${output}`));
      };
      const timer = setTimeout(() => {
        fail(`did not listen within ${timeoutMs} ms`);
      }, timeoutMs);
      const read = (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-KEPT_OUTPUT_CHARS);
        const listening = /Listening on 127\.0\.0\.1:(\d+)/u.exec(output);
        if (listening === null) return;
        clearTimeout(timer);
        resolve(Number(listening[1]));
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('error', (error) => {
        fail(error.message);
      });
      child.once('exit', (code) => {
        fail(`ended with code ${code}`);
      });
    });
    this.child = child;
    this.lastPort = port;
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => {
      child.once('exit', () => {
        resolve();
      });
    });
    child.kill('SIGCONT');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(timer);
  }
}
