/**
 * The whole of revcast in containers, as it is deployed: three NATS servers with replicas 3, a producer, two revision
 * services and edges, each the product's image with a root file system that cannot be written to, in a network of their
 * own. Tests reach each over a published port. `dispose` removes all; after a crash the next run does.
 */
import { Network, type StartedNetwork } from 'testcontainers';
import { waitFor } from '../wait-for.js';
import { image, testName, sweep } from './engine.js';
import { NatsNodes } from './nats-nodes.js';
import { asUser, type NatsUser } from '../nats-users.js';
import { runToEnd, status, TestContainer } from './test-container.js';

const READY_MS = 60_000;
const SHOWN_LOG_LINES = 40;
const PORTS = { producer: 8081, revision: 8082, edge: 8080 } as const;

export type ServiceKind = keyof typeof PORTS;

export interface ClusterOptions {
  readonly edges?: number;
  /** More environment of a service: its settings. */
  readonly env?: (kind: ServiceKind, name: string) => Readonly<Record<string, string>>;
}

export class ContainerCluster {
  private readonly services = new Map<string, { readonly kind: ServiceKind; readonly container: TestContainer }>();

  private constructor(
    private readonly options: ClusterOptions,
    private readonly network: StartedNetwork,
    readonly nats: NatsNodes,
  ) {}

  /** Everything is ready: producer-1, revision-1 and -2, edge-1 to edge-N (default 3). */
  static async start(options: ClusterOptions = {}): Promise<ContainerCluster> {
    await sweep();
    const network = await new Network({ nextUuid: testName }).start();
    const nats = await NatsNodes.start(network).catch(async (error: unknown) => {
      await network.stop();
      throw error;
    });
    const cluster = new ContainerCluster(options, network, nats);
    try {
      await cluster.setUp();
      const edges = Array.from({ length: options.edges ?? 3 }, (_, index) => `edge-${index + 1}`);
      await Promise.all([
        cluster.add('producer', 'producer-1'),
        cluster.add('revision', 'revision-1'),
        cluster.add('revision', 'revision-2'),
        ...edges.map((name) => cluster.add('edge', name)),
      ]);
      await cluster.ready();
    } catch (error) {
      await cluster.showLogs();
      await cluster.dispose();
      throw error;
    }
    return cluster;
  }

  /** Starts one more; it is not awaited to be ready. */
  async add(kind: ServiceKind, name: string): Promise<TestContainer> {
    const container = await TestContainer.start({
      name,
      image: image('REVCAST_IMAGE'),
      network: this.network,
      command: [kind],
      env: { ...this.logEnv(kind), ...this.options.env?.(kind, name) },
      ports: [PORTS[kind]],
      startedPath: '/healthz',
      readOnly: true,
      // As deploy/compose.yaml has it: slow readers are seen early, and hold little in the kernel.
      sysctls: kind === 'edge' ? { 'net.ipv4.tcp_notsent_lowat': '32768' } : {},
    });
    this.services.set(name, { kind, container });
    return container;
  }

  /** `revcast setup`, as the user who may make the streams. */
  private async setUp(): Promise<void> {
    const env = this.logEnv('admin');
    const { exitCode, output } = await runToEnd({
      image: image('REVCAST_IMAGE'),
      network: this.network,
      command: ['setup'],
      env,
    });
    if (exitCode !== 0) throw new Error(`revcast setup ended with ${exitCode}: ${output}`);
  }

  private logEnv(user: NatsUser): Record<string, string> {
    return { NATS_URL: this.nats.url, LOG_REPLICAS: '3', ...asUser(user) };
  }

  /** Removes it for good, as a deployment that is scaled down does: SIGTERM first. Its exit code. */
  async retire(name: string): Promise<number> {
    const container = this.service(name);
    const code = await container.stop();
    this.services.delete(name);
    await container.remove();
    return code;
  }

  service(name: string): TestContainer {
    const service = this.services.get(name);
    if (service === undefined) throw new Error(`there is no ${name}`);
    return service.container;
  }

  /** Those of a kind, whether they run or not. */
  all(kind: ServiceKind): readonly TestContainer[] {
    return [...this.services.values()].filter((service) => service.kind === kind).map(({ container }) => container);
  }

  /** Base addresses of those of a kind. */
  urls(kind: ServiceKind): readonly [string, ...string[]] {
    const [first, ...others] = this.all(kind).map(({ url }) => url);
    if (first === undefined) throw new Error(`there is no ${kind}`);
    return [first, ...others];
  }

  /** Resolves when these, absent: all services, say that they are ready. */
  async ready(...names: readonly string[]): Promise<void> {
    const containers = names.length === 0 ? [...this.services.keys()] : names;
    await Promise.all(
      containers.map((name) =>
        waitFor(async () => (await status(`${this.service(name).url}/readyz`)) === 200, {
          timeoutMs: READY_MS,
          what: `${name} is ready`,
        }),
      ),
    );
  }

  /** The newest lines of every container's log, for a test that failed. */
  async showLogs(): Promise<void> {
    for (const container of [...this.nats.nodes, ...[...this.services.values()].map((service) => service.container)]) {
      const lines = (await container.log()).trimEnd().split('\n').slice(-SHOWN_LOG_LINES);
      console.info(`--- ${container.name}\n${lines.join('\n')}`);
    }
  }

  async dispose(): Promise<void> {
    const services = [...this.services.values()].map(({ container }) => container);
    await Promise.all([...services, ...this.nats.nodes].map((container) => container.remove()));
    await this.network.stop();
  }
}
