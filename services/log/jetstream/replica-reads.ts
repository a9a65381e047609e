/**
 * Direct gets, which any replica answers, and which a node that hangs still takes its share of until the others have given
 * it up (seen: for as long as it hangs): one in three or four is then never answered. So a get has PATIENCE_MS; where
 * nobody answers in time, the stream's leader is to be asked, and for DOUBT_MS after that at once.
 * Limits: under load a healthy replica may be taken for one that hangs; that costs the leader some reads.
 */
import type { Msg } from 'nats';
import type { Clock } from '../../shared/clock.js';
import type { JetStreamApi } from './api.js';
import { RequestError } from './request-error.js';

const PATIENCE_MS = 400;
const DOUBT_MS = 5_000;

export class ReplicaReads {
  private doubtedUntil = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly api: JetStreamApi,
    private readonly clock: Clock,
  ) {}

  /** Whether a node seems to hang. */
  get doubted(): boolean {
    return this.clock.monotonic() < this.doubtedUntil;
  }

  /** A replica did not answer. */
  doubt(): void {
    this.doubtedUntil = this.clock.monotonic() + DOUBT_MS;
  }

  /** What a replica answers; undefined: the leader is to be asked. Throws RequestError where nobody can be. */
  async ask(subject: string, payload: Uint8Array): Promise<Msg | undefined> {
    if (this.doubted) return undefined;
    try {
      return await this.api.send(subject, payload, { timeoutMs: Math.min(PATIENCE_MS, this.api.requestTimeoutMs) });
    } catch (error) {
      if (!(error instanceof RequestError && error.failure === 'timed_out')) throw error;
      this.doubt();
      return undefined;
    }
  }
}
