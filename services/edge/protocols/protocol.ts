/**
 * What a client protocol is to the edge: it parses what a client says into commands, and has one encoding, or more, of
 * what subscriptions are sent: revisions as what is the member's own and what all members share. One file per protocol
 * implements it. A connection may have subscriptions of several encodings, also to one room.
 *
 * A message on the wire is `first` (one byte), then the member's own part, then the shared body. Only the own part
 * differs between members, so the body is serialized and deflated once (see compress-once.ts for why one byte).
 */
import type { RevcastError } from '../../shared/errors.js';
import type { Snapshot } from '../../log/log.js';
import type { ClientPosition } from '../../revision/contract.js';
import type { ClientPublication } from '../publishing.js';
import type { Slot } from '../slot.js';

/**
 * Where a subscription begins: with what comes from now on, with the oldest kept, with the room's snapshot (which is
 * then part of the answer, see `joined`), after a position, or after a revision of the room's present numbering, from a
 * client that knows no more than that.
 */
export type Since = 'now' | 'first' | 'snapshot' | ClientPosition | { readonly presentRev: number };

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
      /** Absent: the protocol's own. */
      readonly encoding?: Encoding;
      /**
       * How that is put on the wire which the client missed, up to the head as it stands when the client joins: it then
       * comes in place of an answer. Absent: as what comes later. Not with `batch`.
       */
      readonly missed?: (headRev: number) => Encoding;
    }
  | { readonly kind: 'unsubscribe'; readonly id: RequestId; readonly room: string; readonly encoding?: Encoding }
  /** Something to find out: JSON text, or a RevcastError that is thrown. In the same turn where that is possible. */
  | { readonly kind: 'ask'; readonly id: RequestId; readonly find: () => string | Promise<string> }
  | { readonly kind: 'publish'; readonly id: RequestId; readonly publication: ClientPublication }
  | { readonly kind: 'ping'; readonly id: RequestId }
  | { readonly kind: 'refused'; readonly id: RequestId; readonly error: RevcastError };

/** What a Conversation makes of what its client says. */
export type Said = Command | { readonly kind: 'tell'; readonly telling: Telling };

/** What a client is told: messages in order, and whether its connection then ends. */
export interface Telling {
  readonly texts: readonly string[];
  readonly end?: { readonly code: number; readonly reason: string };
}

/** What subscriptions of one kind are sent. */
export interface Encoding {
  /** Place of the encoding's frames in a slot: small, unique. */
  readonly index: number;
  /** The first byte of every message that carries revisions. */
  readonly first: Buffer;
  /**
   * Whether a subscription is to news, without a position that a client could come back with. Then a second subscribe
   * takes the place of the first, unsubscribing is always right, and when the room's history breaks, the
   * subscription goes on with the newest revision instead of ending.
   */
  readonly isNews: boolean;

  /** The part between the first byte and the body, for the subscription with this id. */
  own(id: RequestId, batch: boolean): string;
  /**
   * The body of one revision; empty: such a revision is nothing to these subscriptions. Throws a RevcastError when it
   * cannot be told, nor passed over: subscriptions that come to it end with that.
   */
  single(slot: Slot): Buffer;
  /** The body of consecutive revisions in one message. */
  batch(slots: readonly Slot[]): Buffer;

  subscribed(id: RequestId, room: string, position: ClientPosition): string;
  /**
   * The body of the answer to a subscribe since the snapshot, behind `first` and `own`, the same for all who join; null:
   * the room has none, and its revisions follow from the first on. Throws a RevcastError when it cannot be told.
   */
  joined(room: string, position: ClientPosition, snapshot: Snapshot | null): Buffer;
  unsubscribed(id: RequestId, room: string): string;
}

export interface Protocol extends Encoding {
  readonly name: string;

  /** Never throws: what cannot be understood is a `refused` command. Not called where there is a Conversation. */
  parse(message: ArrayBuffer, isBinary: boolean): Command;

  /** @param data JSON text */
  answer(id: RequestId, data: string): string;
  pong(id: RequestId): string;
  /** Answers a request, or ends a subscription. */
  refusal(id: RequestId, error: RevcastError): string;
}

/** One connection of a protocol that has to remember something between messages, or has its own signs of life. */
export interface Conversation {
  /** Said first, as soon as the socket is open. */
  opening(): Telling;
  /** Never throws: what cannot be understood is told. */
  hear(message: ArrayBuffer, isBinary: boolean): readonly Said[];
  /** Answers what the client asked for, or ends its subscription. */
  refusal(error: RevcastError): Telling;
  /** What asks the client for a sign of life, however lively it is, in place of a WebSocket ping; undefined: not yet. */
  heartbeat(): string | undefined;
}
