/**
 * What a process tells Prometheus of itself. Each part adds its numbers when it starts, and they are read when somebody
 * asks: counting costs what it costs without. Names: revcast_<service>_<what>, units last, counts that only grow end in
 * _total.
 */
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

/** One measured thing, as a worker process hands it to its parent. */
export interface MetricJson {
  readonly name: string;
  readonly values: readonly { readonly value: number; readonly labels: Readonly<Record<string, string | number>> }[];
}

/** The content type of that format. */
export const PROMETHEUS_TEXT: string = Registry.PROMETHEUS_CONTENT_TYPE;

export class Metrics {
  private readonly registry = new Registry();

  /** From now on also what the process costs: CPU, memory, open files, delay of the event loop, collections of garbage. */
  addProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** A number that goes up and down. */
  gauge(name: string, help: string, read: () => number): void {
    const gauge = new Gauge({
      name,
      help,
      registers: [],
      collect() {
        this.set(read());
      },
    });
    this.registry.registerMetric(gauge);
  }

  /** Counts that only grow, by property name: `deliveries` is <prefix>_deliveries_total. */
  counts<Name extends string>(
    prefix: string,
    help: Readonly<Record<Name, string>>,
    read: () => Readonly<Record<Name, number>>,
  ): void {
    for (const name of Object.keys(help) as Name[]) {
      const counter = new Counter({
        name: `${prefix}_${snakeCase(name)}_total`,
        help: help[name],
        registers: [],
        collect() {
          this.reset();
          this.inc(read()[name]);
        },
      });
      this.registry.registerMetric(counter);
    }
  }

  /** Counts that only grow, by the value of one label. */
  countsBy(name: string, help: string, label: string, read: () => ReadonlyMap<string, number>): void {
    const counter = new Counter({
      name,
      help,
      labelNames: [label],
      registers: [],
      collect() {
        this.reset();
        for (const [value, count] of read()) this.inc({ [label]: value }, count);
      },
    });
    this.registry.registerMetric(counter);
  }

  /** In Prometheus' text format. */
  text(): Promise<string> {
    return this.registry.metrics();
  }

  /** For the parent of a worker process. */
  async json(): Promise<readonly MetricJson[]> {
    return (await this.registry.getMetricsAsJSON()) as unknown as readonly MetricJson[];
  }
}

/** 'socketsOpened' -> 'sockets_opened' */
function snakeCase(property: string): string {
  return property.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
}
