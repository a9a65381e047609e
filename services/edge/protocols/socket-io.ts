/**
 * Packets of Socket.IO 4 inside those of Engine.IO 4, as text: what comes from a client is read, what goes to it is
 * written. Binary packets and attachments are not supported: Etherpad has none. Nothing here throws on what a client says,
 * and nothing keeps state.
 *
 *   Engine.IO   0 open   1 close   2 ping   3 pong   4 message   5 upgrade   6 noop
 *   Socket.IO   0 connect   1 disconnect   2 event   3 ack   4 connect error   5, 6 binary
 *
 * A Socket.IO packet is `<type>[/namespace,][ack number][JSON]`; an event's JSON is an array with its name first.
 */

export type SocketIoPacket =
  | { readonly kind: 'close' | 'probe' | 'pong' | 'upgrade' | 'noop' | 'ack' }
  | { readonly kind: 'connect'; readonly namespace: string; readonly auth: unknown }
  | { readonly kind: 'disconnect'; readonly namespace: string }
  | {
      readonly kind: 'event';
      readonly namespace: string;
      readonly ack: number | undefined;
      readonly name: string;
      readonly payload: unknown;
    }
  | { readonly kind: 'malformed'; readonly what: string };

/** The namespace that all of Etherpad's viewers use. */
export const MAIN_NAMESPACE = '/';

/** How a connection that was opened by polling looks whether its WebSocket works, and what it is answered. */
export const PROBE_ANSWER = '3probe';
export const PING = '2';
export const NOOP = '6';
/** Ends the Socket.IO connection: after it, a client does not connect again by itself. */
export const DISCONNECT = '41';
/** What events begin with, up to their arguments. */
export const EVENT = '42';

const PACKET = /^([0-6])(?:(\/[^,]{0,200}),)?(\d{1,15})?(.*)$/su;
const SIMPLE: Readonly<Record<string, 'close' | 'probe' | 'pong' | 'upgrade' | 'noop'>> = {
  '1': 'close',
  '2probe': 'probe',
  '3': 'pong',
  '5': 'upgrade',
  '6': 'noop',
};

export function readPacket(text: string): SocketIoPacket {
  const kind = SIMPLE[text];
  if (kind !== undefined) return { kind };
  if (!text.startsWith('4')) return malformed('no packet that an Engine.IO client sends');
  return readSocketPacket(text.slice(1));
}

function readSocketPacket(text: string): SocketIoPacket {
  const [, type, namespace = MAIN_NAMESPACE, ack, json = ''] = PACKET.exec(text) ?? [];
  if (type === undefined) return malformed('no Socket.IO packet');
  if (type === '5' || type === '6') return malformed('a binary packet, which is not supported');
  const data = json === '' ? undefined : parseJson(json);
  if (data === NOT_JSON) return malformed('a Socket.IO packet whose data is not JSON');
  switch (type) {
    case '0':
      return isAuth(data) && ack === undefined
        ? { kind: 'connect', namespace, auth: data }
        : malformed('a CONNECT whose data is no object');
    case '1':
      return data === undefined ? { kind: 'disconnect', namespace } : malformed('a DISCONNECT with data');
    case '2': {
      if (!Array.isArray(data) || typeof data[0] !== 'string') return malformed('an EVENT without a name');
      const number = ack === undefined ? undefined : Number(ack);
      return { kind: 'event', namespace, ack: number, name: data[0], payload: data[1] as unknown };
    }
    case '3':
      return Array.isArray(data) && ack !== undefined ? { kind: 'ack' } : malformed('an ACK without a number or data');
    default:
      return malformed('a packet that only servers send');
  }
}

/** What a connection begins with. Times in milliseconds. */
export interface OpenParameters {
  readonly sid: string;
  readonly upgrades: readonly string[];
  readonly pingInterval: number;
  readonly pingTimeout: number;
  /** Largest message that is read, in bytes. */
  readonly maxPayload: number;
}

export function openPacket(parameters: OpenParameters): string {
  return `0${JSON.stringify(parameters)}`;
}

/** @param pid with it a client names, when it connects again, the last position that an event carried */
export function connectedPacket(sid: string, pid: string): string {
  return `40${JSON.stringify({ sid, pid })}`;
}

export function connectErrorPacket(namespace: string, message: string): string {
  return `44${namespacePrefix(namespace)}${JSON.stringify({ message })}`;
}

export function ackPacket(number: number, result: unknown): string {
  return `43${number}${JSON.stringify([result])}`;
}

/** An event without acknowledgement. */
export function eventPacket(name: string, payload: unknown, ...more: readonly string[]): string {
  return `${EVENT}${JSON.stringify([name, payload, ...more])}`;
}

function namespacePrefix(namespace: string): string {
  return namespace === MAIN_NAMESPACE ? '' : `${namespace},`;
}

const NOT_JSON = Symbol('not JSON');

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Whoever sent it is told.
    return NOT_JSON;
  }
}

function isAuth(data: unknown): boolean {
  return data === undefined || (typeof data === 'object' && data !== null && !Array.isArray(data));
}

function malformed(what: string): SocketIoPacket {
  return { kind: 'malformed', what };
}
