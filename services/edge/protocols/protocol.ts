/**
 * What a client protocol is to the edge: it parses what a client says into commands, and encodes revisions into what
 * is the member's own and what all members share. One file per protocol implements it.
 *
 * A message on the wire is `first` (one byte), then the member's own part, then the shared body. Only the own part
 * differs between members, so the body is serialized and deflated once (see compress-once.ts for why one byte).
 */
import type { RevcastError } from '../../shared/errors.js';
import type { Snapshot } from '../../log/log.js';
import type { ClientPosition } from '../../revision/contract.js';
import type { Slot } from '../slot.js';

/**
 * Where a subscription begins: with what comes from now on, with the oldest kept, with the room's snapshot (which is
 * then part of the answer, see `joined`), or after a position.
 */
export type Since = 'now' | 'first' | 'snapshot' | ClientPosition;

/** The client's own name of a request, as JSON text. */
export type RequestId = string;

export type Command =
  | {
      readonly kind: 'subscribe';
      readonly id: RequestId;
      readonly room: string;
      readonly since: Since;
      /** Whether several revisions may come in one message. */
      readonly batch: boolean;
    }
  | { readonly kind: 'unsubscribe'; readonly id: RequestId; readonly room: string }
  | { readonly kind: 'ping'; readonly id: RequestId }
  | { readonly kind: 'refused'; readonly id: RequestId; readonly error: RevcastError };

export interface Protocol {
  readonly name: string;
  /** Place of the protocol's frames in a slot: small, unique. */
  readonly index: number;
  /** The first byte of every message that carries revisions. */
  readonly first: Buffer;

  /** Never throws: what cannot be understood is a `refused` command. */
  parse(message: ArrayBuffer, isBinary: boolean): Command;

  /** The part between the first byte and the body, for the subscription with this id. */
  own(id: RequestId, batch: boolean): string;
  /** The body of one revision. */
  single(slot: Slot): Buffer;
  /** The body of consecutive revisions in one message. */
  batch(slots: readonly Slot[]): Buffer;

  subscribed(id: RequestId, room: string, position: ClientPosition): string;
  /**
   * The body of the answer to a subscribe since the snapshot, behind `first` and `own`, the same for all who join; null:
   * the room has none, and its revisions follow from the first on.
   */
  joined(room: string, position: ClientPosition, snapshot: Snapshot | null): Buffer;
  unsubscribed(id: RequestId, room: string): string;
  pong(id: RequestId): string;
  /** Answers a request, or ends a subscription. */
  refusal(id: RequestId, error: RevcastError): string;
}
