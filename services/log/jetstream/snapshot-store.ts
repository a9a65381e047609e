/**
 * The SnapshotStore of JetStream: the stream SNAPSHOTS, which keeps one message a subject, so the newest snapshot of
 * each room. Puts are compare-and-set on the room's subject.
 */
import { asError, RevcastError } from '../../shared/errors.js';
import { messages } from '../../shared/messages.js';
import { formatTag, parseTag } from '../entry-codec.js';
import type { PutOutcome } from '../entry-store.js';
import type { Snapshot } from '../log.js';
import type { KeptSnapshot, SnapshotStore } from '../snapshot-store.js';
import { SNAPSHOT_STREAM, snapshotSubject } from '../subjects.js';
import { API_ERROR, ApiError, isNoMessage, parseAnswer, type JetStreamApi } from './api.js';
import { directData } from './direct-get.js';
import { expecting, putOutcome } from './put-outcome.js';
import type { ReplicaReads } from './replica-reads.js';
import { RequestError } from './request-error.js';

const MESSAGE_GET = `$JS.API.STREAM.MSG.GET.${SNAPSHOT_STREAM}`;
const DIRECT_GET = `$JS.API.DIRECT.GET.${SNAPSHOT_STREAM}`;
const { Snapshot: SnapshotMessage } = messages.log;

export interface JetStreamSnapshotsParts {
  readonly api: JetStreamApi;
  readonly replicas: ReplicaReads;
  readonly replicated: boolean;
  /** Throws `log_unavailable` while the streams are not known to be in order. */
  readonly assertReady: () => void;
  /** Called when nobody answers for the stream: it may be gone. */
  readonly suspectStream: () => void;
}

export class JetStreamSnapshots implements SnapshotStore {
  constructor(private readonly parts: JetStreamSnapshotsParts) {}

  async read(room: string, { confirmed }: { confirmed: boolean }): Promise<KeptSnapshot | null> {
    this.parts.assertReady();
    try {
      return await (confirmed ? this.fromLeader(room) : this.fromAnyReplica(room));
    } catch (error) {
      const gone = error instanceof ApiError && error.number === API_ERROR.streamNotFound;
      if (gone || (error instanceof RequestError && error.failure === 'no_responders')) this.parts.suspectStream();
      throw error;
    }
  }

  async put(room: string, snapshot: Snapshot, expectedSeq: number): Promise<PutOutcome> {
    const { epoch, rev, tag, time, data } = snapshot;
    const bytes = SnapshotMessage.encode({ room, epoch, rev, tag: parseTag(tag), time, data }).finish();
    try {
      this.parts.assertReady();
      const answer = await this.parts.api.send(snapshotSubject(room), bytes, { headers: expecting(expectedSeq) });
      return { kind: 'stored', seq: (parseAnswer(answer) as { seq: number }).seq };
    } catch (error) {
      if (error instanceof RequestError && error.failure === 'no_responders') this.parts.suspectStream();
      return putOutcome(error, bytes.length, { replicated: this.parts.replicated });
    }
  }

  private async fromLeader(room: string): Promise<KeptSnapshot | null> {
    const request = Buffer.from(JSON.stringify({ last_by_subj: snapshotSubject(room) }));
    const answer = await this.parts.api.send(MESSAGE_GET, request);
    try {
      const { message } = parseAnswer(answer) as { message: { seq: number; data?: string } };
      return decodeSnapshot(room, message.seq, Buffer.from(message.data ?? '', 'base64'));
    } catch (error) {
      if (isNoMessage(error)) return null;
      throw error;
    }
  }

  private async fromAnyReplica(room: string): Promise<KeptSnapshot | null> {
    const answer = await this.parts.replicas.ask(`${DIRECT_GET}.${snapshotSubject(room)}`, new Uint8Array(0));
    if (answer === undefined) return this.fromLeader(room);
    const found = directData(answer);
    // A copy: the network client's buffer is not kept.
    return found === null ? null : decodeSnapshot(room, found.seq, Uint8Array.from(found.data));
  }
}

/** Throws `internal`: the stream holds what revcast did not write. */
function decodeSnapshot(room: string, seq: number, bytes: Uint8Array): KeptSnapshot {
  const where = `the snapshot of room ${JSON.stringify(room)}, at seq ${seq},`;
  try {
    const { room: of, epoch, rev, tag, time, data } = SnapshotMessage.decode(bytes);
    if (of !== room || epoch === '' || data.length === 0 || !Number.isSafeInteger(rev)) {
      throw new RevcastError('internal', `${where} is not a sound one`);
    }
    return { snapshot: { epoch, rev, tag: formatTag(tag), time, data }, seq };
  } catch (error) {
    if (error instanceof RevcastError) throw error;
    throw new RevcastError('internal', `${where} cannot be read: ${asError(error).message}`, { cause: error });
  }
}
