/**
 * One container of a cluster. Its ports are published on fixed ports of this host, which stay over kill and start; beside
 * the default bridge, which those lead through, it is in the cluster's network, under its name.
 *
 *   running ──kill, stop──▶ ended ──start──▶ running     running ──pause──▶ paused ──resume──▶ running
 *   running ──cutOff──▶ running without the cluster's network ──reconnect──▶ running
 */
import { GenericContainer, Wait, type StartedNetwork } from 'testcontainers';
import { freePort } from '../free-port.js';
import { waitFor } from '../wait-for.js';
import { engine, ownerLabels, type EngineContainer, type EngineNetwork } from './engine.js';

const START_MS = 30_000;
const PROBE_MS = 1_000;
const STOP_GRACE_S = 30;
const LOG_LINES = 10_000;
const TAR_BLOCK_BYTES = 512;

interface ContainerFile {
  /** Where it is in the container. */
  readonly path: string;
  readonly content: string;
}

export interface ContainerOptions {
  /** Its name in the cluster's network. */
  readonly name: string;
  readonly image: string;
  readonly network: StartedNetwork;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: readonly ContainerFile[];
  /** Published ports. */
  readonly ports: readonly [number, ...number[]];
  /** On the first of the ports: answers 200 when it has started. */
  readonly startedPath: string;
  /** Its root file system cannot be written to; then it takes no `files`. */
  readonly readOnly?: boolean;
  readonly sysctls?: Readonly<Record<string, string>>;
}

/** With what testcontainers has no words for. */
class Described extends GenericContainer {
  /** Known as soon as there is a container, also where it does not start. */
  id: string | undefined;

  protected override containerCreated(id: string): Promise<void> {
    this.id = id;
    return Promise.resolve();
  }

  withHost(readOnly: boolean, sysctls: Readonly<Record<string, string>>): this {
    this.hostConfig.ReadonlyRootfs = readOnly;
    this.hostConfig.Sysctls = { ...sysctls };
    return this;
  }
}

export class TestContainer {
  private constructor(
    private readonly options: ContainerOptions,
    private readonly container: EngineContainer,
    private readonly network: EngineNetwork,
    private readonly hostPorts: ReadonlyMap<number, number>,
  ) {}

  /** Resolves when it has started. */
  static async start(options: ContainerOptions): Promise<TestContainer> {
    const { name, network, ports, startedPath } = options;
    const hostPorts = new Map<number, number>();
    for (const port of ports) hostPorts.set(port, await freePort());
    const described = new Described(options.image)
      .withHost(options.readOnly ?? false, options.sysctls ?? {})
      .withCommand([...options.command])
      .withNetwork(network)
      .withNetworkAliases(name)
      .withHostname(name)
      .withLabels({ ...ownerLabels(), 'dev.revcast.test.name': name })
      .withEnvironment({ ...options.env })
      .withCopyContentToContainer((options.files ?? []).map(({ path, content }) => ({ content, target: path })))
      .withExposedPorts(...[...hostPorts].map(([container, host]) => ({ container, host })))
      .withStartupTimeout(START_MS)
      .withWaitStrategy(Wait.forHttp(startedPath, ports[0]).withReadTimeout(PROBE_MS));
    const { container, network: networks } = await engine();
    try {
      const started = await described.start();
      const known = networks.getById(network.getId());
      return new TestContainer(options, container.getById(started.getId()), known, hostPorts);
    } catch (error) {
      const log = described.id === undefined ? '' : await removed(container.getById(described.id));
      throw new Error(`${name} did not start: ${log}`, { cause: error });
    }
  }

  get name(): string {
    return this.options.name;
  }

  /** host:port of one of its ports, absent: the first. */
  address(port = this.options.ports[0]): string {
    return `127.0.0.1:${this.hostPorts.get(port)}`;
  }

  get url(): string {
    return `http://${this.address()}`;
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    await this.container.kill({ signal: 'SIGKILL' });
    await this.container.wait();
  }

  /** SIGTERM to its process 1; the exit code, 137 if it had to be killed after STOP_GRACE_S. */
  async stop(): Promise<number> {
    await this.container.stop({ t: STOP_GRACE_S });
    return (await this.container.inspect()).State.ExitCode;
  }

  /** Again, with the files that it had; resolves when it has started. */
  async start(): Promise<void> {
    await this.container.start();
    await waitFor(async () => (await status(this.url + this.options.startedPath)) === 200, {
      timeoutMs: START_MS,
      what: `${this.name} has started`,
    });
  }

  /** Its processes stand still; its connections stay, and nothing answers. */
  async pause(): Promise<void> {
    await this.container.pause();
  }

  async resume(): Promise<void> {
    await this.container.unpause();
  }

  /** Any signal, to its process 1. */
  async signal(signal: NodeJS.Signals): Promise<void> {
    await this.container.kill({ signal });
  }

  /** Runs a command in it. */
  async exec(words: readonly string[]): Promise<{ readonly output: string; readonly exitCode: number }> {
    return (await engine()).container.exec(this.container, [...words]);
  }

  /** The files of one of its folders, by name. */
  async readFolder(folder: string): Promise<ReadonlyMap<string, Buffer>> {
    const chunks: Buffer[] = [];
    for await (const chunk of await this.container.getArchive({ path: folder })) chunks.push(chunk as Buffer);
    return filesOf(Buffer.concat(chunks));
  }

  /** Out of the cluster's network: nothing is refused, nothing is reset, nothing comes. Published ports go on. */
  async cutOff(): Promise<void> {
    await this.network.disconnect({ Container: this.container.id });
  }

  async reconnect(): Promise<void> {
    const EndpointConfig = { Aliases: [this.name] };
    await this.network.connect({ Container: this.container.id, EndpointConfig });
  }

  /** Whether its health check says so: 'starting', 'healthy', 'unhealthy'; 'none' without one. */
  async health(): Promise<string> {
    return (await this.container.inspect()).State.Health?.Status ?? 'none';
  }

  /** What it has written to stdout and stderr, the newest lines, each with its time. */
  async log(): Promise<string> {
    const raw = await this.container.logs({ stdout: true, stderr: true, timestamps: true, tail: LOG_LINES });
    return withoutFrames(raw);
  }

  async remove(): Promise<void> {
    await this.container.remove({ force: true, v: true });
  }
}

/** Removes it; what it had logged. */
async function removed(container: EngineContainer): Promise<string> {
  const log = withoutFrames(await container.logs({ stdout: true, stderr: true, tail: LOG_LINES }));
  await container.remove({ force: true, v: true });
  return log;
}

/** Runs a command that ends, and removes its container. */
export async function runToEnd(
  options: Pick<ContainerOptions, 'image' | 'network' | 'command' | 'env'>,
): Promise<{ readonly exitCode: number; readonly output: string }> {
  const { dockerode } = (await engine()).container;
  const container = await dockerode.createContainer({
    Image: options.image,
    Cmd: [...options.command],
    Env: Object.entries(options.env ?? {}).map(([key, value]) => `${key}=${value}`),
    Labels: ownerLabels(),
    HostConfig: { NetworkMode: options.network.getName(), ReadonlyRootfs: true },
  });
  try {
    await container.start();
    const { StatusCode } = (await container.wait()) as { StatusCode: number };
    const output = withoutFrames(await container.logs({ stdout: true, stderr: true }));
    return { exitCode: StatusCode, output };
  } finally {
    await container.remove({ force: true, v: true });
  }
}

/** The status; undefined when nothing answered. */
export async function status(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return undefined;
  }
}

/** The engine's stream: before each piece eight bytes, the last four its length. */
function withoutFrames(raw: Buffer): string {
  const texts: Buffer[] = [];
  for (let at = 0; at + 8 <= raw.length;) {
    const length = raw.readUInt32BE(at + 4);
    texts.push(raw.subarray(at + 8, at + 8 + length));
    at += 8 + length;
  }
  return Buffer.concat(texts).toString();
}

/** The files of a tar archive, by the last part of their names: blocks of 512 bytes, a head before each file. */
function filesOf(archive: Buffer): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (let at = 0; at + TAR_BLOCK_BYTES <= archive.length;) {
    const text = (from: number, to: number) => archive.toString('utf8', at + from, at + to).split('\0')[0] ?? '';
    const [name, size, kind] = [text(0, 100), Number.parseInt(text(124, 136), 8) || 0, text(156, 157)];
    const begin = at + TAR_BLOCK_BYTES;
    if (kind === '0') files.set(name.split('/').at(-1) ?? '', archive.subarray(begin, begin + size));
    at = begin + Math.ceil(size / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
  }
  return files;
}
