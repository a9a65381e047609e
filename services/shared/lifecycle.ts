/**
 * What starts also stops. A `Running` is a started part; a `StopStack` collects parts while they start and stops them
 * in the reverse order, each bounded in time, once.
 */
import { asError } from './errors.js';
import type { Logger } from './logger.js';

export interface Running {
  /** Stops it and frees what it holds. Idempotent. */
  stop(): Promise<void>;
}

export class StopStack implements Running {
  private readonly parts: { name: string; stop: () => Promise<void> | void; timeoutMs: number }[] = [];
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly logger: Logger,
    /** How long one part may take to stop that says nothing else. */
    private readonly partTimeoutMs = 10_000,
  ) {}

  add(name: string, stop: () => Promise<void> | void, timeoutMs = this.partTimeoutMs): void {
    this.parts.push({ name, stop, timeoutMs });
  }

  stop(): Promise<void> {
    this.stopping ??= this.stopAll();
    return this.stopping;
  }

  private async stopAll(): Promise<void> {
    for (const part of this.parts.reverse()) {
      try {
        await withTimeout(Promise.resolve(part.stop()), part.timeoutMs, `${part.name} did not stop in time`);
      } catch (error) {
        this.logger.error({ part: part.name, err: asError(error) }, 'stop failed');
      }
    }
  }
}

/** The promise's outcome, or a rejection with `message` after `timeoutMs`. */
export async function withTimeout<T>(promise: Promise<T>, timeoutMs: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error(message));
    }, timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
