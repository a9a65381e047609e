/**
 * Three nats-servers that form a JetStream cluster, each a process with its own port and directory. Nodes that start at
 * the same moment now and then form a group of two that never takes the third (2.10.27, about one start in ten;
 * no stream with three replicas can be placed then), so they start one after the other, are looked at, and
 * start afresh where that happened.
 */
import { rm } from 'node:fs/promises';
import { freePort } from './free-port.js';
import { NatsServer } from './nats-server.js';
import { waitFor } from './wait-for.js';

const NODES = 3;
const FORMATIONS = 5;
const FORM_MS = 6_000;

interface Node {
  readonly server: NatsServer;
  readonly monitorPort: number;
}

export class NatsCluster {
  private constructor(private readonly members: readonly Node[]) {}

  /** Not started yet. */
  static async prepare(): Promise<NatsCluster> {
    const routePorts: number[] = [];
    for (let i = 0; i < NODES; i += 1) routePorts.push(await freePort());
    const members: Node[] = [];
    for (const [index, port] of routePorts.entries()) {
      const others = routePorts.filter((other) => other !== port);
      const routes = others.map((other) => `"nats://127.0.0.1:${other}"`).join(', ');
      const monitorPort = await freePort();
      const config = `server_name: node-${index}
http: "127.0.0.1:${monitorPort}"
cluster { name: revcast, listen: "127.0.0.1:${port}", routes: [${routes}] }`;
      members.push({ server: await NatsServer.prepare({ config }), monitorPort });
    }
    return new NatsCluster(members);
  }

  get nodes(): readonly NatsServer[] {
    return this.members.map(({ server }) => server);
  }

  /** The addresses of all nodes, as NATS_URL has them. */
  get url(): string {
    return this.nodes.map(({ url }) => url).join(',');
  }

  /** Resolves when all three are one group. */
  async start(): Promise<void> {
    for (let formation = 1; ; formation += 1) {
      for (const node of this.nodes) await node.start();
      try {
        await waitFor(() => this.formed(), { timeoutMs: FORM_MS, what: 'three nodes form a cluster' });
        return;
      } catch (error) {
        if (formation === FORMATIONS) throw error;
        for (const node of this.nodes) {
          await node.kill();
          await rm(node.storeDirectory, { recursive: true, force: true });
        }
      }
    }
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

  private async formed(): Promise<boolean> {
    const sizes = await Promise.all(this.members.map(({ monitorPort }) => groupSize(monitorPort)));
    return sizes.every((size) => size === NODES);
  }
}

/** How many nodes this one takes the JetStream group to have. */
async function groupSize(monitorPort: number): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${monitorPort}/jsz`);
  const { meta_cluster: group } = (await answer.json()) as {
    meta_cluster?: { cluster_size?: number; leader?: string };
  };
  return group?.leader === undefined ? 0 : (group.cluster_size ?? 0);
}
