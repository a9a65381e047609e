/**
 * What a container test is made of: a cluster of containers, MIN_CLIENTS clients over its edges in several rooms, steady
 * and joining late, reading single messages and batches, compressed or not; a publisher who goes on during the
 * fault; and at the end the proof: every client has everything the log has, once, in order, byte for byte, the log has
 * what was acknowledged, and all replicas of it are the same bytes.
 * The seed is in the test's title; TEST_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { Checker } from '../../load/checker.js';
import { FleetClient, type FleetClientOptions } from '../../load/fleet-client.js';
import { readHead, readLog } from '../../load/log-copy.js';
import { Publisher, type PublisherOptions } from '../../load/publisher.js';
import { Random } from '../random.js';
import { waitFor } from '../wait-for.js';
import { ContainerCluster, type ClusterOptions } from './cluster.js';
import { readReplicas } from './replicas.js';

const MIN_CLIENTS = 210;
const JOIN_MS = 60_000;
const LOOK_MS = 500;
const CAUGHT_UP_MS = 90_000;
const ROOMS = ['doc-1', 'doc-2', 'räume/три', 'doc-4', 'doc-5'] as const;

export interface ScenarioOptions {
  /** For the line that says what was measured. */
  readonly name: string;
  readonly seed: number;
  readonly cluster?: ClusterOptions;
  readonly publisher?: Partial<Pick<PublisherOptions, 'lanes' | 'restMs' | 'filling'>>;
}

export class ContainerScenario {
  readonly checker = new Checker();
  readonly random: Random;
  readonly rooms: readonly [string, ...string[]] = ROOMS;
  readonly clients: FleetClient[] = [];
  readonly publisher: Publisher;
  private readonly beganAt = performance.now();

  private constructor(
    private readonly options: ScenarioOptions,
    readonly cluster: ContainerCluster,
  ) {
    this.random = new Random(options.seed);
    this.publisher = new Publisher({
      producers: () => cluster.urls('producer'),
      rooms: this.rooms,
      checker: this.checker,
      random: new Random(options.seed + 1),
      lanes: 8,
      restMs: 100,
      ...options.publisher,
    });
  }

  /** The cluster is ready, clients have joined, and publishing goes on. */
  static async start(options: ScenarioOptions): Promise<ContainerScenario> {
    const scenario = new ContainerScenario(options, await ContainerCluster.start(options.cluster));
    try {
      scenario.publisher.start();
      for (let i = 0; i < MIN_CLIENTS; i += 1) scenario.join();
      await scenario.allJoined();
    } catch (error) {
      await scenario.end(true);
      throw error;
    }
    return scenario;
  }

  /** One more client, of the kind that its number makes it. It knows all edges that there are at each connect. */
  join(options: Partial<FleetClientOptions> = {}): FleetClient {
    const number = this.clients.length;
    const room = this.rooms[number % this.rooms.length] ?? this.rooms[0];
    const client = new FleetClient({
      name: `client-${number}`,
      edges: () => this.cluster.urls('edge'),
      rooms: [...new Set([room, ...(number % 10 === 0 ? [this.rooms[0]] : [])])],
      checker: this.checker,
      random: this.random,
      batch: number % 2 === 0,
      deflate: number % 4 < 2,
      ...options,
    });
    this.clients.push(client);
    client.start();
    return client;
  }

  /** Clients who come now, from the beginning: every other one from where another client stands. */
  joinLate(count: number): void {
    for (let i = 0; i < count; i += 1) {
      const since = (room: string): unknown => {
        if (i % 2 === 0) return 0;
        const position = this.clients.find((client) => client.positionIn(room) !== undefined)?.positionIn(room);
        return position === undefined ? 0 : { ...position };
      };
      this.join({ since });
    }
  }

  async allJoined(): Promise<void> {
    await waitFor(() => this.clients.every((client) => client.joined), {
      timeoutMs: JOIN_MS,
      what: 'all have joined',
    });
  }

  /** Waits until so many more revisions were acknowledged: publishing goes on. */
  async publishes(revisions: number, timeoutMs = 60_000): Promise<void> {
    const wanted = this.publisher.acknowledged + revisions;
    await waitFor(() => this.publisher.acknowledged >= wanted, { timeoutMs, what: `${revisions} more are published` });
  }

  /** Ends publishing, waits until every client is at the heads, and holds everything against the log and its replicas. */
  async verify(): Promise<void> {
    await this.publisher.stop();
    const [revision] = this.cluster.urls('revision');
    const heads = new Map<string, number>();
    for (const room of this.rooms) heads.set(room, (await readHead(revision, room)).rev);
    await waitFor(() => this.clients.every((client) => client.isAt(heads)), {
      timeoutMs: CAUGHT_UP_MS,
      what: 'all clients are at the heads',
    }).catch((error: unknown) => {
      const behind = this.clients.filter((client) => !client.isAt(heads)).map(({ name }) => name);
      throw new Error(`${String(error)}; behind: ${behind.join(', ')}`, { cause: error });
    });
    for (const room of this.rooms) {
      const log = await readLog(revision, room);
      this.checker.verify(room, log);
      const stored = new Map(log.revisions.map(({ rev, data }): [number, string] => [rev, data]));
      assert.equal(this.publisher.epochsOf(room).length, 1, `${room} is one history`);
      const acknowledged = new Map(this.publisher.placesOf(room, log.epoch));
      assert.deepEqual(stored, acknowledged, `what the log has of ${room} is what was acknowledged`);
    }
    assert.deepEqual(this.checker.problems, [], 'what clients were given is what the log has');
    assert.deepEqual(this.publisher.doubled, [], 'no place was acknowledged twice');
    assert.deepEqual(
      this.clients.flatMap((client) => client.refusals),
      [],
      'no client was told that its history ended',
    );
    await this.verifyReplicas();
    this.report();
  }

  /** Removes everything; the containers' logs are shown first if the test failed. */
  async end(failed: boolean): Promise<void> {
    for (const client of this.clients) client.stop();
    if (failed) {
      await this.cluster.showLogs();
      this.report();
    }
    await this.cluster.dispose();
  }

  /** A node that has just come back is given time to catch up; what differs after that stays different. */
  private async verifyReplicas(): Promise<void> {
    const { nats } = this.cluster;
    const until = performance.now() + CAUGHT_UP_MS;
    for (;;) {
      const [first, ...others] = await readReplicas(nats);
      assert.ok(first !== undefined && first.messages > 0, 'the log is read from each node');
      const { messages, hash } = first;
      const different = others.find((other) => other.messages !== messages || other.hash !== hash);
      if (different === undefined) return;
      const told = { messages: different.messages, hash: different.hash };
      if (performance.now() > until) assert.deepEqual(told, { messages, hash }, `${different.node} and ${first.node}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  private report(): void {
    const { awayMs, behindMs } = this.checker.longestAbsence();
    const reconnects = this.clients.reduce((sum, client) => sum + client.reconnects, 0);
    console.info(
      `${this.options.name}: ${seconds(performance.now() - this.beganAt)} after the cluster was ready, ` +
        `${this.clients.length} clients, ${this.publisher.acknowledged} revisions, ${this.checker.received} deliveries, ` +
        `${reconnects} reconnects, away at most ${seconds(awayMs)}, behind at most ${seconds(behindMs)}, ` +
        `a publication at most ${seconds(this.publisher.longestMs)}, ` +
        `refusals ${JSON.stringify(Object.fromEntries(this.publisher.refusals))}`,
    );
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
