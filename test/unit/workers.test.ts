/** The parent of worker processes, on a clock that the test moves. The processes are doubles. */
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../services/shared/logger.js';
import {
  ASK_MS,
  MAX_FAILED_STARTS,
  MAX_UNANSWERED,
  STABLE_MS,
  withWorker,
  Workers,
  type WorkerEnd,
  type WorkerProcess,
  type WorkersOutcome,
} from '../../services/cli/workers.js';
import { ManualClock } from '../support/manual-clock.js';

class Process implements WorkerProcess {
  readonly signals: NodeJS.Signals[] = [];
  readonly heard: object[] = [];
  ended = false;
  private listener: (ended: WorkerEnd) => void = () => undefined;

  constructor(
    readonly worker: number,
    readonly startedAt: number,
    readonly pid = 1,
  ) {}

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
  }

  send(message: object): void {
    this.heard.push(message);
  }

  onEnd(listener: (ended: WorkerEnd) => void): void {
    this.listener = listener;
  }

  end(code: number | null, signal: NodeJS.Signals | null = null): void {
    this.ended = true;
    this.listener({ code, signal });
  }
}

function workersOf(count: number) {
  const clock = new ManualClock();
  const processes: Process[] = [];
  let outcome: WorkersOutcome | undefined;
  const workers = new Workers({
    count,
    start: (worker) => {
      const process = new Process(worker, clock.monotonic());
      processes.push(process);
      return process;
    },
    clock,
    logger: silentLogger,
    stopMs: 10_000,
    random: () => 0.5,
  });
  workers.ended.then(
    (ended) => (outcome = ended),
    () => undefined,
  );
  workers.start();
  const running = () => processes.filter(({ ended }) => !ended);
  return { clock, workers, processes, running, outcome: () => outcome };
}

describe('workers', () => {
  it('[Q7] one that ends is started again, after a rest', async () => {
    const { clock, processes, running } = workersOf(3);
    expect(processes.map(({ worker }) => worker)).toEqual([1, 2, 3]);
    await clock.advance(STABLE_MS + 1);
    processes[1]?.end(null, 'SIGKILL');
    expect(running()).toHaveLength(2);
    await clock.advance(200);
    expect(running().map(({ worker }) => worker)).toEqual([1, 3, 2]);
  });

  it('[Q7] the rest grows while it dies at its start, and is short again once it has lived', async () => {
    const { clock, processes, running } = workersOf(1);
    const rests: number[] = [];
    for (const livesMs of [10, 10, 10, STABLE_MS, 10]) {
      await clock.advance(livesMs);
      processes.at(-1)?.end(1);
      const endedAt = clock.monotonic();
      while (running().length === 0) await clock.advance(100);
      rests.push((running()[0]?.startedAt ?? 0) - endedAt);
    }
    expect(rests).toEqual([200, 400, 800, 200, 200]);
  });

  it('[Q8] one that dies again and again at its start ends all, with what it died of', async () => {
    const { clock, processes, running, outcome } = workersOf(2);
    for (let i = 1; i <= MAX_FAILED_STARTS; i += 1) {
      processes.findLast(({ worker }) => worker === 1)?.end(3);
      await clock.advance(900);
    }
    expect(running().map(({ worker, signals }) => [worker, signals])).toEqual([[2, ['SIGTERM']]]);
    expect(outcome()).toBeUndefined();
    processes[1]?.end(0);
    await clock.advance(0);
    expect(outcome()).toEqual({
      kind: 'gave up',
      why: `worker 1 ended ${MAX_FAILED_STARTS} times right after its start (exit code 3)`,
    });
    expect(clock.waiting).toBe(0);
  });

  it('[Q9] a stop goes to all at once, and is over when the last has ended', async () => {
    const { clock, workers, processes, outcome } = workersOf(2);
    workers.stop();
    workers.stop();
    expect(processes.map(({ signals }) => signals)).toEqual([['SIGTERM'], ['SIGTERM']]);
    processes[0]?.end(0);
    await clock.advance(100);
    expect(outcome()).toBeUndefined();
    processes[1]?.end(0);
    await clock.advance(0);
    expect([outcome(), clock.waiting]).toEqual([{ kind: 'stopped', inTime: true }, 0]);
  });

  it('[Q9] a stop is bounded, and starts nobody who rests', async () => {
    const { clock, workers, processes, outcome } = workersOf(2);
    processes[0]?.end(1);
    workers.stop();
    await clock.advance(10_000);
    expect([processes.length, processes[1]?.signals]).toEqual([2, ['SIGTERM', 'SIGKILL']]);
    processes[1]?.end(null, 'SIGKILL');
    await clock.advance(0);
    expect(outcome()).toEqual({ kind: 'stopped', inTime: false });
  });

  it('[Q11] one that does not answer any more is killed and started again', async () => {
    const { clock, workers, processes } = workersOf(2);
    const ask = async () => {
      await clock.advance(ASK_MS);
      // The second answers, the first hangs.
      workers.heard(2);
    };
    workers.heard(1);
    for (let i = 0; i < MAX_UNANSWERED; i += 1) await ask();
    expect(processes.map(({ signals, heard }) => [signals, heard.length])).toEqual([
      [[], MAX_UNANSWERED],
      [[], MAX_UNANSWERED],
    ]);
    await ask();
    expect(processes.map(({ signals }) => signals)).toEqual([['SIGKILL'], []]);
    processes[0]?.end(null, 'SIGKILL');
    await clock.advance(200);
    expect(processes.map(({ worker }) => worker)).toEqual([1, 2, 1]);
    for (let i = 0; i < MAX_UNANSWERED; i += 1) {
      await ask();
      workers.heard(1);
    }
    await ask();
    expect(processes[2]?.signals).toEqual([]);
  });

  it('[Q10] what a worker says carries its number, in JSON too', () => {
    expect(JSON.parse(withWorker(2, '{"level":30,"msg":"x"}'))).toEqual({ worker: 2, level: 30, msg: 'x' });
    expect(withWorker(2, 'revcast: no')).toBe('worker 2: revcast: no');
  });
});
