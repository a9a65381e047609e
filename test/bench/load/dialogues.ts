/** What a client says to each of the servers that are compared, until it gets their broadcasts. */
import type { Dialogue } from './raw-socket.js';

export type ServerKind = 'edge' | 'uws' | 'ws' | 'socket.io';

export interface EdgeRoom {
  readonly room: string;
  readonly batch: boolean;
  /** A position to resume from, as the plain protocol has it; absent: from now on. */
  readonly since?: 0 | { readonly epoch: string; readonly rev: number; readonly tag: string };
}

const ID_DIGITS = 7;

/** The ids of a socket's subscriptions: every socket's differ, and all are of one length. */
export function subscriptionId(socket: number, room: number): string {
  return `${room}${String(socket).padStart(ID_DIGITS, '0')}`;
}

/** @param socket number of the client, which its ids are made of */
export function dialogueWith(
  server: ServerKind,
  deflate: boolean,
  socket: number,
  rooms: readonly EdgeRoom[],
): Dialogue {
  switch (server) {
    case 'edge':
      return {
        path: '/v1/ws',
        deflate,
        says: rooms.map(({ room, batch, since }, index) => ({
          after: 0,
          text: JSON.stringify({
            id: subscriptionId(socket, index),
            method: 'subscribe',
            params: { room, batch, ...(since === undefined ? {} : { since }) },
          }),
        })),
        readyAfter: rooms.length,
      };
    case 'uws':
    case 'ws':
      return { path: '/', deflate, says: [], readyAfter: 0 };
    case 'socket.io':
      return {
        path: '/socket.io/?EIO=4&transport=websocket',
        deflate,
        says: [{ after: 1, text: '40' }],
        readyAfter: 2,
      };
  }
}
