/**
 * Answers heads and ranges over NATS request/reply: rpc.revision.heads and rpc.revision.range, in the queue group
 * `revision`, so that any replica may answer. Every request whose answer goes to an inbox is answered, a malformed one too.
 *
 * Limits: `revisionRpcRequests` are worked on at once, further ones are answered `overloaded` at once; a reply stays
 * within the server's max_payload (a page is cut by whole revisions; one that does not fit alone is `too_large`).
 */
import type { Msg } from 'nats';
import { Answerer } from '../log/jetstream/answerer.js';
import type { NatsLink } from '../log/jetstream/nats-link.js';
import { asError, RevcastError } from '../shared/errors.js';
import type { Running } from '../shared/lifecycle.js';
import type { Logger } from '../shared/logger.js';
import type { Values } from '../shared/settings.js';
import type { RevisionReader } from './contract.js';
import { fitEntries } from './reply-size.js';
import {
  decodeHeadsRequest,
  decodeRangeRequest,
  decodeSnapshotRequest,
  encodeHeadsError,
  encodeHeadsReply,
  encodeRangeError,
  encodeRangeReply,
  encodeSnapshotError,
  encodeSnapshotReply,
  HEADS_SUBJECT,
  RANGE_REPLY_BYTES,
  RANGE_SUBJECT,
  REVISION_QUEUE,
  SNAPSHOT_SUBJECT,
} from './rpc-messages.js';
import type { revisionSettings } from './settings.js';

/** The NATS server's default, assumed until a server has told its own. */
const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

export interface RpcServerParts {
  readonly link: Pick<NatsLink, 'subscribe' | 'connection'>;
  readonly reader: RevisionReader;
  readonly settings: Pick<Values<typeof revisionSettings>, 'revisionRpcRequests'>;
  readonly logger: Logger;
}

interface Procedure {
  readonly subject: string;
  /** Reads the request before its first await: the bytes are the network client's. Throws RevcastError. */
  answer(request: Uint8Array): Promise<Uint8Array>;
  refuse(error: RevcastError): Uint8Array;
}

export class RevisionRpcServer implements Running {
  private readonly parts: RpcServerParts;
  private readonly working = new Set<Promise<void>>();
  private readonly answerer: Answerer;
  private readonly subscriptions: ReturnType<NatsLink['subscribe']>[];

  constructor(parts: RpcServerParts) {
    this.parts = parts;
    this.answerer = new Answerer(parts.logger);
    const procedures: Procedure[] = [
      { subject: HEADS_SUBJECT, answer: (request) => this.heads(request), refuse: encodeHeadsError },
      { subject: RANGE_SUBJECT, answer: (request) => this.range(request), refuse: encodeRangeError },
      { subject: SNAPSHOT_SUBJECT, answer: (request) => this.snapshot(request), refuse: encodeSnapshotError },
    ];
    this.subscriptions = procedures.map((procedure) =>
      parts.link.subscribe(procedure.subject, { queue: REVISION_QUEUE }, (message) => {
        this.receive(procedure, message);
      }),
    );
  }

  /** Resolves when requests will come; rejects where NATS does not permit it. */
  async ready(): Promise<void> {
    await Promise.all(this.subscriptions.map((subscription) => subscription.ready));
  }

  /** Takes no more requests, and waits until those that NATS has given it are answered. */
  async stop(): Promise<void> {
    await Promise.all(this.subscriptions.map((subscription) => subscription.drain()));
    await Promise.all(this.working);
  }

  private receive(procedure: Procedure, message: Msg): void {
    if (!this.answerer.accepts(message)) return;
    const limit = this.parts.settings.revisionRpcRequests;
    if (this.working.size >= limit) {
      const error = new RevcastError('overloaded', `${limit} requests are under way at this replica`);
      this.answerer.answer(message, procedure.refuse(error));
      return;
    }
    const work = this.work(procedure, message).finally(() => this.working.delete(work));
    this.working.add(work);
  }

  /** Never rejects: what fails is answered, and logged if nobody expected it. */
  private async work(procedure: Procedure, message: Msg): Promise<void> {
    let reply: Uint8Array;
    try {
      reply = await procedure.answer(message.data);
      const limit = this.maxPayload();
      if (reply.length > limit) {
        throw new RevcastError('too_large', `the answer has ${reply.length} bytes, NATS takes at most ${limit}`);
      }
    } catch (thrown) {
      reply = procedure.refuse(this.expected(procedure, thrown));
    }
    this.answerer.answer(message, reply);
  }

  private expected({ subject }: Procedure, thrown: unknown): RevcastError {
    const error = thrown instanceof RevcastError ? thrown : new RevcastError('internal', 'internal error');
    if (error.code === 'internal') this.parts.logger.error({ subject, err: asError(thrown) }, 'request failed');
    return error;
  }

  private async heads(request: Uint8Array): Promise<Uint8Array> {
    return encodeHeadsReply(await this.parts.reader.heads(decodeHeadsRequest(request)));
  }

  private async range(request: Uint8Array): Promise<Uint8Array> {
    const query = decodeRangeRequest(request);
    const maxBytes = this.maxPayload() - RANGE_REPLY_BYTES;
    const answer = await this.parts.reader.range({ ...query, maxBytes: Math.min(query.maxBytes, maxBytes) });
    if (answer.kind !== 'entries') return encodeRangeReply(answer);
    return encodeRangeReply({ ...answer, entries: fitEntries(answer.entries, maxBytes) });
  }

  /** A snapshot that the log could store fits a reply: it is stored with less to spare. */
  private async snapshot(request: Uint8Array): Promise<Uint8Array> {
    const room = decodeSnapshotRequest(request);
    return encodeSnapshotReply(room, await this.parts.reader.snapshot(room));
  }

  private maxPayload(): number {
    return this.parts.link.connection?.info?.max_payload ?? DEFAULT_MAX_PAYLOAD;
  }
}
