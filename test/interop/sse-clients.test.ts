/**
 * Clients of event streams as people have them, unmodified: the package `eventsource`, EventSource in a page of another
 * origin in Chromium, and curl. Behind a proxy that cuts and moves, over edges that are killed and stopped, each has
 * every revision once and in order.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EventSource } from 'eventsource';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { launchChromium } from '../support/chromium.js';
import { Cluster, type ServiceProcess } from '../support/cluster.js';
import { TestEdge } from '../support/edge.js';
import { revsFrom } from '../support/feed-parts.js';
import { EventReader } from '../support/sse-client.js';
import { SwitchProxy } from '../support/switch-proxy.js';
import { CHROMIUM, hasTool, type SystemTool } from '../support/system-tool.js';
import { waitFor } from '../support/wait-for.js';

const CURL: SystemTool = { probe: ['curl', '--version'], debianPackage: 'curl' };
const ROOMS = ['doc-1', 'räume/три', 'doc 3'];
const REVISIONS = 400;
const CLOSED = 2;

/** What a stream's client has had so far. */
interface Seen {
  /** `room/rev/n`, n being what the data says. */
  readonly revisions: readonly string[];
  readonly opened: number;
  readonly refused: readonly string[];
  readonly readyState: number;
}

interface StreamClient {
  readonly name: string;
  open(urls: readonly string[]): Promise<void>;
  /** In the order of the urls. */
  seen(): Promise<readonly Seen[]>;
  close(): Promise<void>;
}

/** Runs in Node and, as its own text, in a page: so it names nothing from outside. */
function follow(Source: typeof EventSource, url: string): Seen {
  const source = new Source(url);
  const seen = {
    revisions: [] as string[],
    opened: 0,
    refused: [] as string[],
    get readyState() {
      return source.readyState;
    },
    close: () => {
      source.close();
    },
  };
  source.addEventListener('open', () => {
    seen.opened += 1;
  });
  source.addEventListener('message', ({ data }) => {
    const {
      room,
      rev,
      data: content,
    } = JSON.parse(data as string) as { room: string; rev: number; data: { n: number } };
    seen.revisions.push(`${room}/${rev}/${content.n}`);
  });
  source.addEventListener('refused', ({ data }: { data: unknown }) => {
    seen.refused.push((JSON.parse(data as string) as { error: { code: string } }).error.code);
  });
  return seen;
}

class PackageClient implements StreamClient {
  readonly name = 'eventsource';
  private streams: Seen[] = [];

  open(urls: readonly string[]): Promise<void> {
    this.streams = urls.map((url) => follow(EventSource, url));
    return Promise.resolve();
  }

  seen(): Promise<readonly Seen[]> {
    return Promise.resolve(this.streams);
  }

  close(): Promise<void> {
    for (const stream of this.streams) (stream as Seen & { close(): void }).close();
    return Promise.resolve();
  }
}

class PageClient implements StreamClient {
  readonly name = 'Chromium';
  private page: Page | undefined;
  constructor(private readonly browser: () => Browser) {}

  async open(urls: readonly string[]): Promise<void> {
    this.page = await this.browser().newPage();
    await this.page.goto(pageUrl());
    await this.page.evaluate(
      `window.streams = ${JSON.stringify(urls)}.map((url) => (${follow.toString()})(EventSource, url)); 0`,
    );
  }

  async seen(): Promise<readonly Seen[]> {
    const text = await this.page?.evaluate<string>('JSON.stringify(window.streams)');
    return JSON.parse(text ?? '[]') as Seen[];
  }

  async close(): Promise<void> {
    await this.page?.close();
  }
}

let pages: Server;
let browser: Browser | undefined;
const hasChromium = hasTool(CHROMIUM, 'event streams in a browser');

function pageUrl(): string {
  return `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
}

function streamUrl(port: number, rooms: readonly string[], query = '&since=0'): string {
  return `http://127.0.0.1:${port}/v1/sse?${rooms.map((room) => `room=${encodeURIComponent(room)}`).join('&')}${query}`;
}

beforeAll(async () => {
  pages = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>streams</title>');
  });
  pages.listen(0, '127.0.0.1');
  await once(pages, 'listening');
  if (hasChromium) browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  pages.close();
});

function clients(): StreamClient[] {
  const started = browser;
  return [new PackageClient(), ...(started === undefined ? [] : [new PageClient(() => started)])];
}

describe('real processes', () => {
  let cluster: Cluster;
  let proxy: SwitchProxy;
  let producer: ServiceProcess;
  let edges: [ServiceProcess, ServiceProcess];
  const curls: ChildProcess[] = [];

  beforeAll(async () => {
    cluster = await Cluster.create();
    producer = await cluster.add('producer', 'producer');
    await cluster.add('revision', 'revision');
    const flags = ['--edge-sse-retry-ms', '200', '--edge-allowed-origins', pageUrl()];
    edges = [await cluster.add('edge', 'edge-1', flags), await cluster.add('edge', 'edge-2', flags)];
    await cluster.ready();
    proxy = await SwitchProxy.start(edges[0].port);
  });

  afterAll(async () => {
    for (const curl of curls) curl.kill();
    await proxy.stop();
    await cluster.dispose();
  });

  async function publish(room: string, n: number): Promise<void> {
    const response = await fetch(`${producer.url}/v1/rooms/${encodeURIComponent(room)}/revisions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ data: { n } }),
    });
    expect(response.status).toBe(201);
  }

  /** Publishes to all rooms; `faults` happen on the way, after so many. */
  async function publishAll(from: number, faults: ReadonlyMap<number, () => unknown>): Promise<void> {
    for (let n = from; n < from + REVISIONS; n += 1) {
      await Promise.all(ROOMS.map((room) => publish(room, n)));
      await faults.get(n - from)?.();
    }
  }

  it('[V2] [V3] [V10] cut, moved, killed and stopped: every revision once, in order', async () => {
    const [one, two] = edges;
    const sets = [['doc-1'], ROOMS, ['doc 3', 'doc-1'], ['räume/три']];
    const all = clients();
    await publish('doc-1', 1);
    for (const room of ROOMS.slice(1)) await publish(room, 1);
    for (const client of all) await client.open(sets.map((rooms) => streamUrl(proxy.port, rooms)));
    const opened = async () => (await Promise.all(all.map((client) => client.seen()))).flat();
    await waitFor(async () => (await opened()).every((stream) => stream.opened > 0), { what: 'all are open' });
    let stopping: Promise<unknown> | undefined;
    await publishAll(
      2,
      new Map<number, () => unknown>([
        [
          50,
          () => {
            proxy.switchTo(two.port);
          },
        ],
        [
          100,
          () => {
            proxy.cut();
          },
        ],
        [
          130,
          () => {
            proxy.restore(one.port);
          },
        ],
        [180, () => one.kill()],
        [
          200,
          () => {
            proxy.switchTo(two.port);
            one.start();
          },
        ],
        [280, () => one.ready()],
        // A balancer moves to another edge, then the old one is stopped.
        [
          300,
          () => {
            proxy.restore(one.port);
            stopping = two.stop();
          },
        ],
      ]),
    );
    await stopping;
    const last = REVISIONS + 1;
    for (const client of all) {
      const isDone = (stream: Seen, rooms: readonly string[]) => stream.revisions.length >= rooms.length * last;
      await waitFor(async () => (await client.seen()).every((stream, index) => isDone(stream, sets[index] ?? [])), {
        timeoutMs: 30_000,
        what: `${client.name} has all`,
      });
      for (const [index, stream] of (await client.seen()).entries()) {
        for (const room of sets[index] ?? []) {
          const own = stream.revisions.filter((revision) => revision.startsWith(`${room}/`));
          expect(own).toEqual(revsFrom(1, last).map((rev) => `${room}/${rev}/${rev}`));
        }
        expect(stream.opened).toBeGreaterThanOrEqual(4);
        expect(stream.refused).toEqual([]);
      }
      await client.close();
    }
    two.start();
    await two.ready();
  });

  it.runIf(hasTool(CURL, 'event streams with curl'))(
    '[V2] curl -N, ended in the middle and started again',
    async () => {
      const begin = async (edge: ServiceProcess, lastEventId: string): Promise<EventReader> => {
        const reader = new EventReader(lastEventId);
        const header = lastEventId === '' ? [] : ['-H', `Last-Event-ID: ${lastEventId}`];
        const curl = spawn('curl', ['-N', '-s', ...header, streamUrl(edge.port, ROOMS, '')], { stdio: 'pipe' });
        curls.push(curl);
        curl.stdout.setEncoding('utf8').on('data', (chunk: string) => {
          reader.read(chunk);
        });
        await reader.toldOf('subscribed', ROOMS.length);
        return reader;
      };
      const first = await begin(edges[0], '');
      const start = first.told('subscribed').find(({ room }) => room === 'doc-1')?.rev ?? 0;
      for (let n = 1; n <= 50; n += 1) await publish('doc-1', n);
      await first.upTo('doc-1', start + 50);
      curls[0]?.kill();
      for (let n = 1; n <= 50; n += 1) await publish('doc-1', n);
      const again = await begin(edges[1], first.lastEventId);
      const revs = [...first.revs('doc-1'), ...(await again.upTo('doc-1', start + 100))];
      expect(revs).toEqual(revsFrom(start + 1, start + 100));
    },
  );
});

describe('a position that is gone', () => {
  let edge: TestEdge;

  afterEach(async () => {
    await edge.stop();
  });

  it('[V5] an EventSource is told, comes back once, and stops', async () => {
    edge = await TestEdge.start({ keep: 5, settings: { sseRetryMs: 50, allowedOrigins: '*' } });
    await edge.appendMany('a', 20);
    const proxy = await SwitchProxy.start(edge.port);
    for (const client of clients()) {
      await client.open([streamUrl(proxy.port, ['a'], '&since=another.3.01020304')]);
      const stream = async () => (await client.seen())[0];
      await waitFor(async () => (await stream())?.readyState === CLOSED, { what: `${client.name} stops` });
      expect(await stream()).toMatchObject({ opened: 1, refused: ['epoch_changed'], revisions: [] });
      await client.close();
    }
    await proxy.stop();
  });
});
