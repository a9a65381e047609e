/**
 * Metrics of worker processes, at their parent's address: it asks all of them over their channels when it is asked, and each
 * series gets its worker's number. A worker that does not answer in ANSWER_MS is left out.
 *
 *   parent ──{metrics: n}──▶ worker ──{metrics: n, measured}──▶ parent
 */
import { AggregatorRegistry } from 'prom-client';
import { z } from 'zod';
import type { Clock } from '../shared/clock.js';
import type { MetricJson, Metrics } from '../shared/metrics.js';
import type { ParentChannel } from './command.js';
import { ARE_YOU_THERE, type Workers } from './workers.js';

const ANSWER_MS = 2_000;

const areYouThere = z.object({ alive: z.literal(true) });
const question = z.object({ metrics: z.number() });
const answer = z.object({ metrics: z.number(), measured: z.array(z.custom<MetricJson>()) });

/** In a worker: answers its parent, also that it is there. */
export function answerParent(parent: ParentChannel, metrics: Metrics, onFault: (error: unknown) => void): void {
  parent.onMessage((message) => {
    if (areYouThere.safeParse(message).success) parent.send(ARE_YOU_THERE);
    const asked = question.safeParse(message);
    if (!asked.success) return;
    metrics.json().then((measured) => {
      parent.send({ metrics: asked.data.metrics, measured });
    }, onFault);
  });
}

export class WorkersMetrics {
  private asked = 0;
  /** By question and worker. */
  private readonly waiting = new Map<string, (measured: readonly MetricJson[]) => void>();

  constructor(
    private readonly workers: Pick<Workers, 'tellAll'>,
    private readonly clock: Clock,
  ) {}

  /** What a worker said. */
  hear(worker: number, message: unknown): void {
    const heard = answer.safeParse(message);
    if (heard.success) this.waiting.get(`${heard.data.metrics} ${worker}`)?.(heard.data.measured);
  }

  /** Of all workers that answer, in Prometheus' text format. */
  async text(): Promise<string> {
    this.asked += 1;
    const { asked } = this;
    const told = this.workers.tellAll({ metrics: asked });
    const answers = await Promise.all(told.map((worker) => this.answerOf(asked, worker)));
    return AggregatorRegistry.aggregate(answers).metrics();
  }

  private answerOf(asked: number, worker: number): Promise<readonly MetricJson[]> {
    const key = `${asked} ${worker}`;
    return new Promise((resolve) => {
      const end = (measured: readonly MetricJson[]) => {
        cancel();
        this.waiting.delete(key);
        resolve(measured.map((metric) => ofWorker(metric, worker)));
      };
      const cancel = this.clock.after(ANSWER_MS, () => {
        end([]);
      });
      this.waiting.set(key, end);
    });
  }
}

function ofWorker(metric: MetricJson, worker: number): MetricJson {
  const values = metric.values.map((one) => ({ ...one, labels: { ...one.labels, worker: String(worker) } }));
  return { ...metric, values };
}
