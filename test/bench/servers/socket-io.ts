/** Socket.IO over WebSocket: an emit to a room that every client is in. */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';
import { answerParent } from '../load/child.js';
import { payload } from '../load/payload.js';
import { messageText, usage, type Broadcast, type ServerApi, type ServerOptions } from './server.js';

const ROOM = 'all';
/** No ping within a run: the clients only read. */
const PING_MS = 3_600_000;
let io: Server | undefined;
let rev = 0;

const api = {
  async start({ deflate }: ServerOptions) {
    const http = createServer();
    io = new Server(http, {
      transports: ['websocket'],
      serveClient: false,
      pingInterval: PING_MS,
      perMessageDeflate: deflate ? { threshold: 0, serverNoContextTakeover: true } : false,
    });
    io.on('connection', (socket) => socket.join(ROOM));
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return { port: (http.address() as AddressInfo).port };
  },

  publish({ bytes, count }: Broadcast) {
    const messages = Array.from({ length: count }, (_, index): unknown =>
      JSON.parse(messageText(payload(bytes), rev + index + 1)),
    );
    rev += count;
    const before = usage();
    for (const message of messages) io?.to(ROOM).emit('revision', message);
    return Promise.resolve(before);
  },

  usage,
} satisfies ServerApi;

answerParent<ServerApi>(api);
