/**
 * The edge's listener: WebSockets of the client protocols, event streams, /healthz and /readyz, on one port. Handlers of
 * uWebSockets.js do as little as possible: they run while it holds its one cork.
 */
import './uws-headers.js';
import uWS, { type HttpResponse, type TemplatedApp, type us_listen_socket, type WebSocket } from 'uWebSockets.js';
import { sleep } from '../shared/clock.js';
import { assert, asError, RevcastError } from '../shared/errors.js';
import type { Readiness } from '../log/readiness.js';
import { AcceptLimits } from './accept-limits.js';
import { Blocks } from './blocks.js';
import type { Commands } from './commands.js';
import { Closer } from './closer.js';
import { ConnectionAge } from './connection-age.js';
import { LINGER_MS } from './connection-settings.js';
import { drain } from './drain.js';
import type { EdgeParts } from './edge-parts.js';
import { answer, errorBody, refuse } from './http-answer.js';
import { EtherpadEndpoint } from './etherpad-endpoint.js';
import { Liveness } from './liveness.js';
import { blockbookMethods, coinOf } from './protocols/blockbook.js';
import { etherpadProtocol } from './protocols/etherpad.js';
import { PadRooms } from './protocols/pad-rooms.js';
import { plain, plainProtocol } from './protocols/plain.js';
import type { Protocol } from './protocols/protocol.js';
import { Session, type SocketData } from './session.js';
import type { SocketAccess } from './socket-access.js';
import { Sessions } from './sessions.js';
import { SseEndpoint } from './sse-endpoint.js';
import { readHandshake, type Refusal } from './upgrade.js';
import { listen, type EdgeSocket } from './uws.js';

/** A message so many times over the limit is not even read: uWebSockets.js cuts the connection. */
const HARD_LIMIT_FACTOR = 16;
/** Replies of a client that does not read them: beyond this they are dropped, and the client is cut. */
const MAX_BACKPRESSURE_BYTES = 1024 * 1024;
/** uWebSockets.js counts progress its own way, so its timer is out of the way and Liveness decides. Its maximum. */
const IDLE_TIMEOUT_S = 960;
/** Of the time in which clients were closed, closed sockets stay for such a part before they are cut. */
const LINGER_SHARE = 0.1;
/** Keeps the process alive while it closes: the clock's timers do not. */
const KEEP_ALIVE_MS = 1_000;

export class Server {
  private readonly app: TemplatedApp = uWS.App();
  private readonly sessions: Sessions;
  private readonly liveness: Liveness;
  private readonly closer: Closer;
  private readonly age: ConnectionAge;
  private readonly limits: AcceptLimits;
  private listening: us_listen_socket | undefined;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly parts: EdgeParts,
    private readonly commands: Commands,
    private readonly readiness: Readiness,
  ) {
    const { settings, clock, counters, logger, publishing } = parts;
    this.closer = new Closer({
      clock,
      logger,
      closeTimeoutMs: settings.closeTimeoutMs,
      finishPublishing: (session) => publishing.finish(session),
      onCut: () => {
        counters.socketsCut += 1;
      },
    });
    this.age = new ConnectionAge({
      clock,
      closer: this.closer,
      maxAgeMs: settings.maxConnectionAgeMs,
      jitter: settings.connectionAgeJitter,
      random: Math.random,
      onClose: () => {
        counters.socketsAged += 1;
      },
    });
    const { maxSockets, acceptRate: rate, acceptBurst: burst } = settings;
    this.limits = new AcceptLimits({ maxSockets, rate, burst, clock, counters, random: Math.random });
    this.sessions = new Sessions(this.age, counters);
    this.liveness = new Liveness(this.sessions, parts);
    const protocol = clientProtocol(parts);
    this.serve('/v1/ws', protocol);
    if (parts.settings.blockbookRoom !== '') this.serve('/websocket', protocol);
    new SseEndpoint(parts, commands, this.sessions, () => this.admits()).serve(this.app, '/v1/sse');
    this.serveEtherpad();
    this.app.get('/healthz', (response) => {
      answer(response, '200 OK', { ok: true });
    });
    this.app.get('/readyz', (response) => {
      this.ready(response);
    });
    this.app.any('/*', (response) => {
      const error = new RevcastError('not_found', `nothing is served here; ${servedAt(parts)}`);
      answer(response, '404 Not Found', errorBody(error));
    });
  }

  /** Sockets open now. */
  get socketCount(): number {
    return this.sessions.size;
  }

  /** Listens; the answer is the port. Throws when the port cannot be had. */
  async listen(host: string, port: number, sharePort: boolean): Promise<number> {
    const listening = await listen(this.app, host, port, sharePort);
    this.listening = listening.socket;
    this.liveness.start();
    this.age.start();
    return listening.port;
  }

  /**
   * Takes no more clients, and lets those that are there go as drain.ts says; who is left then is cut. Bounded by
   * `stopLimitMs`. Idempotent.
   */
  close(): Promise<void> {
    this.closing ??= this.drain();
    return this.closing;
  }

  private async drain(): Promise<void> {
    const { clock, settings } = this.parts;
    const keepAlive = setInterval(() => undefined, KEEP_ALIVE_MS);
    this.age.stop();
    let closingSince: number | undefined;
    await drain({
      clock,
      closer: this.closer,
      sockets: this.sessions,
      settings,
      closeListener: () => {
        if (this.listening !== undefined) uWS.us_listen_socket_close(this.listening);
        if (this.sessions.size > 0) closingSince = clock.monotonic();
      },
      random: Math.random,
    });
    // A socket that is closed with input unread is reset, and what its client has not received is lost.
    if (closingSince !== undefined) {
      const share = (clock.monotonic() - closingSince) * LINGER_SHARE;
      await sleep(clock, Math.min(Math.max(share, LINGER_MS.least), LINGER_MS.most));
    }
    this.liveness.stop();
    this.app.close();
    clearInterval(keepAlive);
  }

  /** Viewers of pads, where a setting says which rooms are pads. */
  private serveEtherpad(): void {
    const { etherpadRooms } = this.parts.settings;
    if (etherpadRooms === '') return;
    const rooms = new PadRooms(etherpadRooms);
    const protocol = etherpadProtocol(rooms);
    const endpoint = new EtherpadEndpoint(this.parts, protocol, rooms, () => this.admits());
    endpoint.servePads(this.app, '/p');
    this.serve('/socket.io/', protocol, endpoint);
  }

  private serve(path: string, protocol: Protocol, access?: SocketAccess): void {
    const { settings } = this.parts;
    this.app.ws<SocketData>(path, {
      compression: settings.deflate === 'off' ? uWS.DISABLED : uWS.SHARED_COMPRESSOR,
      maxPayloadLength: settings.maxMessageBytes * HARD_LIMIT_FACTOR,
      maxBackpressure: MAX_BACKPRESSURE_BYTES,
      idleTimeout: IDLE_TIMEOUT_S,
      sendPingsAutomatically: false,
      upgrade: (response, request, context) => {
        if (access?.refuses(response, request) === true) return;
        const decision = readHandshake(request, { deflate: settings.deflate !== 'off' });
        if (decision.kind === 'refuse') {
          refuse(response, decision);
          return;
        }
        const refusal = this.admits(access?.wasCounted(request));
        if (refusal !== undefined) {
          refuse(response, refusal);
          return;
        }
        const { key, protocol: subprotocol, extensions } = decision.handshake;
        const conversation = access === undefined ? {} : { conversation: access.converse(request) };
        const data: SocketData = { protocol, deflates: extensions !== '', ...conversation };
        response.upgrade(data, key, subprotocol, extensions, context);
      },
      open: (ws) => {
        const data = ws.getUserData();
        data.session = new Session(ws as EdgeSocket<SocketData>, data, this.parts);
        this.sessions.add(data.session);
        data.session.onOpen();
      },
      message: (ws, message, isBinary) => {
        this.onMessage(ws, message, isBinary);
      },
      pong: (ws) => {
        ws.getUserData().session?.sawLife();
      },
      ping: (ws) => {
        ws.getUserData().session?.sawLife();
      },
      drain: (ws) => {
        ws.getUserData().session?.onDrain();
      },
      close: (ws) => {
        const { session } = ws.getUserData();
        if (session === undefined) return;
        this.sessions.delete(session);
        session.onClose();
      },
    });
    // What is no GET or has no sound key does not come to `upgrade`.
    this.app.any(path, (response, request) => {
      if (access !== undefined && request.getHeader('upgrade') === '') {
        access.onRequest(response, request);
        return;
      }
      const decision = readHandshake(request, { deflate: false });
      assert(decision.kind === 'refuse', 'a handshake is upgraded');
      refuse(response, decision);
    });
  }

  private onMessage(ws: WebSocket<SocketData>, message: ArrayBuffer, isBinary: boolean): void {
    const { session } = ws.getUserData();
    if (session === undefined) return;
    session.sawLife();
    try {
      if (message.byteLength > this.parts.settings.maxMessageBytes) {
        const limit = this.parts.settings.maxMessageBytes;
        const text = `the message has ${message.byteLength} bytes, at most ${limit} are read`;
        session.refuse('null', new RevcastError('too_large', text));
        return;
      }
      for (const command of session.hear(message, isBinary)) this.commands.run(session, command);
    } catch (error) {
      // uWebSockets.js would print and go on: a fault of ours is logged, and ends this connection only.
      this.parts.logger.error({ err: asError(error) }, 'a message could not be handled');
      session.cut();
    }
  }

  /** Why a client is not taken; a new one unless it `wasCounted` as that before. */
  private admits(wasCounted = false): Refusal | undefined {
    if (this.closing !== undefined) return this.limits.stopping();
    return this.limits.refusal(this.sessions.size, wasCounted);
  }

  private ready(response: HttpResponse): void {
    let aborted = false;
    response.onAborted(() => {
      aborted = true;
    });
    const send = (ready: boolean, detail: string) => {
      if (aborted) return;
      response.cork(() => {
        answer(response, ready ? '200 OK' : '503 Service Unavailable', {
          ready,
          detail,
        });
      });
    };
    if (this.closing !== undefined) {
      send(false, 'stopping');
      return;
    }
    this.readiness.check().then(
      ({ ok, detail }) => {
        // A full edge serves those it has, so it is ready; whoever looks is told.
        const isFull = ok && this.limits.isFull(this.sessions.size);
        send(ok, isFull ? `full: ${this.sessions.size} sockets` : detail);
      },
      (error: unknown) => {
        send(false, asError(error).message);
      },
    );
  }
}

function servedAt({ settings }: EdgeParts): string {
  const places = ['WebSockets are at /v1/ws', 'event streams at /v1/sse'];
  if (settings.blockbookRoom !== '') places.push('Blockbook at /websocket');
  if (settings.etherpadRooms !== '') places.push('viewers of pads at /socket.io/');
  return places.join(', ');
}

/** The plain protocol, with Blockbook's methods where a coin is configured. */
function clientProtocol(parts: EdgeParts): Protocol {
  const { settings } = parts;
  const room = settings.blockbookRoom;
  if (room === '') return plain;
  return plainProtocol(blockbookMethods(coinOf(settings), room, new Blocks(parts, room, settings.blockbookHeights)));
}
