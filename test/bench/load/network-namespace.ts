/**
 * A network namespace of its own for a benchmark, with a loopback like a network's: small TCP buffers (otherwise the
 * kernel takes 2 to 3 MB for a reader that has stopped before the server notices), and packets of 1,500 bytes (with its
 * own of 64 KB a slow reader's window opens in steps of half a buffer). Needs root and `ip` (iproute2).
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Unsent bytes above which the kernel takes no more, and buffers of at most 64 KB. */
const SYSCTLS = [
  'net.ipv4.tcp_notsent_lowat=16384',
  'net.ipv4.tcp_wmem=4096 16384 65536',
  'net.ipv4.tcp_rmem=4096 16384 65536',
];
const QUEUED = /skmem:\([^)]*?,w(\d+),/gu;

export class NetworkNamespace {
  private constructor(readonly name: string) {}

  /** Throws where the machine does not let us. */
  static async create(): Promise<NetworkNamespace> {
    const name = `revcast-bench-${process.pid}`;
    try {
      await run('ip', ['netns', 'add', name]);
    } catch (cause) {
      throw new Error('needs a network namespace of its own: root, and the command ip (iproute2)', { cause });
    }
    const namespace = new NetworkNamespace(name);
    try {
      await run('ip', ['-n', name, 'link', 'set', 'lo', 'mtu', '1500', 'up']);
      await namespace.exec('sysctl', '-qw', ...SYSCTLS);
    } catch (error) {
      await namespace.dispose();
      throw error;
    }
    return namespace;
  }

  /** Bytes that the kernel holds for the sockets of a server's port, to be sent or to be acknowledged: the largest. */
  async queuedBytes(port: number): Promise<number[]> {
    const { stdout } = await this.exec('ss', '-tmnHO', `sport = :${port}`);
    return [...stdout.matchAll(QUEUED)].map(([, bytes]) => Number(bytes));
  }

  async dispose(): Promise<void> {
    await run('ip', ['netns', 'delete', this.name]);
  }

  private exec(...command: readonly string[]): Promise<{ stdout: string }> {
    return run('ip', ['netns', 'exec', this.name, ...command]);
  }
}
