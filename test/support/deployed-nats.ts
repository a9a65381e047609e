/**
 * Three real nats-servers with deploy/nats/cluster.conf as it is, but for what one machine needs: ports and directories
 * of their own. `ready` asks each with deploy/nats/ready.sh, as the Kubernetes probe does; `leave` ends one as its pod ends.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StatefulSetSpec } from 'kubernetes-types/apps/v1.js';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from '../check/manifests/manifest.js';
import { freePort } from './free-port.js';
import { NatsServer } from './nats-server.js';
import { passwordVariables } from './nats-users.js';

const DEPLOYED = fileURLToPath(new URL('../../deploy/nats', import.meta.url));
const MANIFEST = fileURLToPath(new URL('../../deploy/kubernetes/nats-cluster/nats.yaml', import.meta.url));
const NODES = 3;
const ROUTE_PASSWORD = 'route-secret-1';

export class DeployedNats {
  private constructor(
    readonly nodes: readonly NatsServer[],
    private readonly monitors: readonly number[],
    private readonly data: string,
  ) {}

  /** Not started yet. */
  static async prepare(): Promise<DeployedNats> {
    const data = await mkdtemp(join(tmpdir(), 'revcast-deployed-'));
    const routes: number[] = [];
    const monitors: number[] = [];
    for (let i = 0; i < NODES; i += 1) {
      routes.push(await freePort());
      monitors.push(await freePort());
    }
    const addresses = routes.map((port) => `"nats://route:${ROUTE_PASSWORD}@127.0.0.1:${port}"`);
    const nodes: NatsServer[] = [];
    for (const [index, route] of routes.entries()) {
      const env = {
        ...passwordVariables(),
        NATS_SERVER_NAME: `revcast-nats-${index}`,
        NATS_ROUTE_PASSWORD: ROUTE_PASSWORD,
        NATS_ROUTES: `[${addresses.join(', ')}]`,
      };
      const config = configuration({ route, monitor: monitors[index] ?? 0, store: join(data, String(index)) });
      nodes.push(await NatsServer.prepare({ config, env, jetStream: false }));
    }
    return new DeployedNats(nodes, monitors, data);
  }

  get url(): string {
    return this.nodes.map(({ url }) => url).join(',');
  }

  /** What ready.sh says of a node; empty when it is ready. */
  ready(index: number): Promise<string> {
    const env = { ...process.env, MONITOR: `http://127.0.0.1:${this.monitors[index]}` };
    return new Promise((resolve) => {
      execFile('sh', [join(DEPLOYED, 'ready.sh'), String(NODES)], { env }, (error, stdout) => {
        resolve(error === null ? '' : stdout.trim());
      });
    });
  }

  /** Ends a node as Kubernetes ends its pod. */
  leave(index: number): Promise<void> {
    return this.node(index).leave(preStop());
  }

  /** From its next start on. */
  changeRoutePassword(index: number, password: string): void {
    const node = this.node(index);
    const changed = Object.entries(node.env).map(([name, value]) => [name, value.replaceAll(ROUTE_PASSWORD, password)]);
    node.env = Object.fromEntries(changed) as Record<string, string>;
  }

  node(index: number): NatsServer {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`there is no node ${index}`);
    return node;
  }

  /** As the startup and liveness probes ask. */
  async lives(index: number): Promise<boolean> {
    return (await fetch(`http://127.0.0.1:${this.monitors[index]}/healthz?js-enabled-only=true`)).ok;
  }

  async dispose(): Promise<void> {
    for (const node of this.nodes) await node.dispose();
    await rm(this.data, { recursive: true, force: true, maxRetries: 5 });
  }
}

function configuration({ route, monitor, store }: { route: number; monitor: number; store: string }): string {
  return (
    read('cluster.conf')
      .replace('include ./jetstream.conf', read('jetstream.conf'))
      .replace('include ./users.conf', read('users.conf'))
      // NatsServer has its own.
      .replace(/^listen: .*$/mu, '')
      .replace('0.0.0.0:8222', `127.0.0.1:${monitor}`)
      .replace('0.0.0.0:6222', `127.0.0.1:${route}`)
      .replace('/data/jetstream', store)
  );
}

/** The shell command of the manifest. */
function preStop(): string {
  const [set] = parseAllDocuments(readFileSync(MANIFEST, 'utf8')).map((document) => document.toJS() as Manifest);
  const spec = set?.['spec'] as StatefulSetSpec | undefined;
  const [shell, flag, command] = spec?.template.spec?.containers[0]?.lifecycle?.preStop?.exec?.command ?? [];
  if (shell !== '/bin/sh' || flag !== '-c' || command === undefined) throw new Error('no preStop with a shell command');
  return command;
}

function read(name: string): string {
  return readFileSync(join(DEPLOYED, name), 'utf8');
}
