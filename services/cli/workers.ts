/**
 * Several worker processes that share one port (SO_REUSEPORT: the kernel spreads connections over them), of which one
 * parent takes care; it serves nothing itself.
 *
 *   worker:  starting ──lives for STABLE_MS──▶ steady ──ends──▶ resting (backoff) ──▶ starting
 *            starting ──ends──▶ resting; MAX_FAILED_STARTS times in a row: the parent gives up
 *   any:     does not answer for ASK_MS * MAX_UNANSWERED (it hangs) ──▶ killed, which is an end
 *   parent:  running ──signal, or giving up──▶ stopping (SIGTERM to all, side by side) ──all ended, or killed──▶ over
 *
 * Workers are sessions of their own, so that a terminal's Ctrl-C comes to the parent only and is passed on once; a channel
 * to each tells it when the parent is gone, however that died. Bounded: a backoff of MAX_REST_MS, a stop of `stopMs`.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import type { Clock } from '../shared/clock.js';
import { asError } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';

/** Who lives so long has started. */
export const STABLE_MS = 5_000;
export const MAX_FAILED_STARTS = 4;
/** Every worker is asked so often whether it is there, and killed when it left so many questions in a row unanswered. */
export const ASK_MS = 5_000;
export const MAX_UNANSWERED = 6;
const FIRST_REST_MS = 200;
const MAX_REST_MS = 5_000;

/** What a worker is asked, and answers with the same. */
export const ARE_YOU_THERE = { alive: true };

/** A worker's process, as far as it is looked after here. */
export interface WorkerProcess {
  readonly pid: number | undefined;
  kill(signal: NodeJS.Signals): void;
  /** Says something to it, unless it has ended. */
  send(message: object): void;
  /** Called once, when it has ended and its output is read. */
  onEnd(listener: (ended: WorkerEnd) => void): void;
}

export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It could not even be started. */
  readonly error?: Error;
}

export interface WorkersParts {
  readonly count: number;
  readonly start: (worker: number) => WorkerProcess;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Workers that have not stopped by then are killed. */
  readonly stopMs: number;
  readonly random: () => number;
}

interface Worker {
  readonly number: number;
  failedStarts: number;
  process: WorkerProcess | undefined;
  /** Questions since it was heard last. */
  unanswered: number;
  cancelRest: () => void;
}

export type WorkersOutcome =
  { readonly kind: 'stopped'; readonly inTime: boolean } | { readonly kind: 'gave up'; readonly why: string };

export class Workers {
  private readonly workers: Worker[];
  private state: 'running' | 'stopping' | 'over' = 'running';
  private cancelAsk = (): void => undefined;
  private gaveUp: string | undefined;
  private allStopped = true;
  private resolve: (outcome: WorkersOutcome) => void = () => undefined;
  /** How it went, when all have ended. */
  readonly ended = new Promise<WorkersOutcome>((resolve) => {
    this.resolve = resolve;
  });

  constructor(private readonly parts: WorkersParts) {
    this.workers = Array.from({ length: parts.count }, (_, index) => ({
      number: index + 1,
      failedStarts: 0,
      process: undefined,
      unanswered: 0,
      cancelRest: () => undefined,
    }));
  }

  start(): void {
    for (const worker of this.workers) this.begin(worker);
    this.askAll();
  }

  /** The worker has said something. */
  heard(number: number): void {
    const worker = this.workers[number - 1];
    if (worker !== undefined) worker.unanswered = 0;
  }

  /** Stops all, side by side. Idempotent. */
  stop(): void {
    if (this.state !== 'running') return;
    this.state = 'stopping';
    this.cancelAsk();
    for (const worker of this.workers) {
      worker.cancelRest();
      worker.process?.kill('SIGTERM');
    }
    const { clock, logger, stopMs } = this.parts;
    const cancel = clock.after(stopMs, () => {
      for (const { process, number } of this.workers) {
        if (process === undefined) continue;
        logger.error({ worker: number }, 'a worker did not stop in time, and is killed');
        process.kill('SIGKILL');
      }
    });
    void this.ended.then(cancel);
    this.endIfOver();
  }

  /** Says something to all that run; the answer is who they are. */
  tellAll(message: object): readonly number[] {
    const running = this.workers.filter(({ process }) => process !== undefined);
    for (const { process } of running) process?.send(message);
    return running.map(({ number }) => number);
  }

  private askAll(): void {
    const { clock, logger } = this.parts;
    this.cancelAsk = clock.after(ASK_MS, () => {
      for (const worker of this.workers) {
        const { process, number, unanswered } = worker;
        if (process === undefined) continue;
        if (unanswered >= MAX_UNANSWERED) {
          logger.error({ worker: number }, 'a worker hangs, and is killed');
          process.kill('SIGKILL');
        } else {
          worker.unanswered += 1;
          process.send(ARE_YOU_THERE);
        }
      }
      this.askAll();
    });
  }

  private begin(worker: Worker): void {
    const { clock, logger } = this.parts;
    const begun = clock.monotonic();
    const process = this.parts.start(worker.number);
    worker.process = process;
    worker.unanswered = 0;
    logger.info({ worker: worker.number, workerPid: process.pid }, 'worker: started');
    process.onEnd((end) => {
      worker.process = undefined;
      this.onEnd(worker, end, clock.monotonic() - begun);
    });
  }

  private onEnd(worker: Worker, end: WorkerEnd, livedMs: number): void {
    const { clock, logger } = this.parts;
    if (this.state !== 'running') {
      // One that had not begun to mind signals yet had nothing to stop.
      if (end.code !== 0 && end.signal !== 'SIGTERM') this.allStopped = false;
      this.endIfOver();
      return;
    }
    worker.failedStarts = livedMs < STABLE_MS ? worker.failedStarts + 1 : 0;
    if (worker.failedStarts >= MAX_FAILED_STARTS) {
      this.gaveUp = `worker ${worker.number} ended ${worker.failedStarts} times right after its start (${inWords(end)})`;
      this.stop();
      return;
    }
    const restMs = restAfter(worker.failedStarts, this.parts.random);
    logger.error(
      { worker: worker.number, err: end.error, restMs },
      `worker: ended (${inWords(end)}); starting it again`,
    );
    worker.cancelRest = clock.after(restMs, () => {
      this.begin(worker);
    });
  }

  private endIfOver(): void {
    if (this.state !== 'stopping' || this.workers.some(({ process }) => process !== undefined)) return;
    this.state = 'over';
    this.resolve(
      this.gaveUp === undefined ? { kind: 'stopped', inTime: this.allStopped } : { kind: 'gave up', why: this.gaveUp },
    );
  }
}

/** Starts a worker: this program with other words. What it says comes line by line, stdout and stderr alike. */
export function spawnWorker(
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
  { onLine, onMessage }: { onLine: (line: string) => void; onMessage: (message: unknown) => void },
): WorkerProcess {
  const [program, ...words] = command;
  const child = spawn(program, words, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', linesOf(onLine));
  child.on('message', onMessage);
  return {
    pid: child.pid,
    kill: (signal) => {
      child.kill(signal);
    },
    send: (message) => {
      if (child.connected) child.send(message);
    },
    onEnd: (listener) => {
      listenOnce(child, listener);
    },
  };
}

function listenOnce(child: ChildProcess, listener: (ended: WorkerEnd) => void): void {
  let over = false;
  const once = (end: WorkerEnd) => {
    if (!over) listener(end);
    over = true;
  };
  child.once('error', (error) => {
    if (child.pid === undefined) once({ code: null, signal: null, error: asError(error) });
  });
  child.once('close', (code, signal) => {
    once({ code, signal });
  });
}

/** A line may not be longer than this; what is, is cut into several. */
const MAX_LINE_CHARS = 64 * 1024;

function linesOf(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new TextDecoder();
  let rest = '';
  return (chunk) => {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (rest.length > MAX_LINE_CHARS) {
      onLine(rest);
      rest = '';
    }
  };
}

/** A worker's line with its number: a property of a JSON line, else words in front. */
export function withWorker(worker: number, line: string): string {
  return line.startsWith('{"') ? `{"worker":${worker},${line.slice(1)}` : `worker ${worker}: ${line}`;
}

/** Half to one and a half of the backoff, so that those that died together do not start together. */
function restAfter(failedStarts: number, random: () => number): number {
  const restMs = Math.min(FIRST_REST_MS * 2 ** Math.max(failedStarts - 1, 0), MAX_REST_MS);
  return Math.round(restMs * (0.5 + random()));
}

function inWords({ code, signal, error }: WorkerEnd): string {
  if (error !== undefined) return error.message;
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}
