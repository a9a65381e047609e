/**
 * The revision service as an edge sees it: heads and ranges over NATS. Heads are asked in batches that fit a request
 * and its reply. What may fail on the way, and how often it is tried, is the asker's (rpc-asker.ts).
 *
 * Limits: HEADS_BATCHES_AT_ONCE batches of one call under way; the asker's.
 */
import type { NatsLink } from '../log/jetstream/nats-link.js';
import { lastRev } from '../log/log.js';
import type { Clock } from '../shared/clock.js';
import { RevcastError } from '../shared/errors.js';
import { whole, type Values } from '../shared/settings.js';
import { RpcAsker } from './rpc-asker.js';
import type { KnownHead, RangeAnswer, RangeQuery, RevisionReader, RoomHead, SnapshotAnswer } from './contract.js';
import {
  decodeHeadsReply,
  decodeRangeReply,
  decodeSnapshotReply,
  encodeHeadsRequest,
  encodeRangeRequest,
  encodeSnapshotRequest,
  HEAD_BYTES,
  HEADS_SUBJECT,
  MAX_HEADS_ROOMS,
  RANGE_SUBJECT,
  SNAPSHOT_SUBJECT,
} from './rpc-messages.js';

const HEADS_BATCHES_AT_ONCE = 4;
/** The NATS server's default, assumed while there is no connection. */
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;
/** uint32: larger limits say no more. */
const MAX_UINT32 = 0xffff_ffff;

export const revisionClientSettings = {
  revisionTimeoutMs: {
    env: 'REVISION_TIMEOUT_MS',
    help: 'how long one request to the revision service may take; it is tried twice',
    parse: whole('ms', 50, 60_000),
    fallback: 1_500,
    value: 'ms',
  },
  revisionHedgeMs: {
    env: 'REVISION_HEDGE_MS',
    help: 'a request without an answer for so long, or for less where answers come quickly, is sent again, to any replica; the first answer counts; 0: never',
    parse: whole('ms', 0, 60_000),
    fallback: 300,
    value: 'ms',
  },
  revisionRequests: {
    env: 'REVISION_REQUESTS',
    help: 'requests to the revision service under way at once; further ones wait',
    parse: whole('requests', 1, 100_000),
    fallback: 64,
    value: 'count',
  },
  revisionWaiting: {
    env: 'REVISION_WAITING',
    help: 'requests that may wait, for at most 5 s; further ones fail at once with overloaded',
    parse: whole('requests', 0, 1_000_000),
    fallback: 4_096,
    value: 'count',
  },
} as const;

export interface RevisionClientParts {
  readonly link: Pick<NatsLink, 'request' | 'connection'>;
  readonly settings: Values<typeof revisionClientSettings>;
  readonly clock: Clock;
}

export class RevisionClient implements RevisionReader {
  private readonly link: RevisionClientParts['link'];
  private readonly asker: RpcAsker;

  constructor({ link, settings, clock }: RevisionClientParts) {
    this.link = link;
    this.asker = new RpcAsker({
      link,
      clock,
      limits: {
        timeoutMs: settings.revisionTimeoutMs,
        hedgeMs: settings.revisionHedgeMs,
        maxUnderWay: settings.revisionRequests,
        maxWaiting: settings.revisionWaiting,
      },
    });
  }

  async heads(known: readonly KnownHead[]): Promise<readonly RoomHead[]> {
    const batches = batchesOf(known, this.link.connection?.info?.max_payload ?? DEFAULT_MAX_PAYLOAD);
    const answers: RoomHead[][] = [];
    let next = 0;
    const askInTurn = async (): Promise<void> => {
      for (let batch = batches[next]; batch !== undefined; batch = batches[next]) {
        next += 1;
        const request = encodeHeadsRequest(batch);
        answers.push(await this.asker.ask(HEADS_SUBJECT, request, decodeHeadsReply));
      }
    };
    await Promise.all(Array.from({ length: HEADS_BATCHES_AT_ONCE }, askInTurn));
    return answers.flat();
  }

  async range(query: RangeQuery): Promise<RangeAnswer> {
    const request = encodeRangeRequest({
      ...query,
      limit: Math.min(query.limit, MAX_UINT32),
      maxBytes: Math.min(query.maxBytes, MAX_UINT32),
    });
    const answer = await this.asker.ask(RANGE_SUBJECT, request, decodeRangeReply);
    checkFollows(query, answer);
    return answer;
  }

  snapshot(room: string): Promise<SnapshotAnswer> {
    return this.asker.ask(SNAPSHOT_SUBJECT, encodeSnapshotRequest(room), (reply) => decodeSnapshotReply(room, reply));
  }
}

/** Batches whose request and reply stay within `maxPayload`. */
function batchesOf(known: readonly KnownHead[], maxPayload: number): KnownHead[][] {
  const batches: KnownHead[][] = [];
  let batch: KnownHead[] = [];
  let bytes = 0;
  for (const one of known) {
    const cost = HEAD_BYTES + Buffer.byteLength(one.room);
    if (batch.length === MAX_HEADS_ROOMS || (batch.length > 0 && bytes + cost > maxPayload)) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(one);
    bytes += cost;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}

/** A page that does not follow the asked position is refused here, whoever answered it. */
function checkFollows({ room, after }: RangeQuery, answer: RangeAnswer): void {
  if (answer.kind !== 'entries') return;
  let expected = after === null ? answer.entries[0]?.firstRev : after.rev + 1;
  for (const entry of answer.entries) {
    if (entry.firstRev !== expected || entry.room !== room) {
      throw new RevcastError('internal', 'the revision service answered a page that does not follow the position');
    }
    expected = lastRev(entry) + 1;
  }
}
