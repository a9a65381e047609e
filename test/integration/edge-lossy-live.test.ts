import { afterEach, expect, it } from 'vitest';
import type { LiveLog } from '../../services/log/log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { ReaderDouble } from '../support/edge-doubles.js';
import { TestEdge } from '../support/edge.js';
import { revsFrom } from '../support/feed-parts.js';
import { LossyLive } from '../support/lossy-live.js';
import { settle } from '../support/manual-clock.js';
import { PlainClient } from '../support/plain-client.js';
import { Random, testSeed } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

const ROOMS: readonly [string, ...string[]] = ['a', 'b', 'c'];
const REVISIONS = 400;

/** A client that comes, goes, and comes again where it was, as clients on bad networks do. */
class Wanderer {
  private readonly seen = new Map(ROOMS.map((room) => [room, [] as number[]]));
  private readonly positions = new Map<string, { epoch: string; rev: number; tag?: string }>();
  private client: PlainClient | undefined;
  codes: string[] = [];

  constructor(private readonly url: string) {}

  async come(): Promise<void> {
    const client = await PlainClient.connect(this.url);
    this.client = client;
    await Promise.all(ROOMS.map((room) => this.join(client, room)));
  }

  go(): void {
    const { client } = this;
    if (client === undefined) return;
    client.close();
    this.client = undefined;
    this.codes.push(...client.codes);
    for (const room of ROOMS) {
      this.seen.get(room)?.push(...client.revs(room));
      for (const { epoch, rev = 0, tag = '' } of client.revisions(room)) {
        const before = this.positions.get(room)?.epoch ?? '';
        this.positions.set(room, { epoch: epoch ?? before, rev, tag });
      }
    }
  }

  revs(room: string): number[] {
    return [...(this.seen.get(room) ?? []), ...(this.client?.revs(room) ?? [])];
  }

  /** Again and again, while the log cannot be asked. */
  private async join(client: PlainClient, room: string): Promise<void> {
    const since = this.positions.get(room) ?? 0;
    await waitFor(
      async () => {
        const { subscribed, epoch = '', rev = 0, tag } = await client.subscribe(room, { since });
        if (subscribed !== true) return false;
        if (!this.positions.has(room)) this.positions.set(room, { epoch, rev, ...(tag === undefined ? {} : { tag }) });
        return true;
      },
      { what: `room ${room} is joined` },
    );
  }
}

const seed = testSeed();
let edge: TestEdge | undefined;

afterEach(async () => {
  await edge?.stop();
});

it(`[D5] over a live path that loses, repeats and delays, and with a log that often cannot be asked, every client has everything once (seed ${seed})`, async () => {
  const random = new Random(seed);
  const store = new MemoryStore();
  const reader = new ReaderDouble(store);
  const lossy = (log: LiveLog) => new LossyLive(log, random);
  edge = await TestEdge.start({
    settings: { ringKeepRevisions: 20, pageRevisions: 25, lookEveryMs: 200 },
    store,
    reader,
    live: lossy,
  });
  const running = edge;
  const live = running.live as LossyLive;
  const wanderers = revsFrom(1, 6).map(() => new Wanderer(running.wsUrl));
  for (const wanderer of wanderers) await wanderer.come();
  for (let i = 1; i <= REVISIONS; i += 1) {
    await Promise.all(ROOMS.map((room) => running.append(room, `{"n":${i}}`)));
    reader.unavailable = random.chance(reader.unavailable ? 0.7 : 0.05);
    if (random.chance(0.05)) live.disturb(random.pick(['leader_elected', 'reconnected']));
    await settle(random.whole(1, 3));
    if (!random.chance(0.1)) continue;
    // The first one never goes.
    const wanderer = wanderers[random.whole(1, wanderers.length - 1)];
    wanderer?.go();
    reader.unavailable = false;
    await wanderer?.come();
  }
  reader.unavailable = false;
  for (const room of ROOMS) {
    for (const wanderer of wanderers) {
      await waitFor(() => wanderer.revs(room).at(-1) === REVISIONS, { what: `the end of ${room}` });
      expect(wanderer.revs(room)).toEqual(revsFrom(1, REVISIONS));
    }
  }
  for (const wanderer of wanderers) {
    wanderer.go();
    expect(wanderer.codes.filter((code) => code !== 'log_unavailable')).toEqual([]);
  }
  expect(live.lost).toBeGreaterThan(50);
});
