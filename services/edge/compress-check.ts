/**
 * Checks once, at start, that this build of uWebSockets.js sends what compress-once relies on: three fragments, RSV1 on
 * the first only, the first one deflated by it and sync-flushed, the others untouched. Asked of a listener and a socket
 * of its own on loopback, because a build tells it no other way. Where it does not hold, the edge sends uncompressed.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import './uws-headers.js';
import uWS from 'uWebSockets.js';
import { withTimeout } from '../shared/lifecycle.js';
import { deflateBody, inflateFragments, storedBlock } from './compress-once.js';
import { hasFragments, listen, type EdgeSocket } from './uws.js';

const CHECK_MS = 2_000;
const FIRST = '{';
const OWN = '"id":1,"data":';
const BODY = `${JSON.stringify('revcast '.repeat(64))}}`;
/** First byte of a frame header: FIN, RSV1 and the opcode. */
const EXPECTED_HEADS = [0x41, 0x00, 0x80];
const END_OF_HEAD = '\r\n\r\n';

/** Whether a frame can be deflated once for all sockets. Never throws. */
export async function compressOnceWorks(): Promise<boolean> {
  try {
    return await withTimeout(tryOnce(), CHECK_MS, 'no answer');
  } catch {
    return false;
  }
}

async function tryOnce(): Promise<boolean> {
  const app = uWS.App();
  app.ws('/', {
    compression: uWS.SHARED_COMPRESSOR,
    upgrade(response, request, context) {
      response.upgrade({}, request.getHeader('sec-websocket-key'), '', 'permessage-deflate', context);
    },
    open(ws) {
      if (!hasFragments(ws)) {
        ws.close();
        return;
      }
      const socket = ws as EdgeSocket<unknown>;
      socket.sendFirstFragment(Buffer.from(FIRST), false, true);
      socket.sendFragment(storedBlock(OWN), false);
      socket.sendLastFragment(deflateBody(Buffer.from(BODY)), false);
    },
  });
  const { port } = await listen(app, '127.0.0.1', 0, false);
  try {
    return isAsExpected(await receive(port));
  } finally {
    app.close();
  }
}

/** What the listener sends behind the handshake's answer, once it can be whole, or until it closes. */
function receive(port: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = Buffer.alloc(0);
    const finish = () => {
      socket.destroy();
      const head = received.indexOf(END_OF_HEAD);
      resolve(head < 0 ? Buffer.alloc(0) : received.subarray(head + END_OF_HEAD.length));
    };
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const head = received.indexOf(END_OF_HEAD);
      if (head >= 0 && frames(received.subarray(head + END_OF_HEAD.length)).length === EXPECTED_HEADS.length) finish();
    });
    socket.on('close', finish);
    socket.on('error', reject);
    socket.write(
      `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\nSec-WebSocket-Extensions: permessage-deflate${END_OF_HEAD}`,
    );
  });
}

/** The complete frames at the beginning of `bytes`; all of these are shorter than 126 bytes. */
function frames(bytes: Buffer): { head: number; payload: Buffer }[] {
  const found: { head: number; payload: Buffer }[] = [];
  let at = 0;
  for (;;) {
    const head = bytes[at];
    const length = bytes[at + 1];
    if (head === undefined || length === undefined || at + 2 + length > bytes.length) return found;
    found.push({ head, payload: bytes.subarray(at + 2, at + 2 + length) });
    at += 2 + length;
  }
}

function isAsExpected(bytes: Buffer): boolean {
  const found = frames(bytes);
  if (found.length !== EXPECTED_HEADS.length) return false;
  if (found.some(({ head }, index) => head !== EXPECTED_HEADS[index])) return false;
  return inflateFragments(found.map(({ payload }) => payload)).toString() === FIRST + OWN + BODY;
}
