/**
 * uWebSockets.js as the edge uses it: what its type declarations leave out, and, in one place, what its callers must
 * know (each measured, or read in its source).
 *
 * - It has one cork, taken while it calls a handler: sends to other sockets from there, and from the microtasks that
 *   run at its end, are a system call each. The flusher never runs there.
 * - Fragments of one message: one synchronous block, begun only on an empty socket, so that none of them is dropped.
 * - `send` in a cork answers 1 whatever happens: `getBufferedAmount()` afterwards tells. `drain` comes with progress,
 *   not only when empty.
 * - `end` and `close` are called outside a cork, and call the close handler at once. After it every method throws, but
 *   `getUserData`.
 * - `publish` and `subscribe` are not used: after a drop, `publish` ends a socket's drain without telling.
 * - A listener shares its port with other processes unless it says LIBUS_LISTEN_EXCLUSIVE_PORT.
 */
import './uws-headers.js';
import uWS, { type TemplatedApp, type us_listen_socket, type WebSocket } from 'uWebSockets.js';

/** Fragments of one message; each answers like `send`. */
interface Fragments {
  sendFirstFragment(fragment: Uint8Array, isBinary: boolean, compress: boolean): number;
  sendFragment(fragment: Uint8Array, compress: boolean): number;
  sendLastFragment(fragment: Uint8Array, compress: boolean): number;
}

export type EdgeSocket<Data> = WebSocket<Data> & Fragments;

/** What a session needs of its socket: a WebSocket has it, and so has a stream of events (sse-socket.ts). */
export interface ClientSocket extends Fragments {
  send(message: string | Uint8Array, isBinary: boolean, compress: boolean): number;
  cork(write: () => void): unknown;
  /** Bytes that the kernel has not taken; a socket that cannot count them says 1. */
  getBufferedAmount(): number;
  ping(): unknown;
  end(code: number, reason: string): unknown;
  close(): unknown;
}

/** What `send` answers when it would exceed maxBackpressure: nothing was sent. */
export const DROPPED = 2;

/** Whether this build can send a message in fragments, without which frames cannot be compressed once for all. */
export function hasFragments(ws: WebSocket<unknown>): boolean {
  return typeof (ws as Partial<Fragments>).sendFirstFragment === 'function';
}

type Listen = (
  host: string,
  port: number,
  options: number,
  onListening: (socket: us_listen_socket | false) => void,
) => void;

/** Listens on one address; the answer is the socket and its port. Throws EADDRINUSE when it cannot be had. */
export function listen(
  app: TemplatedApp,
  host: string,
  port: number,
  sharePort: boolean,
): Promise<{ socket: us_listen_socket; port: number }> {
  const { LIBUS_LISTEN_EXCLUSIVE_PORT } = uWS as unknown as { LIBUS_LISTEN_EXCLUSIVE_PORT: number };
  return new Promise((resolve, reject) => {
    const listenOn = app.listen.bind(app) as unknown as Listen;
    listenOn(host, port, sharePort ? 0 : LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      if (socket === false) {
        const message = `cannot listen on ${host}:${port}: the port is in use, or the address is not this machine's`;
        reject(Object.assign(new Error(message), { code: 'EADDRINUSE' }));
        return;
      }
      resolve({ socket, port: uWS.us_socket_local_port(socket) });
    });
  });
}
