/** Three nats-servers that form a JetStream cluster, each a process with its own port and directory. */
import { freePort, NatsServer } from './nats-server.js';

const NODES = 3;

export class NatsCluster {
  private constructor(readonly nodes: readonly NatsServer[]) {}

  /** Not started yet. */
  static async prepare(): Promise<NatsCluster> {
    const routePorts: number[] = [];
    for (let i = 0; i < NODES; i += 1) routePorts.push(await freePort());
    const routes = routePorts.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
    const nodes: NatsServer[] = [];
    for (const [index, port] of routePorts.entries()) {
      const config = `server_name: node-${index}
cluster { name: revcast, listen: "127.0.0.1:${port}", routes: [${routes}] }`;
      nodes.push(await NatsServer.prepare({ config }));
    }
    return new NatsCluster(nodes);
  }

  /** The addresses of all nodes, as NATS_URL has them. */
  get url(): string {
    return this.nodes.map(({ url }) => url).join(',');
  }

  async start(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.start()));
  }

  /** The node that the server calls `name`. */
  node(name: string): NatsServer {
    const node = this.nodes[Number(/^node-(\d)$/u.exec(name)?.[1])];
    if (node === undefined) throw new Error(`no node is called ${name}`);
    return node;
  }

  async dispose(): Promise<void> {
    for (const node of this.nodes) await node.dispose();
  }
}
