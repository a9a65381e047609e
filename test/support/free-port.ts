/** Ports for processes that must know theirs before they start. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that the kernel gives to outgoing connections (32768 and up), or one of those might take it first. */
const LOWEST_PORT = 12_000;
const HIGHEST_PORT = 32_000;

/** A TCP port on 127.0.0.1 that was free a moment ago, and hardly anybody else will choose. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT);
    const server = createServer();
    server.listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
