/**
 * Three NATS servers in containers, with deploy/nats' JetStream and users, one JetStream group of exactly three. Nodes that start together now and then form a
 * group of two that never takes the third, so they start one after the other, are looked at, and are made anew
 * where that happened. Their files are in the containers: kept over kill and start, gone with them.
 */
import { readFileSync } from 'node:fs';
import type { StartedNetwork } from 'testcontainers';
import { STREAM } from '../../../services/log/subjects.js';
import { waitFor } from '../wait-for.js';
import { image } from './engine.js';
import { passwordVariables } from '../nats-users.js';
import { TestContainer } from './test-container.js';

export const CLIENT_PORT = 4222;
const ROUTES = 6222;
const MONITOR = 8222;
/** Included by each node's configuration, from its own folder. */
const DEPLOYED = ['jetstream.conf', 'users.conf'].map((name) => ({
  name,
  content: readFileSync(new URL(name, new URL('../../../deploy/nats/', import.meta.url)), 'utf8'),
}));
const FOLDER = '/etc/nats';
const CONFIG = `${FOLDER}/nats.conf`;
const NAMES = ['nats-1', 'nats-2', 'nats-3'] as const;
const FORMATIONS = 5;
const FORM_MS = 8_000;
const ELECTION_MS = 30_000;

export class NatsNodes {
  private constructor(readonly nodes: readonly TestContainer[]) {}

  static async start(network: StartedNetwork): Promise<NatsNodes> {
    for (let formation = 1; ; formation += 1) {
      const nodes: TestContainer[] = [];
      const group = new NatsNodes(nodes);
      let startedAll = false;
      try {
        for (const name of NAMES) nodes.push(await startNode(name, network));
        startedAll = true;
        await group.formed(FORM_MS);
        return group;
      } catch (error) {
        const logs = await Promise.all(nodes.map((node) => node.log()));
        await Promise.all(nodes.map((node) => node.remove()));
        // A server that does not start will not do so next time.
        if (!startedAll || formation === FORMATIONS) {
          throw new Error(`no group of three: ${logs.join('\n')}`, { cause: error });
        }
      }
    }
  }

  /** As NATS_URL has it, inside the cluster's network. */
  get url(): string {
    return NAMES.map((name) => `nats://${name}:${CLIENT_PORT}`).join(',');
  }

  /** Resolves when each node takes the group to have three members. */
  async formed(timeoutMs = ELECTION_MS): Promise<void> {
    await waitFor(
      async () => {
        const sizes = await Promise.all(this.nodes.map((node) => groupSize(node)));
        return sizes.every((size) => size === NAMES.length);
      },
      { timeoutMs, what: 'three nodes form a group' },
    );
  }

  /** The node that leads the stream of revisions, as all say. */
  leader(): Promise<TestContainer> {
    return this.agreedLeader(this.nodes, 'the stream has a leader');
  }

  /** The leader that the other nodes agree on instead of this one, as soon as they do. */
  async deposed(node: TestContainer): Promise<TestContainer> {
    return this.agreedLeader(
      this.nodes.filter((other) => other !== node),
      `another than ${node.name} leads the stream`,
      (leader) => leader !== node,
    );
  }

  /** Resolves when all replicas of the stream are current. */
  async current(): Promise<void> {
    const leader = await this.leader();
    await waitFor(
      async () => {
        const replicas = (await streamGroup(leader))?.replicas ?? [];
        return replicas.length === NAMES.length - 1 && replicas.every(({ current, lag = 0 }) => current && lag === 0);
      },
      { timeoutMs: ELECTION_MS, what: 'all replicas are current' },
    );
  }

  private async agreedLeader(
    asked: readonly TestContainer[],
    what: string,
    fits: (leader: TestContainer) => boolean = () => true,
  ): Promise<TestContainer> {
    let leader: TestContainer | undefined;
    await waitFor(
      async () => {
        const [name, ...others] = await Promise.all(asked.map((node) => leaderAsSeenBy(node)));
        const named = this.nodes.find((node) => node.name === name);
        leader = others.every((other) => other === name) && named !== undefined && fits(named) ? named : undefined;
        return leader !== undefined;
      },
      { timeoutMs: ELECTION_MS, what },
    );
    if (leader === undefined) throw new Error(`not found: ${what}`);
    return leader;
  }
}

function startNode(name: string, network: StartedNetwork): Promise<TestContainer> {
  const routes = NAMES.filter((other) => other !== name).map((other) => `"nats://${other}:${ROUTES}"`);
  // Neither clients nor other nodes are told of addresses on the bridge: a node that is cut off is cut off.
  const config = `server_name: ${name}
listen: "0.0.0.0:${CLIENT_PORT}"
http: "0.0.0.0:${MONITOR}"
cluster { name: revcast, listen: "0.0.0.0:${ROUTES}", advertise: "${name}:${ROUTES}", no_advertise: true, routes: [${routes.join(', ')}] }
${DEPLOYED.map(({ name: file }) => `include ./${file}`).join('\n')}
`;
  return TestContainer.start({
    name,
    image: image('NATS_IMAGE'),
    network,
    command: ['-c', CONFIG],
    env: passwordVariables(),
    files: [
      { path: CONFIG, content: config },
      ...DEPLOYED.map(({ name: file, content }) => ({ path: `${FOLDER}/${file}`, content })),
    ],
    ports: [MONITOR, CLIENT_PORT],
    startedPath: '/varz',
  });
}

interface StreamGroup {
  readonly leader?: string;
  readonly replicas?: readonly { readonly name: string; readonly current: boolean; readonly lag?: number }[];
}

interface JetStreamState {
  readonly meta_cluster?: { readonly cluster_size?: number; readonly leader?: string };
  readonly account_details?: readonly {
    readonly stream_detail?: readonly { readonly name: string; readonly cluster?: StreamGroup }[];
  }[];
}

/** What the node says of JetStream; undefined when it does not answer. */
async function state(node: TestContainer): Promise<JetStreamState | undefined> {
  try {
    const answer = await fetch(`${node.url}/jsz?streams=true`, { signal: AbortSignal.timeout(1_000) });
    return (await answer.json()) as JetStreamState;
  } catch {
    return undefined;
  }
}

async function groupSize(node: TestContainer): Promise<number> {
  const group = (await state(node))?.meta_cluster;
  return group?.leader === undefined ? 0 : (group.cluster_size ?? 0);
}

async function streamGroup(node: TestContainer): Promise<StreamGroup | undefined> {
  const accounts = (await state(node))?.account_details ?? [];
  return accounts.flatMap((account) => account.stream_detail ?? []).find(({ name }) => name === STREAM)?.cluster;
}

async function leaderAsSeenBy(node: TestContainer): Promise<string | undefined> {
  return (await streamGroup(node))?.leader;
}
