/**
 * A network in which an edge can be cut off from NATS so that nothing is refused or reset: there is just silence, until
 * it is healed. Clients reach the edge all the same.
 *
 *   host (NATS) ── near ── router ── far ── edge's namespace        cut: the router forwards nothing
 *   host (clients) ─────────── direct ───── edge's namespace
 *
 * Needs root and `ip` (iproute2). Addresses are of 198.18.0.0/15, which is for tests of networks.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SUBNETS = 2 * 256;

export class SilentNetwork {
  private readonly router: string;
  private readonly far: string;
  private readonly base: string;

  private constructor(private readonly id: number) {
    this.router = `revcast-router-${id}`;
    this.far = `revcast-edge-${id}`;
    const subnet = id % SUBNETS;
    this.base = `198.${18 + Math.floor(subnet / 256)}.${subnet % 256}`;
  }

  static async create(): Promise<SilentNetwork> {
    const network = new SilentNetwork(process.pid);
    try {
      await network.build();
    } catch (error) {
      await network.dispose();
      throw error;
    }
    return network;
  }

  /** Where NATS must listen. */
  get natsHost(): string {
    return `${this.base}.5`;
  }

  /** Where the edge must listen. */
  get edgeHost(): string {
    return `${this.base}.2`;
  }

  /** Words before the edge's command. */
  get prefix(): readonly string[] {
    return ['ip', 'netns', 'exec', this.far];
  }

  /** From now on nothing comes through between the edge and NATS, and nobody is told. */
  cut(): Promise<void> {
    return this.forward(false);
  }

  heal(): Promise<void> {
    return this.forward(true);
  }

  /** Removes what there is of it; the links go with their namespaces. */
  async dispose(): Promise<void> {
    const { stdout } = await run('ip', ['netns', 'list']);
    for (const name of [this.router, this.far]) {
      if (stdout.split('\n').some((line) => line.split(' ')[0] === name)) await run('ip', ['netns', 'delete', name]);
    }
  }

  private async build(): Promise<void> {
    const { router, far, id, base } = this;
    const [direct, near, outer] = [`rc${id}d`, `rc${id}n`, `rc${id}o`];
    await ip('netns', 'add', router);
    await ip('netns', 'add', far);
    await ip('link', 'add', direct, 'type', 'veth', 'peer', 'name', 'direct', 'netns', far);
    await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', 'near', 'netns', router);
    await ip('-n', router, 'link', 'add', 'far', 'type', 'veth', 'peer', 'name', outer, 'netns', far);
    await ip('addr', 'add', `${base}.1/30`, 'dev', direct);
    await ip('-n', far, 'addr', 'add', `${base}.2/30`, 'dev', 'direct');
    await ip('addr', 'add', `${base}.5/30`, 'dev', near);
    await ip('-n', router, 'addr', 'add', `${base}.6/30`, 'dev', 'near');
    await ip('-n', router, 'addr', 'add', `${base}.9/30`, 'dev', 'far');
    await ip('-n', far, 'addr', 'add', `${base}.10/30`, 'dev', outer);
    for (const link of [direct, near]) await ip('link', 'set', link, 'up');
    for (const link of ['lo', 'near', 'far']) await ip('-n', router, 'link', 'set', link, 'up');
    for (const link of ['lo', 'direct', outer]) await ip('-n', far, 'link', 'set', link, 'up');
    await ip('-n', far, 'route', 'add', `${base}.5/32`, 'via', `${base}.9`);
    await ip('route', 'add', `${base}.8/30`, 'via', `${base}.6`);
    await this.forward(true);
  }

  private async forward(on: boolean): Promise<void> {
    await ip('netns', 'exec', this.router, 'sysctl', '-qw', `net.ipv4.ip_forward=${on ? 1 : 0}`);
  }
}

async function ip(...words: readonly string[]): Promise<void> {
  await run('ip', words);
}
