/**
 * A pad server that speaks as Etherpad was recorded to speak, on the real socket.io server package: CLIENT_READY and
 * CLIENT_VARS, NEW_CHANGES, resumes with what was missed and the same once more at the next edit, complete silence for
 * who stands above the head, `userdup`, a timeDelta that is null after a resume, restarts without a close code.
 *
 * `engine: 3` makes it a server of Etherpad 1.8's generation: it does not look at the EIO that a client asks for, and
 * speaks Engine.IO 3. Viewers may join too: GET /p/PAD is answered 200.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server as HttpServer } from 'node:http';
import type { AddressInfo, Socket as TcpSocket } from 'node:net';
import { Server, type Socket } from 'socket.io';
import { PadHistory } from './pad-history.js';

export interface StandInOptions {
  readonly engine?: 3 | 4;
  readonly pingMs?: number;
}

/** What a test may have the server do instead of the proper thing; each is called for every CLIENT_READY. */
export interface Misbehaviour {
  /** Answers nothing. */
  silent: boolean;
  /** Answers this to CLIENT_READY, as it is. */
  answer: unknown;
}

interface Session {
  readonly pad: string;
  readonly token: string;
  readonly resumed: boolean;
  rev: number;
  /** Of the last revision sent; NaN after a resume, which JSON writes as null. */
  time: number;
}

export class EtherpadStandIn {
  readonly pads = new Map<string, PadHistory>();
  readonly misbehaviour: Misbehaviour = { silent: false, answer: undefined };
  /** Each CLIENT_READY that came. */
  readonly ready: Readonly<Record<string, unknown>>[] = [];
  private http: HttpServer | undefined;
  private io: Server | undefined;
  private readonly tcp = new Set<TcpSocket>();
  private readonly sessions = new Map<Socket, Session>();
  private ownPort = 0;

  private constructor(private readonly options: StandInOptions) {}

  static async start(options: StandInOptions = {}): Promise<EtherpadStandIn> {
    const server = new EtherpadStandIn(options);
    await server.listen();
    return server;
  }

  get port(): number {
    return this.ownPort;
  }

  get url(): string {
    return `http://127.0.0.1:${this.ownPort}`;
  }

  /** Clients that have resumed, as a source does to follow; who only reads the pad is none of them. */
  get resumed(): number {
    return [...this.sessions.values()].filter(({ resumed }) => resumed).length;
  }

  /** Clients that are in a pad. */
  get followers(): number {
    return this.sessions.size;
  }

  /** The pad; made when it is not there. */
  pad(name: string): PadHistory {
    let pad = this.pads.get(name);
    if (pad === undefined) this.pads.set(name, (pad = new PadHistory()));
    return pad;
  }

  /** Edits a pad and tells everyone who follows it. */
  edit<T>(name: string, edit: (pad: PadHistory) => T): T {
    const edited = edit(this.pad(name));
    for (const [socket, session] of this.sessions) if (session.pad === name) this.update(socket, session);
    return edited;
  }

  /** Sends a message of Etherpad's to all who follow the pad. */
  tell(name: string, message: unknown): void {
    for (const [socket, { pad }] of this.sessions) if (pad === name) socket.emit('message', message);
  }

  /** Cuts every connection, without a close code. */
  cut(): void {
    for (const socket of this.tcp) socket.destroy();
    this.sessions.clear();
  }

  /** Starts on the same port, or the first time on any. */
  async listen(): Promise<void> {
    const http = createServer((request, response) => {
      response.writeHead(request.url?.startsWith('/p/') === true ? 200 : 404).end();
    });
    http.on('connection', (socket: TcpSocket) => {
      this.tcp.add(socket);
      socket.on('close', () => this.tcp.delete(socket)).on('error', () => socket.destroy());
    });
    // In front of socket.io's own listener.
    if (this.options.engine === 3) http.on('upgrade', speakEngine3);
    this.io = new Server(http, {
      serveClient: false,
      allowEIO3: this.options.engine === 3,
      pingInterval: this.options.pingMs ?? 25_000,
    });
    this.io.on('connection', (socket) => {
      socket.on('message', (message: Readonly<Record<string, unknown>>) => {
        if (message['type'] === 'CLIENT_READY') this.clientReady(socket, message);
      });
      socket.on('disconnect', () => this.sessions.delete(socket));
    });
    http.listen(this.ownPort, '127.0.0.1');
    await once(http, 'listening');
    this.ownPort = (http.address() as AddressInfo).port;
    this.http = http;
  }

  /** Ends as a killed process does. Pads stay, for `listen`. */
  async stop(): Promise<void> {
    const { http, io } = this;
    if (http === undefined) return;
    this.http = undefined;
    this.cut();
    http.closeAllConnections();
    await Promise.all([io?.close(), new Promise((resolve) => http.close(resolve))]);
  }

  private clientReady(socket: Socket, message: Readonly<Record<string, unknown>>): void {
    this.ready.push(message);
    const { padId, token, reconnect, client_rev: clientRev } = message;
    if (this.misbehaviour.silent) return;
    if (this.misbehaviour.answer !== undefined) {
      socket.emit('message', this.misbehaviour.answer);
      return;
    }
    if (typeof padId !== 'string' || typeof token !== 'string' || message['protocolVersion'] !== 2) return;
    if (!/^t\.(?:[\w-]{4})+$/u.test(token)) {
      socket.emit('message', { accessStatus: 'deny' });
      return;
    }
    for (const [other, session] of this.sessions) {
      if (session.pad !== padId || session.token !== token) continue;
      this.sessions.delete(other);
      other.emit('message', { disconnect: 'userdup' });
    }
    const pad = this.pad(padId);
    if (reconnect === true && typeof clientRev === 'number') {
      this.sessions.set(socket, { pad: padId, token, resumed: true, rev: clientRev, time: Number.NaN });
      this.resume(socket, pad, clientRev);
      return;
    }
    this.sessions.set(socket, { pad: padId, token, resumed: false, rev: pad.head, time: Number.NaN });
    const collabVars = { ...pad.initialAttributedText(), padId, historicalAuthorData: {}, time: Date.now() };
    socket.emit('message', {
      type: 'CLIENT_VARS',
      data: { collab_client_vars: collabVars, padId, readOnlyId: `r.${padId}`, readonly: false, userId: 'a.self' },
    });
  }

  /** What the client lacks, in messages of their own; the session still counts from where the client stood. */
  private resume(socket: Socket, pad: PadHistory, clientRev: number): void {
    const headRev = pad.head;
    const send = (data: object) => socket.emit('message', { type: 'COLLABROOM', data });
    for (let rev = clientRev + 1; rev <= headRev; rev += 1) {
      const { rev: newRev, ...revision } = pad.revision(rev);
      send({ type: 'CLIENT_RECONNECT', headRev, newRev, ...revision });
    }
    if (clientRev === headRev) send({ type: 'CLIENT_RECONNECT', noChanges: true, newRev: headRev });
  }

  private update(socket: Socket, session: Session): void {
    const pad = this.pad(session.pad);
    while (session.rev < pad.head) {
      const { rev: newRev, ...revision } = pad.revision(session.rev + 1);
      const timeDelta = revision.currentTime - session.time;
      socket.emit('message', { type: 'COLLABROOM', data: { type: 'NEW_CHANGES', newRev, ...revision, timeDelta } });
      session.time = revision.currentTime;
      session.rev = newRev;
    }
  }
}

/** A server of that generation takes any EIO for its own. */
function speakEngine3(request: IncomingMessage): void {
  request.url = request.url?.replace('EIO=4', 'EIO=3') ?? '';
}
