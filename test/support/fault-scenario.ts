/**
 * What every fault test is made of: the built program as processes on a real nats-server, at least MIN_CLIENTS clients
 * over two edges in several rooms, steady and joining late, reading single messages and batches, compressed or not;
 * publishers who go on during the fault; and at the end the proof: every client has everything the log has, once, in order,
 * byte for byte, and the log has what was acknowledged.
 * The seed is in the test's title; TEST_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { Checker } from '../load/checker.js';
import { FleetClient, type FleetClientOptions } from '../load/fleet-client.js';
import { readHead, readLog } from '../load/log-copy.js';
import { Publisher, type PublisherOptions } from '../load/publisher.js';
import { Cluster, type ServiceKind, type ServiceOptions, type ServiceProcess } from './cluster.js';
import type { NatsServer } from './nats-server.js';
import { Random } from './random.js';
import { waitFor } from './wait-for.js';

const MIN_CLIENTS = 200;
const JOIN_MS = 45_000;
const CAUGHT_UP_MS = 60_000;
const ROOMS = ['doc-1', 'doc-2', 'räume/три', 'doc-4', 'doc-5'] as const;

type Address = readonly [string, ...string[]];

export interface ScenarioOptions {
  readonly seed: number;
  readonly name: string;
  readonly nats?: NatsServer;
  readonly rooms?: readonly [string, ...string[]];
  /** Of each service, by name: what differs from the usual. */
  readonly services?: Readonly<Record<string, ServiceOptions>>;
  readonly publisher?: Partial<Pick<PublisherOptions, 'lanes' | 'restMs' | 'filling' | 'rooms'>>;
  /** Told of a lost history, clients begin anew. */
  readonly clientsBeginAnew?: boolean;
}

export class FaultScenario {
  readonly checker = new Checker();
  readonly random: Random;
  readonly rooms: readonly [string, ...string[]];
  readonly clients: FleetClient[] = [];
  readonly publisher: Publisher;
  readonly services = new Map<string, ServiceProcess>();
  private readonly beganAt = performance.now();

  private constructor(
    private readonly options: ScenarioOptions,
    readonly cluster: Cluster,
  ) {
    this.random = new Random(options.seed);
    this.rooms = options.rooms ?? ROOMS;
    this.publisher = new Publisher({
      producers: () => this.urls('producer-1', 'producer-2'),
      rooms: this.rooms,
      checker: this.checker,
      random: new Random(options.seed + 1),
      lanes: 10,
      restMs: 100,
      ...options.publisher,
    });
  }

  /** Two producers, a revision service and two edges are ready, clients have joined, and publishing goes on. */
  static async start(options: ScenarioOptions): Promise<FaultScenario> {
    const scenario = new FaultScenario(options, await Cluster.create(options.nats));
    try {
      await scenario.startServices();
      scenario.publisher.start();
      // Some rooms have revisions already when clients join, others not yet.
      for (let i = 0; i < MIN_CLIENTS; i += 1) scenario.join(i);
      await scenario.allJoined();
    } catch (error) {
      await scenario.dispose();
      throw error;
    }
    return scenario;
  }

  service(name: string): ServiceProcess {
    const service = this.services.get(name);
    if (service === undefined) throw new Error(`there is no ${name}`);
    return service;
  }

  get nats(): NatsServer {
    return this.cluster.nats;
  }

  /** One more client, of the kind that its number makes it. */
  join(number: number, options: Partial<FleetClientOptions> = {}): FleetClient {
    const room = this.rooms[number % this.rooms.length] ?? this.rooms[0];
    const client = new FleetClient({
      name: `client-${number}`,
      edges: () => this.urls('edge-1', 'edge-2'),
      rooms: [...new Set([room, ...(number % 10 === 0 ? [this.rooms[0]] : [])])],
      checker: this.checker,
      random: this.random,
      batch: number % 2 === 0,
      deflate: number % 4 < 2,
      beginsAnew: this.options.clientsBeginAnew === true,
      ...options,
    });
    this.clients.push(client);
    client.start();
    return client;
  }

  /** Clients who come now: half from the beginning, half with the position that another client has. */
  joinLate(count: number): void {
    for (let i = 0; i < count; i += 1) {
      const number = this.clients.length;
      const others = this.clients.slice(0, MIN_CLIENTS);
      const since = (room: string) => {
        if (i % 2 === 0) return 0;
        const at = others.find((client) => client.positionIn(room) !== undefined)?.positionIn(room);
        return at === undefined ? 0 : { ...at };
      };
      this.join(number, { since });
    }
  }

  allJoined(): Promise<void> {
    return waitFor(() => this.clients.every((client) => client.joined), {
      timeoutMs: JOIN_MS,
      what: 'all have joined',
    });
  }

  /** Waits until so many more revisions were acknowledged: publishing goes on. */
  async publishes(revisions: number, timeoutMs = 60_000): Promise<void> {
    const wanted = this.publisher.acknowledged + revisions;
    await waitFor(() => this.publisher.acknowledged >= wanted, { timeoutMs, what: `${revisions} more are published` });
  }

  /** Ends publishing, waits until every client is at the heads, and holds everything against the log. */
  async verify(): Promise<void> {
    await this.publisher.stop();
    const revision = this.service('revision-1').url;
    const rooms = [...new Set(this.clients.flatMap((client) => client.rooms))];
    const heads = new Map<string, number>();
    for (const room of rooms) heads.set(room, (await readHead(revision, room)).rev);
    await waitFor(() => this.clients.every((client) => client.isAt(heads)), {
      timeoutMs: CAUGHT_UP_MS,
      what: 'all clients are at the heads',
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; ${this.stragglers(heads)}`, { cause: error });
    });
    for (const room of rooms) {
      const log = await readLog(revision, room);
      this.checker.verify(room, log);
      const stored = new Map(log.revisions.map(({ rev, data }): [number, string] => [rev, data]));
      const acknowledged = new Map(this.publisher.placesOf(room, log.epoch));
      if (this.options.clientsBeginAnew !== true)
        assert.equal(this.publisher.epochsOf(room).length, 1, `${room} is one history`);
      assert.deepEqual(stored, acknowledged, `what the log has of ${room} is what was acknowledged`);
    }
    assert.deepEqual(this.checker.problems, [], 'what clients were given is what the log has');
    assert.deepEqual(this.publisher.doubled, [], 'no place was acknowledged twice');
    this.report();
  }

  /** Codes that clients were told, with how often. */
  get told(): Readonly<Record<string, number>> {
    const told: Record<string, number> = {};
    for (const { code } of this.clients.flatMap(({ refusals }) => refusals)) told[code] = (told[code] ?? 0) + 1;
    return told;
  }

  async dispose(): Promise<void> {
    for (const client of this.clients) client.stop();
    await this.cluster.dispose();
  }

  private report(): void {
    const { awayMs, behindMs } = this.checker.longestAbsence();
    const reconnects = this.clients.reduce((sum, client) => sum + client.reconnects, 0);
    console.info(
      `${this.options.name}: ${seconds(performance.now() - this.beganAt)}, ${this.clients.length} clients, ` +
        `${this.publisher.acknowledged} revisions, ${this.checker.received} deliveries, ${reconnects} reconnects, ` +
        `away at most ${seconds(awayMs)}, behind at most ${seconds(behindMs)}, ` +
        `a publication at most ${seconds(this.publisher.longestMs)}, ` +
        `refusals ${JSON.stringify(Object.fromEntries(this.publisher.refusals))}, told ${JSON.stringify(this.told)}`,
    );
  }

  private stragglers(heads: ReadonlyMap<string, number>): string {
    const behind = this.clients.filter((client) => !client.isAt(heads));
    const [first] = behind;
    const stands = first?.rooms.map((room) => `${room}: ${first.positionIn(room)?.rev} of ${heads.get(room)}`);
    return `${behind.length} are not, ${first?.name} is ${first?.connected ? '' : 'not '}connected, ${stands?.join(', ')}`;
  }

  private urls(...names: readonly [string, ...string[]]): Address {
    const [first, ...others] = names;
    return [this.service(first).url, ...others.map((name) => this.service(name).url)];
  }

  private async startServices(): Promise<void> {
    const kinds: readonly [string, ServiceKind][] = [
      ['revision-1', 'revision'],
      ['producer-1', 'producer'],
      ['producer-2', 'producer'],
      ['edge-1', 'edge'],
      ['edge-2', 'edge'],
    ];
    for (const [name, kind] of kinds) {
      this.services.set(name, await this.cluster.add(kind, name, this.options.services?.[name] ?? {}));
    }
    await this.cluster.ready();
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
