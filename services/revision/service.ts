/**
 * Answers heads and ranges from the log. Invariant: an answer never hides a hole. It follows the asked position, or it
 * is `truncated` or `epoch_changed`; and `epoch_changed` is said only of a head that the log's leader has confirmed.
 *
 * Reads of the log may be a little stale (up to 26 ms seen right after an append, for ever from an isolated node) and
 * the room may change between two of them. A read that the confirmed head contradicts is done again, READ_ATTEMPTS
 * times in all, then the answer is `log_unavailable`.
 *
 * It holds no state but snapshots just read: what it reads from is a `PageSource`, the log itself or a cache in front of it.
 */
import type { Clock } from '../shared/clock.js';
import { sleep } from '../shared/clock.js';
import { RevcastError } from '../shared/errors.js';
import type { Values } from '../shared/settings.js';
import type { Head, Log } from '../log/log.js';
import type {
  ClientPosition,
  KnownHead,
  RangeAnswer,
  RangeQuery,
  RevisionReader,
  RoomHead,
  SnapshotAnswer,
} from './contract.js';
import { hasTag, isStart, judge, type ReadPoint, type Verdict } from './position-check.js';
import type { revisionSettings } from './settings.js';
import { SnapshotAnswers } from './snapshot-answers.js';

const READ_ATTEMPTS = 4;
/** Waits between the attempts: 10, 20 and 30 ms, more than the staleness seen. */
const READ_WAIT_MS = 10;

/** Ranges, and heads confirmed by the log's leader. */
export type PageSource = Pick<Log, 'range' | 'heads'>;

export interface RevisionServiceParts {
  readonly log: PageSource & Pick<Log, 'snapshot'>;
  readonly clock: Clock;
  readonly settings: Pick<
    Values<typeof revisionSettings>,
    'revisionPageRevisions' | 'revisionPageBytes' | 'revisionSnapshotCacheBytes'
  >;
}

export class RevisionService implements RevisionReader {
  private readonly log: PageSource;
  private readonly clock: Clock;
  private readonly maxRevisions: number;
  private readonly maxBytes: number;
  private readonly snapshots: SnapshotAnswers;

  constructor({ log, clock, settings }: RevisionServiceParts) {
    this.log = log;
    this.clock = clock;
    this.maxRevisions = settings.revisionPageRevisions;
    this.maxBytes = settings.revisionPageBytes;
    this.snapshots = new SnapshotAnswers({
      log,
      range: (query) => this.range(query),
      clock,
      maxBytes: settings.revisionSnapshotCacheBytes,
    });
  }

  async heads(known: readonly KnownHead[]): Promise<readonly RoomHead[]> {
    if (known.length === 0) return [];
    const heads = await this.log.heads([...new Set(known.map(({ room }) => room))]);
    return known.flatMap(({ room, position }) => {
      const head = heads.get(room);
      // It cannot be read: nothing can be said of it, and what the asker knows stands.
      if (head === undefined) return [];
      return position !== null && isAt(position, head) ? [] : [{ room, head }];
    });
  }

  async range(query: RangeQuery): Promise<RangeAnswer> {
    const page: RangeQuery = {
      ...query,
      limit: Math.max(1, Math.min(query.limit, this.maxRevisions)),
      maxBytes: Math.max(1, Math.min(query.maxBytes, this.maxBytes)),
    };
    for (let attempt = 1; attempt <= READ_ATTEMPTS; attempt += 1) {
      const answer = await this.read(page);
      if (answer !== 'stale') return answer;
      if (attempt < READ_ATTEMPTS) await sleep(this.clock, READ_WAIT_MS * attempt);
    }
    throw new RevcastError('log_unavailable', `reads of room ${JSON.stringify(query.room)} lag behind its head`);
  }

  snapshot(room: string): Promise<SnapshotAnswer> {
    return this.snapshots.of(room);
  }

  private async read(query: RangeQuery): Promise<RangeAnswer | 'stale'> {
    const { after } = query;
    if (after === null || !hasTag(after)) return this.readNext(query, query.hint);
    // One read shows the position's tag and, nearly always, what follows it.
    const verdict = await this.readAt({ after, from: 'position' }, query, query.hint);
    switch (verdict.kind) {
      case 'read_behind':
        return this.readNext(query, verdict.hint);
      case 'tag_gone':
        return this.readNext(query, query.hint);
      case 'follows':
      case 'at_head':
      case 'truncated':
      case 'suspicion':
        return this.conclude(query, verdict);
    }
  }

  private async readNext(query: RangeQuery, hint: number | undefined): Promise<RangeAnswer | 'stale'> {
    const verdict = await this.readAt({ after: query.after, from: 'next' }, query, hint);
    if (verdict.kind === 'read_behind' || verdict.kind === 'tag_gone') {
      throw new Error(`invariant broken: ${verdict.kind} of a read behind the position`);
    }
    return this.conclude(query, verdict);
  }

  private async readAt(point: ReadPoint, query: RangeQuery, hint: number | undefined): Promise<Verdict> {
    const { after, from } = point;
    const fromRev = after === null ? 'first' : from === 'position' ? after.rev : after.rev + 1;
    const range = await this.log.range(query.room, fromRev, {
      limit: from === 'position' ? query.limit + 1 : query.limit,
      maxBytes: query.maxBytes,
      ...(hint === undefined ? {} : { hint }),
    });
    return judge(point, range);
  }

  private async conclude(
    { room, after }: RangeQuery,
    verdict: Exclude<Verdict, { kind: 'read_behind' | 'tag_gone' }>,
  ): Promise<RangeAnswer | 'stale'> {
    switch (verdict.kind) {
      case 'follows':
        return { kind: 'entries', entries: verdict.entries, head: verdict.head };
      case 'truncated':
        return { kind: 'truncated', firstRev: verdict.firstRev, head: verdict.head };
      case 'at_head': {
        const head = await this.confirmedHead(room);
        return sameHead(head, verdict.head) ? { kind: 'entries', entries: [], head } : 'stale';
      }
      case 'suspicion': {
        const head = await this.confirmedHead(room);
        if (after === null || isStart(after)) return head === null ? { kind: 'entries', entries: [], head } : 'stale';
        return verdict.of === 'rewritten' || !contains(head, after) ? { kind: 'epoch_changed', head } : 'stale';
      }
    }
  }

  private async confirmedHead(room: string): Promise<Head | null> {
    const head = (await this.log.heads([room])).get(room);
    if (head === undefined) throw new RevcastError('internal', `room ${JSON.stringify(room)} cannot be read`);
    return head;
  }
}

/** Whether the head is what the asker knows. */
function isAt(position: ClientPosition, head: Head | null): boolean {
  if (head === null) return isStart(position);
  return position.epoch === head.epoch && position.rev === head.rev && (!hasTag(position) || position.tag === head.tag);
}

/** Whether the numbering that `head` ends can have the position. */
function contains(head: Head | null, position: ClientPosition): boolean {
  return head !== null && head.epoch === position.epoch && head.rev >= position.rev;
}

function sameHead(one: Head | null, other: Head | null): boolean {
  if (one === null || other === null) return one === other;
  return one.epoch === other.epoch && one.rev === other.rev && one.tag === other.tag;
}
