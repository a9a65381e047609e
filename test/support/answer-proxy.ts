/**
 * A TCP proxy in front of NATS that understands what the server says, and keeps back the messages that a test chooses:
 * whoever waits for them waits in vain, while the connection and everything else on it goes on.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const LINE_END = '\r\n';
const MESSAGE = /^H?MSG /u;

export class AnswerProxy {
  /** Messages that were kept back. */
  swallowed = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: number,
    private readonly swallows: (payload: string) => boolean,
  ) {
    server.on('connection', (client) => {
      this.accept(client);
    });
  }

  /** `swallows` decides about each message by its payload, headers included. */
  static async start(targetPort: number, swallows: (payload: string) => boolean): Promise<AnswerProxy> {
    const server = createServer();
    const proxy = new AnswerProxy(server, targetPort, swallows);
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Cuts every connection. */
  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }

  private accept(client: Socket): void {
    const upstream = connect({ port: this.target, host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
    const end = () => {
      for (const side of [client, upstream]) {
        this.sockets.delete(side);
        side.destroy();
      }
    };
    // 'close' follows an error; a listener must be there for the error itself.
    for (const side of [client, upstream]) {
      this.sockets.add(side);
      side.on('error', end).on('close', end);
    }
    client.pipe(upstream);
    let bytes: Buffer = Buffer.alloc(0);
    upstream.on('data', (chunk: Buffer) => {
      bytes = this.relay(Buffer.concat([bytes, chunk]), client);
    });
  }

  /** Passes on what is whole, but for what is kept back; what is left is not whole yet. */
  private relay(bytes: Buffer, client: Socket): Buffer {
    let at = 0;
    for (;;) {
      const lineEnd = bytes.indexOf(LINE_END, at);
      if (lineEnd < 0) break;
      const line = bytes.toString('latin1', at, lineEnd);
      const begin = lineEnd + LINE_END.length;
      const size = MESSAGE.test(line) ? Number(line.split(' ').at(-1)) + LINE_END.length : 0;
      if (bytes.length < begin + size) break;
      if (size > 0 && this.swallows(bytes.toString('utf8', begin, begin + size - LINE_END.length))) this.swallowed += 1;
      else client.write(bytes.subarray(at, begin + size));
      at = begin + size;
    }
    return bytes.subarray(at);
  }
}
