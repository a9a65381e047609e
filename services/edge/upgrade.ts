/**
 * Decides whether an HTTP request becomes a WebSocket. uWebSockets.js upgrades whatever asks; here only a version 13
 * handshake (RFC 6455, section 4.2.1) on a known path passes, and permessage-deflate is negotiated explicitly, so that
 * the edge knows whether a socket compresses.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { RevcastError, type ErrorCode } from '../shared/errors.js';
import { chooseDeflate } from './deflate-offer.js';

/** Sixteen bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{22}==$/u;

export interface Handshake {
  readonly key: string;
  readonly protocol: string;
  /** What is answered as Sec-WebSocket-Extensions: permessage-deflate, or nothing. */
  readonly extensions: string;
}

/** A request that is not taken, and how it is answered. */
export interface Refusal {
  readonly kind: 'refuse';
  readonly status: string;
  readonly headers: readonly [string, string][];
  readonly error: RevcastError;
  /** The connection ends with the answer. */
  readonly closes?: boolean;
}

export type UpgradeAnswer = { readonly kind: 'upgrade'; readonly handshake: Handshake } | Refusal;

export function readHandshake(request: HttpRequest, options: { deflate: boolean }): UpgradeAnswer {
  if (request.getMethod().toLowerCase() !== 'get')
    return refuse('405 Method Not Allowed', 'a WebSocket handshake is a GET', [['Allow', 'GET']], 'method_not_allowed');
  if (request.getHeader('sec-websocket-version') !== '13') {
    return refuse('426 Upgrade Required', 'this server speaks WebSocket version 13', [['Sec-WebSocket-Version', '13']]);
  }
  const upgrade = request.getHeader('upgrade').toLowerCase();
  const connection = request.getHeader('connection').toLowerCase().split(',');
  if (upgrade !== 'websocket' || !connection.some((word) => word.trim() === 'upgrade')) {
    return refuse('426 Upgrade Required', 'Upgrade: websocket and Connection: Upgrade are needed', [
      ['Upgrade', 'websocket'],
    ]);
  }
  const key = request.getHeader('sec-websocket-key');
  if (!KEY.test(key)) return refuse('400 Bad Request', 'Sec-WebSocket-Key must be 16 bytes in base64');
  const extensions = options.deflate ? chooseDeflate(offers(request)) : '';
  return { kind: 'upgrade', handshake: { key, protocol: '', extensions } };
}

/** A header may come several times: all its lines count, in order. */
function offers(request: HttpRequest): string {
  const lines: string[] = [];
  request.forEach((name, value) => {
    if (name === 'sec-websocket-extensions') lines.push(value);
  });
  return lines.join(',');
}

function refuse(
  status: string,
  message: string,
  headers: readonly [string, string][] = [],
  code: ErrorCode = 'invalid_request',
): Refusal {
  return { kind: 'refuse', status, headers, error: new RevcastError(code, message) };
}
