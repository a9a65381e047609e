/** A Compose project of a test's own, from deploy/compose.yaml: `docker compose` where there is one, else docker-compose. */
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { image, testName } from './engine.js';

const FILE = fileURLToPath(new URL('../../../deploy/compose.yaml', import.meta.url));
const STEP_MS = 120_000;
const OUTPUT_BYTES = 16 * 1024 * 1024;

export class ComposeProject {
  private readonly project = testName();
  private readonly words: readonly [string, ...string[]];

  /** `env`: what the file takes from the environment, beside the images. */
  constructor(private readonly env: Readonly<Record<string, string>>) {
    const plugin = spawnSync('docker', ['compose', 'version'], { stdio: 'ignore' }).status === 0;
    this.words = plugin ? ['docker', 'compose'] : ['docker-compose'];
  }

  /** Runs a command of Compose; what it says on stdout. */
  async run(...words: readonly string[]): Promise<string> {
    const [program, ...first] = this.words;
    const images = { REVCAST_IMAGE: image('REVCAST_IMAGE'), NATS_IMAGE: image('NATS_IMAGE') };
    const env = { ...process.env, ...images, HAPROXY_IMAGE: image('HAPROXY_IMAGE'), ...this.env };
    const options = { env, timeout: STEP_MS, maxBuffer: OUTPUT_BYTES };
    const all = [...first, '-p', this.project, '-f', FILE, ...words];
    const { stdout } = await promisify(execFile)(program, all, options);
    return stdout;
  }

  async dispose(): Promise<void> {
    await this.run('down', '--volumes', '--timeout', '2');
  }
}
