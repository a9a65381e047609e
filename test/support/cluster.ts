/**
 * revcast as separate processes of the built program, on a real nats-server: what an operator runs. Each service keeps
 * its port over kill and start. Logs go to a file each in the cluster's folder, shown when something does not start.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.js';
import { NatsServer } from './nats-server.js';
import { waitFor } from './wait-for.js';

const PROGRAM = fileURLToPath(new URL('../../dist/services/cli/main.js', import.meta.url));
const READY_MS = 30_000;
const STOP_MS = 15_000;
const SHOWN_LOG_CHARS = 3_000;

export type ServiceKind = 'producer' | 'revision' | 'edge';

export interface ServiceOptions {
  /** Flags of its command. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where it finds NATS; absent: at the cluster's server. */
  readonly nats?: string;
  /** Address to listen on; absent: 127.0.0.1. */
  readonly host?: string;
  /** Words before the program: a command that becomes it, such as `ip netns exec NAME`. */
  readonly prefix?: readonly string[];
}

export class ServiceProcess {
  private child: ChildProcess | undefined;

  constructor(
    readonly name: string,
    private readonly kind: ServiceKind,
    readonly port: number,
    private readonly options: ServiceOptions,
    private readonly logFile: string,
  ) {}

  get url(): string {
    return `http://${this.host}:${this.port}`;
  }

  private get host(): string {
    return this.options.host ?? '127.0.0.1';
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** What it has logged so far. */
  get log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  start(): void {
    const log = openSync(this.logFile, 'a');
    const { prefix = [], args = [], env = {} } = this.options;
    const address = [`--${this.kind}-host`, this.host, `--${this.kind}-port`, String(this.port)];
    const [program, ...words] = [...prefix, process.execPath, PROGRAM, this.kind, ...address, ...args];
    this.child = spawn(program ?? '', words, { stdio: ['ignore', log, log], env: { ...process.env, ...env } });
    closeSync(log);
  }

  /** SIGSTOP: its connections stay, nothing answers. */
  pause(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }

  /** Resolves when /readyz says so. */
  async ready(): Promise<void> {
    try {
      await waitFor(
        async () => {
          if (this.child === undefined || this.child.exitCode !== null) throw new Error('it ended');
          return (await status(`${this.url}/readyz`)) === 200;
        },
        { timeoutMs: READY_MS, what: `${this.name} is ready` },
      );
    } catch (error) {
      throw new Error(`${this.name} is not ready: ${this.log.slice(-SHOWN_LOG_CHARS)}`, { cause: error });
    }
  }

  /** kill -9 */
  kill(): Promise<void> {
    return this.end('SIGKILL');
  }

  /** SIGTERM; the exit code. */
  async stop(): Promise<number | null> {
    const { child } = this;
    await this.end('SIGTERM');
    return child?.exitCode ?? null;
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(timer);
  }
}

export class Cluster {
  private constructor(
    readonly nats: NatsServer,
    private readonly directory: string,
    private readonly services: ServiceProcess[],
  ) {}

  /** A nats-server, started if it is not given, and nothing else yet. */
  static async create(nats?: NatsServer): Promise<Cluster> {
    const directory = await mkdtemp(join(tmpdir(), 'revcast-cluster-'));
    return new Cluster(nats ?? (await NatsServer.start()), directory, []);
  }

  /** Starts a service; `options` may be just the flags of its command. It is not awaited to be ready. */
  async add(
    kind: ServiceKind,
    name: string,
    options: ServiceOptions | readonly string[] = {},
  ): Promise<ServiceProcess> {
    const given: ServiceOptions = isFlags(options) ? { args: options } : options;
    const args = ['--nats', given.nats ?? this.nats.url, ...(given.args ?? [])];
    const log = join(this.directory, `${name}.log`);
    const service = new ServiceProcess(name, kind, await freePort(), { ...given, args }, log);
    this.services.push(service);
    service.start();
    return service;
  }

  async ready(): Promise<void> {
    await Promise.all(this.services.map((service) => service.ready()));
  }

  /** Kills everything and removes its files. */
  async dispose(): Promise<void> {
    await Promise.all(this.services.map((service) => service.kill()));
    await this.nats.dispose();
    await rm(this.directory, { recursive: true, force: true });
  }
}

function isFlags(options: ServiceOptions | readonly string[]): options is readonly string[] {
  return Array.isArray(options);
}

async function status(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1_000) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return undefined;
  }
}
