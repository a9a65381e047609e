/** The ws package: one string, sent to every client. */
import { WebSocketServer, type WebSocket } from 'ws';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { answerParent } from '../load/child.js';
import { payload } from '../load/payload.js';
import { messageText, usage, type Broadcast, type ServerApi, type ServerOptions } from './server.js';

let server: WebSocketServer | undefined;
let rev = 0;

const api = {
  async start({ deflate }: ServerOptions) {
    server = new WebSocketServer({
      host: '127.0.0.1',
      port: 0,
      clientTracking: true,
      // Without context, as uWebSockets.js with its shared compressor: with it a client costs 130 KB and more.
      perMessageDeflate: deflate ? { threshold: 0, serverNoContextTakeover: true } : false,
    });
    await once(server, 'listening');
    return { port: (server.address() as AddressInfo).port };
  },

  publish({ bytes, count }: Broadcast) {
    const messages = Array.from({ length: count }, (_, index) => messageText(payload(bytes), rev + index + 1));
    rev += count;
    const before = usage();
    for (const message of messages) for (const client of server?.clients ?? []) send(client, message);
    return Promise.resolve(before);
  },

  usage,
} satisfies ServerApi;

function send(client: WebSocket, message: string): void {
  client.send(message, { binary: false, compress: true });
}

answerParent<ServerApi>(api);
