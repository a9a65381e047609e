/** A producer's hint after a retried append, over a real nats-server: edges that follow the room look at its head. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEdge } from '../../services/edge/main.js';
import type { EntryStore } from '../../services/log/entry-store.js';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import type { LiveLog } from '../../services/log/log.js';
import { openLiveLog } from '../../services/log/open-log.js';
import { hintSubject } from '../../services/log/subjects.js';
import { RevisionService } from '../../services/revision/service.js';
import { systemClock } from '../../services/shared/clock.js';
import { silentLogger as logger } from '../../services/shared/logger.js';
import { defaultEdgeSettings } from '../support/edge-parts.js';
import { openJetStreamLog, testLink, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { PlainClient } from '../support/plain-client.js';
import { settings as revisionSettings } from '../support/revision-parts.js';
import { waitFor } from '../support/wait-for.js';

/** What becomes of the next put's answer. */
let fate: 'given' | 'stored, but the answer is lost' | 'lost before it is stored' = 'given';

/** A store over which answers get lost. */
function unreliable(store: EntryStore): EntryStore {
  return {
    get maxEntryBytes() {
      return store.maxEntryBytes;
    },
    last: (room, options) => store.last(room, options),
    next: (room, afterSeq) => store.next(room, afterSeq),
    recent: (room, window) => store.recent(room, window),
    async put(entry, expectedSeq) {
      const was = fate;
      fate = 'given';
      if (was === 'given') return store.put(entry, expectedSeq);
      if (was === 'stored, but the answer is lost') await store.put(entry, expectedSeq);
      return { kind: 'unknown', cause: new Error('no answer') };
    },
  };
}

let server: NatsServer;
let producer: TestLog;
let link: NatsLink;
let live: LiveLog;

beforeEach(async () => {
  server = await NatsServer.start();
  producer = await openJetStreamLog(server.url, { wrapStore: unreliable });
  link = testLink(server.url);
  link.start();
  live = openLiveLog({ link, logger, clock: systemClock });
  await waitFor(() => link.up, { what: 'the link is up' });
});

afterEach(async () => {
  await live.close();
  await link.close();
  await producer.close();
  await server.dispose();
});

function append(room: string) {
  return producer.log.append(room, { revisions: [{ data: Buffer.from('1') }] });
}

/** Whether anybody has subscribed to hints. */
async function listened(): Promise<boolean> {
  try {
    await link.requestMessage(hintSubject('a'), Buffer.from(''), { timeoutMs: 100 });
    return true;
  } catch (error) {
    return (error as { failure?: string }).failure !== 'no_responders';
  }
}

describe('the producer’s hint', () => {
  it('[D5] comes after an append that was found by reading, or sent again, and after no other', async () => {
    const told: string[] = [];
    live.onDisturbance((disturbance, room) => told.push(`${disturbance} ${room}`));
    const entries: number[] = [];
    const following = live.follow(['a é', 'b'], ({ firstRev }) => entries.push(firstRev));
    await following.ready;
    await append('a é');
    await append('b');
    await waitFor(() => entries.length === 2, { what: 'both are delivered' });
    expect(told).toEqual([]);
    fate = 'stored, but the answer is lost';
    expect(await append('a é')).toMatchObject({ rev: 2, duplicate: false });
    await waitFor(() => told.length === 1, { what: 'a hint' });
    fate = 'lost before it is stored';
    expect(await append('b')).toMatchObject({ rev: 2, duplicate: false });
    await waitFor(() => told.length === 2, { what: 'another hint' });
    expect(told).toEqual(['hinted a é', 'hinted b']);
    following.stop();
  });

  it('[D5] is subscribed to only while rooms are followed', async () => {
    expect(await listened()).toBe(false);
    const one = live.follow(['a'], () => undefined);
    const other = live.follow(['b'], () => undefined);
    await Promise.all([one.ready, other.ready]);
    expect(await listened()).toBe(true);
    one.stop();
    expect(await listened()).toBe(true);
    other.stop();
    other.stop();
    expect(await listened()).toBe(false);
  });

  it('[D5] shows an edge what its live path lost, although the room then falls silent', async () => {
    const deaf: LiveLog = {
      follow: (rooms) => live.follow(rooms, () => undefined),
      status: () => live.status(),
      onDisturbance: (listener) => live.onDisturbance(listener),
      close: () => live.close(),
    };
    const reader = new RevisionService({ log: producer.log, clock: systemClock, settings: revisionSettings });
    const settings = { ...defaultEdgeSettings, lookEveryMs: 3_600_000 };
    const edge = await startEdge({ settings, live: deaf, reader, logger, clock: systemClock });
    const client = await PlainClient.connect(`${edge.url.replace('http', 'ws')}/v1/ws`);
    try {
      await client.subscribe('silent');
      // Past the second look, nothing but a hint makes it look.
      await append('silent');
      await client.upTo('silent', 1);
      fate = 'stored, but the answer is lost';
      await append('silent');
      expect(await client.upTo('silent', 2)).toEqual([1, 2]);
    } finally {
      client.close();
      await edge.stop();
    }
  });
});
