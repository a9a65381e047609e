/**
 * A real nats-server process with JetStream on disk, in a directory of its own under the system's temporary one, on a
 * port that stays the same when it is stopped and started again. The binary is NATS_SERVER_BIN, or what
 * deploy/nats/fetch-server.sh finds.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from './free-port.js';
import { waitFor } from './wait-for.js';

const FETCH = fileURLToPath(new URL('../../deploy/nats/fetch-server.sh', import.meta.url));
const START_TIMEOUT_MS = 15_000;
const STOP_TIMEOUT_MS = 10_000;

export interface NatsServerOptions {
  /** 0 or absent: a free one is chosen. */
  readonly port?: number;
  /** Address to listen on; absent: 127.0.0.1. */
  readonly host?: string;
  /** Where JetStream keeps its files; absent: in its own directory. */
  readonly storeDirectory?: string;
  /** Lines for the server's configuration file, beside port and JetStream. */
  readonly config?: string;
  /** Default true. */
  readonly jetStream?: boolean;
  /** For what the configuration takes from the environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export class NatsServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly binary: string,
    readonly port: number,
    readonly directory: string,
    private readonly host: string,
    /** Where JetStream keeps its files. */
    readonly storeDirectory: string,
    /** Of the process, from its next start on. */
    public env: Readonly<Record<string, string>>,
  ) {}

  /** Not started yet. */
  static async prepare(options: NatsServerOptions = {}): Promise<NatsServer> {
    const directory = await mkdtemp(join(tmpdir(), 'revcast-nats-'));
    const port = options.port ?? (await freePort());
    const host = options.host ?? '127.0.0.1';
    const store = options.storeDirectory ?? join(directory, 'store');
    const server = new NatsServer(await serverBinary(), port, directory, host, store, options.env ?? {});
    await writeFile(
      server.configFile,
      [
        `listen: "${host}:${port}"`,
        `pid_file: "${join(directory, 'pid')}"`,
        options.jetStream === false ? '' : `jetstream { store_dir: "${store}", max_file_store: 16GB }`,
        options.config ?? '',
      ].join('\n'),
    );
    return server;
  }

  /** Prepared and started. */
  static async start(options: NatsServerOptions = {}): Promise<NatsServer> {
    const server = await NatsServer.prepare(options);
    await server.start();
    return server;
  }

  get url(): string {
    return `nats://${this.host}:${this.port}`;
  }

  /** What it has logged so far. */
  readLog(): Promise<string> {
    return readFile(this.logFile, 'utf8');
  }

  private get logFile(): string {
    return join(this.directory, 'server.log');
  }

  private get configFile(): string {
    return join(this.directory, 'nats.conf');
  }

  /** Resolves when it accepts connections. Same port and directory each time. */
  async start(): Promise<void> {
    if (this.child !== undefined) throw new Error('the server runs already');
    const child = spawn(this.binary, ['-c', this.configFile, '-l', this.logFile], {
      stdio: 'ignore',
      env: { ...process.env, ...this.env },
    });
    this.child = child;
    child.once('exit', () => {
      if (this.child === child) this.child = undefined;
    });
    try {
      await waitFor(
        async () => {
          if (child.exitCode !== null) throw new Error('nats-server ended at once');
          return accepts(this.host, this.port);
        },
        { timeoutMs: START_TIMEOUT_MS, what: 'nats-server accepts connections' },
      );
    } catch (error) {
      const log = await this.readLog().catch(() => '(no log)');
      throw new Error(`nats-server did not start: ${log.slice(-2_000)}`, { cause: error });
    }
  }

  /** SIGTERM: it leaves in order. */
  stop(): Promise<void> {
    return this.end('SIGTERM');
  }

  /** SIGKILL, as a crash. */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /**
   * As a container of it ends: `preStop`, a shell command in which the server is process 1, then SIGTERM. Resolves when it
   * has ended, however long that takes.
   */
  async leave(preStop: string): Promise<void> {
    const child = this.child;
    if (child?.pid === undefined) throw new Error('the server does not run');
    const exited = once(child, 'exit');
    const command = preStop.replace('nats-server', `'${this.binary}'`).replace(/=1\b/u, `=${child.pid}`);
    await promisify(execFile)('/bin/sh', ['-c', command]);
    child.kill('SIGTERM');
    await exited;
  }

  /** Throws when it does not run. */
  get pid(): number {
    const pid = this.child?.pid;
    if (pid === undefined) throw new Error('the server does not run');
    return pid;
  }

  /** SIGSTOP: the connections stay, nothing answers. Resolves when it stands still. */
  async pause(): Promise<void> {
    const { pid } = this;
    process.kill(pid, 'SIGSTOP');
    await waitFor(async () => /\) T /u.test(await readFile(`/proc/${pid}/stat`, 'utf8')), {
      what: 'nats-server stopped',
    });
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }

  /** Copies its files as they are at one moment, while it stands still; the answer puts them back and starts it anew. */
  async copyStore(): Promise<() => Promise<void>> {
    const copy = join(this.directory, 'store-copy');
    await this.pause();
    await cp(this.storeDirectory, copy, { recursive: true });
    this.resume();
    return async () => {
      await this.stop();
      await rm(this.storeDirectory, { recursive: true });
      await cp(copy, this.storeDirectory, { recursive: true });
      await this.start();
    };
  }

  /** Ends it and removes its files. */
  async dispose(): Promise<void> {
    await this.kill();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.child;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
  }
}

async function serverBinary(): Promise<string> {
  const given = process.env['NATS_SERVER_BIN'];
  if (given !== undefined) return given;
  const { stdout } = await promisify(execFile)('bash', [FETCH]);
  return stdout.trim();
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, host);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}
