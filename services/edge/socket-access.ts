/**
 * What a client protocol has to say about requests at the path of its WebSockets, beside the handshake's own rules: some
 * are refused in the protocol's own words, and some are no handshakes. Called in handlers of uWebSockets.js: never throws.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Conversation } from './protocols/protocol.js';

export interface SocketAccess {
  /** Whether a handshake is refused; it is then answered. */
  refuses(response: HttpResponse, request: HttpRequest): boolean;
  /** Whether the client was counted as a new one before, by a request that opened what the handshake goes on with. */
  wasCounted(request: HttpRequest): boolean;
  /** What the protocol keeps for the connection that the handshake makes. */
  converse(request: HttpRequest): Conversation;
  /** Answers a request that is no handshake. */
  onRequest(response: HttpResponse, request: HttpRequest): void;
}
