/**
 * A process of a benchmark: started with an IPC channel, called by name with one argument, ended with its parent.
 * Servers and load clients run in processes of their own, so that a server's CPU time is the server's alone.
 * Limits: a call is answered within CALL_TIMEOUT_MS or fails; a child that does not stop in STOP_MS is killed by its id.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const CALL_TIMEOUT_MS = 120_000;
const STOP_MS = 3_000;

/** What a child answers, by name. */
type Api<A> = { readonly [K in keyof A]: (args: never) => unknown };
type Argument<F> = F extends (args: infer P) => unknown ? P : never;
type Answer<F> = F extends (args: never) => infer R ? Awaited<R> : never;

interface Call {
  readonly id: number;
  readonly name: string;
  readonly args: unknown;
}
type Reply = { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string };

export interface ChildOptions {
  /** Name of the network namespace that it runs in. */
  readonly netns?: string;
  /** Further options of node. */
  readonly node?: readonly string[];
}

export class Child<A extends Api<A>> {
  private readonly waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  private nextId = 1;

  private constructor(
    private readonly name: string,
    private readonly process: ChildProcess,
  ) {
    process.on('message', (reply: Reply) => {
      const call = this.waiting.get(reply.id);
      this.waiting.delete(reply.id);
      if ('error' in reply) call?.reject(new Error(`${name}: ${reply.error}`));
      else call?.resolve(reply.value);
    });
    process.on('exit', (code, signal) => {
      for (const { reject } of this.waiting.values()) reject(new Error(`${name} ended (${signal ?? code})`));
      this.waiting.clear();
    });
  }

  /** Starts the module at `url`, which calls `answerParent`. */
  static start<A extends Api<A>>(url: URL, { netns, node = [] }: ChildOptions = {}): Child<A> {
    const file = fileURLToPath(url);
    const command = [process.execPath, '--import', 'tsx', ...node, file];
    if (netns !== undefined) command.unshift('ip', 'netns', 'exec', netns);
    const [program = process.execPath, ...args] = command;
    const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    return new Child<A>(file.slice(file.lastIndexOf('/') + 1), child);
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  call<K extends keyof A & string>(name: K, args: Argument<A[K]>, timeoutMs = CALL_TIMEOUT_MS): Promise<Answer<A[K]>> {
    const id = this.nextId;
    this.nextId += 1;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error(`${this.name} did not answer ${name} in ${timeoutMs} ms`));
      }, timeoutMs);
      this.waiting.set(id, {
        resolve: (value) => {
          clearTimeout(timer);
          resolve(value as Answer<A[K]>);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      const call: Call = { id, name, args };
      this.process.send(call);
    });
  }

  /** Ends the process. Idempotent. */
  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const exited = once(this.process, 'exit');
    const killer = setTimeout(() => this.process.kill('SIGKILL'), STOP_MS);
    this.process.disconnect();
    await exited;
    clearTimeout(killer);
  }
}

/** In the child: answers its parent's calls, and ends when the parent is gone or lets go. */
export function answerParent<A extends Api<A>>(api: A): void {
  process.on('disconnect', () => process.exit(0));
  process.on('message', ({ id, name, args }: Call) => {
    answer(api[name as keyof A], args).then(
      (value) => process.send?.({ id, value } satisfies Reply),
      (error: unknown) => process.send?.({ id, error: String(error) } satisfies Reply),
    );
  });
}

/** Also what is thrown at once becomes a rejection. The parent's side of the types holds the argument to the action. */
async function answer(action: (args: never) => unknown, args: unknown): Promise<unknown> {
  return await action(args as never);
}
