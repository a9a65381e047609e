/**
 * The built program, dist/services/cli/main.js, as a process of its own. `make` builds before it tests; whoever runs a
 * test by hand is told when what was built is older than the sources.
 */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from './wait-for.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const STOP_MS = 15_000;

/** Its path. Throws with one clear line when it is missing or older than a source file. */
function builtProgram(): string {
  const program = path.join(PROJECT, 'dist/services/cli/main.js');
  const built = statSync(program, { throwIfNoEntry: false });
  if (built === undefined) throw new Error('dist/ is missing: run "make build" before tests that start the program');
  const sources = path.join(PROJECT, 'services');
  for (const name of readdirSync(sources, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.d.ts')) continue;
    if (statSync(path.join(sources, name)).mtimeMs > built.mtimeMs) {
      throw new Error(`dist/ is older than services/${name}: run "make build" before tests that start the program`);
    }
  }
  return program;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process whose output is kept. */
export class KeptProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;
  private readonly child: ChildProcessWithoutNullStreams;
  private over = false;

  constructor(program: string, words: readonly string[], env: Readonly<Record<string, string>> = {}) {
    // What this test run was started with is not the business of what it starts: npm_command says "run by npx".
    const { npm_command: _npm, ...inherited } = process.env;
    this.child = spawn(program, words, { cwd: PROJECT, env: { ...inherited, ...env } });
    this.child.stdout.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) => {
        this.over = true;
        resolve({ code, signal });
      });
    });
  }

  /** The built program with these words. */
  static revcast(words: readonly string[], env: Readonly<Record<string, string>> = {}): KeptProcess {
    return new KeptProcess(process.execPath, [builtProgram(), ...words], env);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get stdin(): ChildProcessWithoutNullStreams['stdin'] {
    return this.child.stdin;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Resolves when stdout (or stderr) matches; throws with all that was said when it ends or time passes without. */
  async says(pattern: RegExp, from: 'stdout' | 'stderr' = 'stdout', timeoutMs = 30_000): Promise<RegExpExecArray> {
    let match: RegExpExecArray | null = null;
    const look = () => (match = pattern.exec(this[from])) !== null;
    try {
      await waitFor(
        () => {
          if (!look() && this.over && !look()) throw new Error('it has ended');
          return match !== null;
        },
        { timeoutMs, what: `${from} says ${pattern.source}` },
      );
    } catch (error) {
      throw new Error(`not said: ${pattern.source}\nstdout: ${this.stdout}\nstderr: ${this.stderr}`, { cause: error });
    }
    return match as unknown as RegExpExecArray;
  }

  /** Ends it, gently at first. Idempotent. */
  async stop(): Promise<Ended> {
    if (!this.over) this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_MS);
    const ended = await this.ended;
    clearTimeout(timer);
    return ended;
  }
}

/** Whether there is such a process. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

interface Descendant {
  readonly pid: number;
  readonly command: string;
}

/** The processes that `pid` has started, and those that they have, with their command lines. */
export function descendantsOf(pid: number): Descendant[] {
  const all = readdirSync('/proc').flatMap((name) => readProcess(name) ?? []);
  const family = new Set([pid]);
  const found: Descendant[] = [];
  // A process is younger than its parent, but pids wrap around: go on until nobody is added.
  for (let added = true; added;) {
    added = false;
    for (const one of all) {
      if (family.has(one.pid) || !family.has(one.parent)) continue;
      family.add(one.pid);
      found.push(one);
      added = true;
    }
  }
  return found;
}

function readProcess(pid: string): (Descendant & { parent: number }) | undefined {
  if (!/^\d+$/u.test(pid)) return undefined;
  try {
    const parent = /^PPid:\s*(\d+)$/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return { pid: Number(pid), parent: Number(parent), command };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
