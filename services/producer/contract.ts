/**
 * What an edge asks of a producer: to publish one revision for a client. Implemented by the producer itself (in one
 * process with the edge) and by rpc-client (over NATS). Every publication has a key, so that whoever has no answer may
 * ask again, any producer, and it is still stored once.
 */
import type { Appended } from '../log/log.js';

export interface Publication {
  readonly room: string;
  /** UTF-8 JSON text, as its publisher wrote it: checked, and freed of the white space between tokens, by the producer. */
  readonly data: Uint8Array;
  /** Idempotency key, never empty. */
  readonly key: string;
  /** Refuse with `conflict` unless the room's head is exactly this revision (0: the room is empty). */
  readonly expectedRev?: number;
}

export interface Publisher {
  /**
   * Publishes, and answers within about `withinMs`, as `Log.append` does: a key that the room knows is answered with
   * `duplicate`. Throws `invalid_request`, `invalid_json`, `invalid_room`, `too_large`, `conflict` (details: head),
   * `overloaded`, `shutting_down`, `log_unavailable` or `log_full` when it certainly was not and will not be stored;
   * `internal` (a fault, which was logged), and else `outcome_unknown`: a retry with the same key is safe.
   */
  publish(publication: Publication, withinMs: number): Promise<Appended>;
}
