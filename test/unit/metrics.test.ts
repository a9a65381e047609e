/** What is measured, as Prometheus reads it. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { answerParent, WorkersMetrics } from '../../services/cli/worker-metrics.js';
import type { ParentChannel } from '../../services/cli/command.js';
import { Metrics } from '../../services/shared/metrics.js';
import { addEdgeMetrics } from '../../services/edge/metrics.js';
import { Appender } from '../../services/producer/appender.js';
import { addProducerMetrics } from '../../services/producer/metrics.js';
import { RevisionCounters } from '../../services/revision/counters.js';
import { addRevisionMetrics } from '../../services/revision/metrics.js';
import { RevcastError } from '../../services/shared/errors.js';
import { silentLogger } from '../../services/shared/logger.js';
import { EdgeHarness } from '../support/edge-parts.js';
import { ManualClock, settle } from '../support/manual-clock.js';

const UNLIMITED = { maxRevisions: 9, maxDataBytes: 99, maxSnapshotBytes: 99, maxInFlight: 9, maxInFlightBytes: 999 };

/** The lines of a metric, without its help. */
async function linesOf(metrics: Metrics, name: string): Promise<string[]> {
  const lines = (await metrics.text()).split('\n');
  return lines.filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
}

function fail(error: unknown): never {
  throw error;
}

function appender(append: () => Promise<never>): Appender {
  const log = { append, putSnapshot: append };
  return new Appender({ log, logger: silentLogger, clock: new ManualClock(), limits: UNLIMITED });
}

/** Workers with so many sockets each; one with none says nothing. */
function workersWith(clock: ManualClock, sockets: readonly (number | undefined)[]): WorkersMetrics {
  const listeners: ((message: unknown) => void)[] = [];
  const measured: WorkersMetrics = new WorkersMetrics(
    {
      tellAll: (message) => {
        for (const listener of listeners) listener(structuredClone(message));
        return sockets.map((_, index) => index + 1);
      },
    },
    clock,
  );
  sockets.forEach((count, index) => {
    if (count === undefined) return;
    const metrics = new Metrics();
    metrics.gauge('revcast_x_sockets', 'Open sockets.', () => count);
    const channel: ParentChannel = {
      send: (message) => {
        measured.hear(index + 1, structuredClone(message));
      },
      onMessage: (listener) => listeners.push(listener),
    };
    answerParent(channel, metrics, fail);
  });
  return measured;
}

describe('metrics', () => {
  test('[O1] are read when they are asked for, with their unit, and what only grows ends in _total', async () => {
    const metrics = new Metrics();
    const counts = { socketsOpened: 1 };
    let sockets = 5;
    metrics.gauge('revcast_x_sockets', 'Open sockets.', () => sockets);
    metrics.counts('revcast_x', { socketsOpened: 'Sockets that were opened.' }, () => counts);
    expect(await linesOf(metrics, 'revcast_x_sockets')).toEqual(['revcast_x_sockets 5']);
    sockets = 6;
    counts.socketsOpened = 7;
    expect(await linesOf(metrics, 'revcast_x_sockets')).toEqual(['revcast_x_sockets 6']);
    expect(await linesOf(metrics, 'revcast_x_sockets_opened_total')).toEqual(['revcast_x_sockets_opened_total 7']);
    expect(await metrics.text()).toContain('# TYPE revcast_x_sockets_opened_total counter');
  });

  test('[O2] of an edge, a producer and a revision service are all in docs/operations.md', async () => {
    const metrics = new Metrics();
    addEdgeMetrics(metrics, new EdgeHarness().parts, () => 0);
    addProducerMetrics(
      metrics,
      appender(() => Promise.reject(new Error('unused'))),
    );
    addRevisionMetrics(metrics, new RevisionCounters());
    const documented = readFileSync('docs/operations.md', 'utf8');
    const names = [...(await metrics.text()).matchAll(/^# TYPE (\S+)/gmu)].map(([, name]) => name);
    expect(names.length).toBeGreaterThan(35);
    expect(names.filter((name) => !documented.includes(`\`${name}\``))).toEqual([]);
  });

  test('[O2] a producer counts what fails by its code', async () => {
    const metrics = new Metrics();
    const failing = appender(() => Promise.reject(new RevcastError('log_full', 'as the test says')));
    addProducerMetrics(metrics, failing);
    const append = { revisions: [{ data: Buffer.from('1') }] };
    for (let i = 0; i < 2; i += 1) await expect(failing.append('a', append)).rejects.toThrow('as the test says');
    await expect(failing.append('a', { revisions: [{ data: Buffer.alloc(100, '1') }] })).rejects.toThrow('99');
    expect(await linesOf(metrics, 'revcast_producer_failures_total')).toEqual([
      'revcast_producer_failures_total{code="log_full"} 2',
      'revcast_producer_failures_total{code="too_large"} 1',
    ]);
    expect(await linesOf(metrics, 'revcast_producer_in_flight')).toEqual(['revcast_producer_in_flight 0']);
  });
});

describe('metrics of workers', () => {
  test('[O3] are told together, each with its worker’s number', async () => {
    const text = await workersWith(new ManualClock(), [3, 4]).text();
    expect(text).toContain('revcast_x_sockets{worker="1"} 3\nrevcast_x_sockets{worker="2"} 4');
    expect(text.match(/# HELP revcast_x_sockets /gu)).toHaveLength(1);
  });

  test('[O3] leave out who does not answer in 2 s, and what is no answer', async () => {
    const clock = new ManualClock();
    const measured = workersWith(clock, [3, undefined]);
    let text: string | undefined;
    measured.text().then(
      (answer) => (text = answer),
      () => undefined,
    );
    measured.hear(2, 'nonsense');
    measured.hear(2, { metrics: 99, measured: [] });
    await settle();
    expect(text).toBeUndefined();
    await clock.advance(2_010);
    await settle();
    expect(text).toContain('revcast_x_sockets{worker="1"} 3');
    expect(text).not.toContain('worker="2"');
  });
});
