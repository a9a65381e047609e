/**
 * A TCP proxy in front of a server, for tests of what stands between: it cuts connections, refuses them, and moves to
 * another server, as a load balancer does.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export class SwitchProxy {
  private readonly sockets = new Set<Socket>();
  private open = true;

  private constructor(
    private readonly server: Server,
    private targetPort: number,
  ) {}

  static async start(targetPort: number): Promise<SwitchProxy> {
    const server = createServer();
    const proxy = new SwitchProxy(server, targetPort);
    server.on('connection', (socket) => {
      proxy.accept(socket);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connections under way. */
  get connections(): number {
    return this.sockets.size;
  }

  /** Cuts every connection and refuses new ones. */
  cut(): void {
    this.open = false;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Takes connections again, to another server if one is named. */
  restore(targetPort = this.targetPort): void {
    this.targetPort = targetPort;
    this.open = true;
  }

  /** Cuts every connection; the next go to another server. */
  switchTo(targetPort: number): void {
    this.cut();
    this.restore(targetPort);
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }

  private accept(socket: Socket): void {
    if (!this.open) {
      socket.destroy();
      return;
    }
    const upstream = connect(this.targetPort, '127.0.0.1');
    this.sockets.add(socket);
    const end = () => {
      this.sockets.delete(socket);
      socket.destroy();
      upstream.destroy();
    };
    // 'close' follows an error; a listener must be there for the error itself.
    for (const side of [socket, upstream]) side.on('error', end).on('close', end);
    socket.pipe(upstream);
    upstream.pipe(socket);
  }
}
