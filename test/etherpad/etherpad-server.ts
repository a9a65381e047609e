/**
 * A real Etherpad 1.8.14 process in a temporary directory, on a port that stays the same when it is stopped or killed and
 * started again, with its HTTP API. ETHERPAD_DIR is where it was unpacked (test/setup/etherpad.sh).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PoolJson } from '../support/etherpad/changeset.js';
import { freePort } from '../support/free-port.js';
import { waitFor } from '../support/wait-for.js';

const API_KEY = 'key-of-the-test';
const START_MS = 60_000;

export class EtherpadServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly program: string,
    readonly port: number,
    private readonly directory: string,
  ) {}

  static async start(): Promise<EtherpadServer> {
    const program = process.env['ETHERPAD_DIR'];
    if (program === undefined) throw new Error('ETHERPAD_DIR is not set: run "make etherpad"');
    const directory = await mkdtemp(path.join(tmpdir(), 'revcast-etherpad-'));
    const server = new EtherpadServer(program, await freePort(), directory);
    await writeFile(server.file('apikey'), API_KEY);
    await writeFile(server.file('settings.json'), JSON.stringify(server.settings()));
    await server.start();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const words = ['--settings', this.file('settings.json'), '--apikey', this.file('apikey')];
    const log = openSync(this.file('etherpad.log'), 'a');
    const program = path.join(this.program, 'src/node/server.js');
    const child = spawn(process.execPath, [program, ...words, '--sessionkey', this.file('sessionkey')], {
      cwd: this.program,
      stdio: ['ignore', log, log],
    });
    this.child = child;
    try {
      await waitFor(
        async () => {
          if (child.exitCode !== null) throw new Error('Etherpad ended at once');
          return this.answers();
        },
        { timeoutMs: START_MS, what: 'Etherpad answers' },
      );
    } catch (error) {
      const said = await readFile(this.file('etherpad.log'), 'utf8');
      throw new Error(`Etherpad did not start: ${said.slice(-2_000)}`, { cause: error });
    }
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await exited;
    clearTimeout(timer);
  }

  async dispose(): Promise<void> {
    await this.end('SIGKILL');
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Calls the HTTP API; its data. Throws what it complains about. */
  async api(method: string, parameters: Readonly<Record<string, string>>): Promise<unknown> {
    const body = new URLSearchParams({ apikey: API_KEY, ...parameters });
    const response = await fetch(`${this.url}/api/1.2.15/${method}`, { method: 'POST', body });
    const answer = (await response.json()) as { code: number; message: string; data: unknown };
    if (answer.code !== 0) throw new Error(`${method}: ${answer.message}`);
    return answer.data;
  }

  async text(padID: string): Promise<string> {
    return ((await this.api('getText', { padID })) as { text: string }).text;
  }

  async head(padID: string): Promise<number> {
    return ((await this.api('getRevisionsCount', { padID })) as { revisions: number }).revisions;
  }

  async changeset(padID: string, rev: number): Promise<string> {
    return (await this.api('getRevisionChangeset', { padID, rev: String(rev) })) as string;
  }

  async pool(padID: string): Promise<PoolJson> {
    return ((await this.api('getAttributePool', { padID })) as { pool: PoolJson }).pool;
  }

  private file(name: string): string {
    return path.join(this.directory, name);
  }

  private settings(): object {
    return {
      title: 'revcast test',
      ip: '127.0.0.1',
      port: this.port,
      dbType: 'dirty',
      dbSettings: { filename: this.file('pads.db') },
      minify: false,
      loglevel: 'WARN',
    };
  }

  private async answers(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}/api`)).ok;
    } catch {
      // Not yet.
      return false;
    }
  }
}
