/**
 * Doubles behind the edge's three ports: the live half of the log, the revision reader, and uWebSockets.js. What is
 * committed is a memory store, read through the real revision service; the doubles decide what arrives, and when.
 */
import { slotsOf } from '../../services/edge/slot.js';
import type { Disturbance, DisturbanceListener, Entry, Following, LiveLog, LogStatus } from '../../services/log/log.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { newTag } from '../../services/log/numbering.js';
import { revisionJson } from '../../services/log/revision-json.js';
import type {
  KnownHead,
  RangeAnswer,
  RangeQuery,
  RevisionReader,
  RoomHead,
  SnapshotAnswer,
} from '../../services/revision/contract.js';
import { RevisionService } from '../../services/revision/service.js';
import { RevcastError } from '../../services/shared/errors.js';
import { hastyClock, settings as revisionSettings } from './revision-parts.js';

/** The live path, which delivers what the test says, as often and in whatever order. */
export class LiveDouble implements LiveLog {
  state: LogStatus = { state: 'ready' };
  /** What `follow` answers as `ready`. */
  ready: Promise<void> = Promise.resolve();
  /** How often `follow` was called. */
  followed = 0;
  private readonly listeners = new Map<string, Set<(entry: Entry) => void>>();
  private readonly disturbanceListeners = new Set<DisturbanceListener>();

  follow(rooms: readonly string[], onEntry: (entry: Entry) => void): Following {
    this.followed += 1;
    for (const room of rooms) {
      const listeners = this.listeners.get(room) ?? new Set();
      this.listeners.set(room, listeners.add(onEntry));
    }
    return {
      ready: this.ready,
      stop: () => {
        for (const room of rooms) this.listeners.get(room)?.delete(onEntry);
      },
    };
  }

  /** Followers of the room now. */
  followers(room: string): number {
    return this.listeners.get(room)?.size ?? 0;
  }

  deliver(...entries: readonly Entry[]): void {
    for (const entry of entries) for (const listener of this.listeners.get(entry.room) ?? []) listener(entry);
  }

  disturb(disturbance: Disturbance, room?: string): void {
    for (const listener of this.disturbanceListeners) listener(disturbance, room);
  }

  status(): LogStatus {
    return this.state;
  }

  onDisturbance(listener: DisturbanceListener): () => void {
    this.disturbanceListeners.add(listener);
    return () => this.disturbanceListeners.delete(listener);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A room's committed history, written past all numbering, so that a test can rewrite it. */
export class History {
  constructor(
    readonly store: MemoryStore,
    readonly room: string,
    public epoch = 'e1',
  ) {}

  /** One more entry of `count` revisions, whose data is `{"n":<rev>}` or what `data` makes of the rev. */
  async add(count = 1, data: (rev: number) => string = (rev) => `{"n":${rev}}`): Promise<Entry> {
    const before = this.store.entriesOf(this.room).at(-1);
    const firstRev = before === undefined ? 1 : before.firstRev + before.revisions.length;
    const time = 1_000 * firstRev;
    await this.store.put(
      {
        room: this.room,
        epoch: this.epoch,
        tag: newTag(),
        appendId: newTag(),
        firstRev,
        previousTime: before?.revisions.at(-1)?.time ?? 0,
        previousSeq: before?.seq ?? 0,
        ...(before === undefined ? {} : { previousTag: before.tag }),
        revisions: Array.from({ length: count }, (_, index) => ({
          time: time + index,
          data: Buffer.from(data(firstRev + index)),
        })),
      },
      before?.seq ?? 0,
    );
    const added = this.store.entriesOf(this.room).at(-1);
    if (added === undefined || added === before) throw new Error('the entry was not stored');
    return added;
  }

  /** Removes everything: what is added next has other tags, and another epoch if one is given. */
  restart(epoch = this.epoch): void {
    this.store.removeHistory(this.room);
    this.epoch = epoch;
  }

  get last(): Entry {
    const last = this.store.entriesOf(this.room).at(-1);
    if (last === undefined) throw new Error(`room ${this.room} is empty`);
    return last;
  }

  /** Every revision as clients are to see it. */
  texts(): string[] {
    return this.store
      .entriesOf(this.room)
      .flatMap((entry) => slotsOf(entry).map(({ revision }) => revisionJson(revision).toString()));
  }
}

/** The real revision service on a store; a test answers single calls itself, or says that nobody answers. */
export class ReaderDouble implements RevisionReader {
  unavailable = false;
  readonly asked = { heads: 0, range: 0, snapshot: 0 };
  readonly ranges: RangeQuery[] = [];
  readonly headsAsked: (readonly KnownHead[])[] = [];
  private readonly headsCalls: RevisionReader['heads'][] = [];
  private readonly rangeCalls: RevisionReader['range'][] = [];
  private readonly snapshotCalls: RevisionReader['snapshot'][] = [];
  readonly real: RevisionReader;
  /** The log that it reads: a test may put snapshots there. */
  readonly log: MemoryLog;

  constructor(store: MemoryStore) {
    const log = new MemoryLog({ clock: hastyClock, store });
    this.log = log;
    this.real = new RevisionService({ log, clock: hastyClock, settings: revisionSettings });
  }

  nextHeads(...answers: RevisionReader['heads'][]): void {
    this.headsCalls.push(...answers);
  }

  nextRange(...answers: RevisionReader['range'][]): void {
    this.rangeCalls.push(...answers);
  }

  nextSnapshot(...answers: RevisionReader['snapshot'][]): void {
    this.snapshotCalls.push(...answers);
  }

  async snapshot(room: string): Promise<SnapshotAnswer> {
    this.asked.snapshot += 1;
    if (this.unavailable) throw new RevcastError('log_unavailable', 'nobody answers');
    return (this.snapshotCalls.shift() ?? this.real.snapshot.bind(this.real))(room);
  }

  async heads(known: readonly KnownHead[]): Promise<readonly RoomHead[]> {
    this.asked.heads += 1;
    this.headsAsked.push(known);
    if (this.unavailable) throw new RevcastError('log_unavailable', 'nobody answers');
    return (this.headsCalls.shift() ?? this.real.heads.bind(this.real))(known);
  }

  async range(query: RangeQuery): Promise<RangeAnswer> {
    this.asked.range += 1;
    this.ranges.push(query);
    if (this.unavailable) throw new RevcastError('log_unavailable', 'nobody answers');
    return (this.rangeCalls.shift() ?? this.real.range.bind(this.real))(query);
  }
}

/** A promise that the test settles. */
export class Gate<T = void> {
  readonly promise: Promise<T>;
  open: (value: T) => void = () => undefined;
  fail: (error: Error) => void = () => undefined;

  constructor() {
    this.promise = new Promise<T>((resolve, reject) => {
      this.open = resolve;
      this.fail = reject;
    });
  }
}
