/** What the edge's rooms and sessions share: made once per edge, given to all. */
import type { Clock } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import type { LiveLog } from '../log/log.js';
import type { RevisionReader } from '../revision/contract.js';
import type { CatchUp } from './catch-up.js';
import type { EdgeCounters } from './counters.js';
import type { Flusher } from './flusher.js';
import type { FrameRing } from './frame-ring.js';
import type { Frames } from './frames.js';
import type { HeadLookup } from './head-lookup.js';
import type { Pages } from './pages.js';
import type { Publishing } from './publishing.js';
import type { RingBudget } from './ring-budget.js';
import type { Rooms } from './rooms.js';
import type { EdgeSettings } from './settings.js';
import type { Slot } from './slot.js';
import type { Snapshots } from './snapshots.js';
import type { SocketWriter } from './socket-writer.js';

export interface EdgeParts {
  readonly settings: EdgeSettings;
  readonly live: LiveLog;
  readonly reader: RevisionReader;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: EdgeCounters;
  readonly lookup: HeadLookup;
  readonly pages: Pages;
  readonly snapshots: Snapshots;
  readonly budget: RingBudget;
  readonly frames: Frames;
  readonly flusher: Flusher;
  readonly writer: SocketWriter;
  readonly catchUp: CatchUp;
  readonly publishing: Publishing;
  readonly rooms: Rooms;
  isLatest(room: string): boolean;
  newRing(): FrameRing<Slot>;
}
