/** A TCP proxy in front of an edge that sees what goes over the wire: handshakes, and how many bytes came back. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';

export class WireConnection {
  private requestText = '';
  private responseText = '';
  /** From the server, behind the head of its answer. */
  serverBytes = 0;

  constructor(client: Socket, server: Socket) {
    client.on('data', (chunk: Buffer) => {
      if (!this.requestText.includes(HEAD_END)) this.requestText += chunk.toString('latin1');
    });
    server.on('data', (chunk: Buffer) => {
      if (this.responseText.includes(HEAD_END)) {
        this.serverBytes += chunk.length;
        return;
      }
      this.responseText += chunk.toString('latin1');
      const end = this.responseText.indexOf(HEAD_END);
      if (end >= 0) this.serverBytes += this.responseText.length - end - HEAD_END.length;
    });
    const cut = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on('error', cut);
    client.pipe(server);
    server.pipe(client);
  }

  /** The extensions that the client offered; undefined if none. */
  get offered(): string | undefined {
    return headerIn(this.requestText, 'sec-websocket-extensions');
  }

  /** The extensions that the edge answered. */
  get answered(): string | undefined {
    return headerIn(this.responseText, 'sec-websocket-extensions');
  }
}

export class WireProxy {
  readonly connections: WireConnection[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    targetPort: number,
  ) {
    server.on('connection', (client) => {
      const upstream = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
      client.setNoDelay(true);
      this.sockets.add(client).add(upstream);
      this.connections.push(new WireConnection(client, upstream));
    });
  }

  static async start(targetPort: number): Promise<WireProxy> {
    const server = createServer();
    const proxy = new WireProxy(server, targetPort);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}

function headerIn(head: string, name: string): string | undefined {
  return new RegExp(`^${name}: *(.*)$`, 'imu').exec(head)?.[1]?.trim();
}
