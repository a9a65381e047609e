/** Makes an edge's parts from what it is given. They know each other, so they are made in one place. */
import type { Publisher } from '../producer/contract.js';
import { CatchUp } from './catch-up.js';
import { EdgeCounters } from './counters.js';
import type { EdgeParts } from './edge-parts.js';
import { Flusher } from './flusher.js';
import { Frames } from './frames.js';
import { HeadLookup } from './head-lookup.js';
import { Pages } from './pages.js';
import { Publishing } from './publishing.js';
import { RingBudget } from './ring-budget.js';
import { newRing } from './ring-choice.js';
import { roomMatcher } from './room-pattern.js';
import { Rooms } from './rooms.js';
import { Snapshots } from './snapshots.js';
import { SocketWriter } from './socket-writer.js';

export interface GivenParts extends Pick<EdgeParts, 'settings' | 'live' | 'reader' | 'logger' | 'clock'> {
  readonly publisher?: Publisher | undefined;
}

export function composeEdge(given: GivenParts): EdgeParts {
  const { settings, reader, logger, clock } = given;
  const counters = new EdgeCounters();
  const budget = new RingBudget(settings.ringTotalBytes, counters);
  const flusher = new Flusher({ mode: settings.flush, delayMs: settings.flushMs }, clock, logger, counters);
  const shared = { ...given, counters, flusher, pages: new Pages(reader, settings) };
  const parts: EdgeParts = {
    ...shared,
    budget,
    lookup: new HeadLookup(reader, clock, logger),
    snapshots: new Snapshots(reader, clock, settings.snapshotCacheBytes),
    frames: new Frames({ minSavingBytes: settings.deflateMinSaving, shared: settings.fanout === 'prepared' }, counters),
    catchUp: new CatchUp(shared),
    publishing: new Publishing({ ...shared, publisher: given.publisher }),
    isLatest: roomMatcher(settings.latestRooms),
    newRing: () =>
      newRing(
        settings.ring,
        0,
        {
          keepRevisions: settings.ringKeepRevisions,
          keepBytes: settings.ringKeepBytes,
          maxRevisions: settings.ringMaxRevisions,
          maxBytes: settings.ringMaxBytes,
        },
        budget,
      ),
    get writer() {
      return writer;
    },
    get rooms() {
      return rooms;
    },
  };
  const writer = new SocketWriter(parts);
  const rooms: Rooms = new Rooms(parts);
  return parts;
}
