/**
 * What a viewer of a pad asks for over HTTP (SPEC.md, K rules): GET /p/PAD, and Engine.IO's requests at /socket.io/. They
 * are checked in Engine.IO's order and refused with its codes.
 *
 * Polling only opens a connection: a client that polls first is offered the WebSocket, its polls are answered with nothing,
 * and what it posts meanwhile can only be the CONNECT that every client sends. So nothing is kept between requests, and
 * they may come to different edges. A client that does not go on to the WebSocket is refused when its session's name,
 * which begins with when it was made, is SESSION_MS old. Limit: HELD_POLLS wait at once, others are answered at once.
 */
import { STATUS_CODES } from 'node:http';
import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { asError, RevcastError } from '../shared/errors.js';
import type { EdgeParts } from './edge-parts.js';
import { answer, errorBody, refuse, type Headers } from './http-answer.js';
import { EtherpadViewer, newSessionId } from './protocols/etherpad-viewer.js';
import type { PadRooms } from './protocols/pad-rooms.js';
import type { Conversation, Protocol } from './protocols/protocol.js';
import { NOOP, openPacket, readPacket } from './protocols/socket-io.js';
import type { SocketAccess } from './socket-access.js';
import type { Refusal } from './upgrade.js';

/** How long a poll waits: a client that has opened its WebSocket goes over to it when its poll ends. */
const HOLD_MS = 100;
const HELD_POLLS = 1_000;
/** For opening a WebSocket; and what edges' clocks may differ by. */
const SESSION_MS = 30_000;
/** Between packets of one body. */
const SEPARATOR = '\u001e';
const ENGINE_PROTOCOL = '4';

/** Engine.IO's errors: what they are told with. */
const ENGINE_ERRORS = {
  transport: { code: 0, message: 'Transport unknown' },
  session: { code: 1, message: 'Session ID unknown' },
  method: { code: 2, message: 'Bad handshake method' },
  request: { code: 3, message: 'Bad request' },
  version: { code: 5, message: 'Unsupported protocol version' },
} as const;

interface EngineQuery {
  readonly transport: string;
  readonly sid: string | null;
}

export class EtherpadEndpoint implements SocketAccess {
  private held = 0;

  constructor(
    private readonly parts: EdgeParts,
    private readonly protocol: Protocol,
    private readonly rooms: PadRooms,
    /** Why nothing more is taken now. */
    private readonly refusal: () => Refusal | undefined,
  ) {}

  /** The page of a pad, in so far as there is one: clients ask for it before they connect. */
  servePads(app: TemplatedApp, path: string): void {
    app.get(`${path}/:pad`, (response, request) => {
      this.onPad(response, request.getParameter(0) ?? '');
    });
    app.any(`${path}/:pad`, (response) => {
      refuseRequest(response, new RevcastError('method_not_allowed', 'a pad is looked for with GET'), [
        ['Allow', 'GET'],
      ]);
    });
  }

  refuses(response: HttpResponse, request: HttpRequest): boolean {
    const query = readQuery(request);
    const problem = problemOf(query, request.getMethod(), true) ?? this.problemOfSession(query);
    if (problem !== undefined) refuseEngine(response, problem);
    return problem !== undefined;
  }

  wasCounted(request: HttpRequest): boolean {
    return readQuery(request).sid !== null;
  }

  converse(request: HttpRequest): Conversation {
    const isUpgrade = readQuery(request).sid !== null;
    const { protocol, rooms, parameters } = this;
    const isLatest = (room: string) => this.parts.isLatest(room);
    return new EtherpadViewer({ protocol, rooms, isLatest, isUpgrade, parameters });
  }

  onRequest(response: HttpResponse, request: HttpRequest): void {
    const query = readQuery(request);
    const method = request.getMethod();
    const problem = problemOf(query, method, false) ?? this.problemOfSession(query);
    if (problem !== undefined) {
      refuseEngine(response, problem);
      return;
    }
    if (query.sid !== null) {
      if (method === 'get') this.poll(response);
      else if (method === 'post') this.post(response);
      else refuseEngine(response, ENGINE_ERRORS.request);
      return;
    }
    const refusal = this.refusal();
    if (refusal !== undefined) refuse(response, refusal);
    else this.open(response);
  }

  private get parameters() {
    const { pingAfterMs, deadAfterMs, maxMessageBytes } = this.parts.settings;
    // Liveness looks at a session four times in that time, so a heartbeat may be late by a quarter.
    const pingTimeout = Math.max(deadAfterMs - pingAfterMs, pingAfterMs);
    return { pingInterval: pingAfterMs, pingTimeout, maxPayload: maxMessageBytes };
  }

  private open(response: HttpResponse): void {
    const sid = `${this.parts.clock.now().toString(36)}.${newSessionId()}`;
    endText(response, openPacket({ sid, upgrades: ['websocket'], ...this.parameters }));
  }

  private problemOfSession({ sid }: EngineQuery) {
    if (sid === null) return undefined;
    const [, begun = ''] = /^([\da-z]{1,9})\.[\w-]{20}$/u.exec(sid) ?? [];
    const ageMs = this.parts.clock.now() - Number.parseInt(begun, 36);
    return Math.abs(ageMs) <= SESSION_MS ? undefined : ENGINE_ERRORS.session;
  }

  private poll(response: HttpResponse): void {
    if (this.held >= HELD_POLLS) {
      endText(response, NOOP);
      return;
    }
    let aborted = false;
    this.held += 1;
    response.onAborted(() => {
      aborted = true;
    });
    this.parts.clock.after(HOLD_MS, () => {
      this.held -= 1;
      if (aborted) return;
      response.cork(() => {
        endText(response, NOOP);
      });
    });
  }

  private post(response: HttpResponse): void {
    const { maxMessageBytes } = this.parts.settings;
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.onAborted(() => {
      bytes = Number.POSITIVE_INFINITY;
    });
    response.onData((chunk, isLast) => {
      if (bytes > maxMessageBytes) return;
      bytes += chunk.byteLength;
      if (bytes > maxMessageBytes) {
        answer(response, '413 Payload Too Large', ENGINE_ERRORS.request);
        return;
      }
      // The bytes are gone when this returns.
      chunks.push(Buffer.from(Buffer.from(chunk)));
      if (!isLast) return;
      const packets = Buffer.concat(chunks).toString().split(SEPARATOR);
      if (packets.every((packet) => isOpening(packet))) endText(response, 'ok');
      else refuseEngine(response, ENGINE_ERRORS.request);
    });
  }

  private onPad(response: HttpResponse, segment: string): void {
    let room: string;
    try {
      room = this.rooms.roomOf(decodeURIComponent(segment));
    } catch (error) {
      // Not percent-encoded UTF-8, or no pad's name.
      const malformed = "a pad's name in a URL is percent-encoded UTF-8";
      const problem = error instanceof RevcastError ? error : new RevcastError('invalid_room', malformed);
      refuseRequest(response, problem);
      return;
    }
    let aborted = false;
    response.onAborted(() => {
      aborted = true;
    });
    const respond = (write: () => void) => {
      if (!aborted) response.cork(write);
    };
    this.parts.lookup.look(room, null).then(
      (looked) => {
        respond(() => {
          const exists = looked.kind === 'differs' && looked.head !== null;
          if (exists) endText(response, 'This pad can be viewed over Socket.IO.\n');
          else refuseRequest(response, new RevcastError('not_found', 'there is no such pad'));
        });
      },
      (error: unknown) => {
        respond(() => {
          refuseRequest(response, new RevcastError('log_unavailable', asError(error).message));
        });
      },
    );
  }
}

function readQuery(request: HttpRequest): EngineQuery & { readonly version: string | null; readonly isJsonp: boolean } {
  // Its declaration leaves out that there may be none.
  const query = new URLSearchParams((request.getQuery() as string | undefined) ?? '');
  return {
    transport: query.get('transport') ?? '',
    sid: query.get('sid'),
    version: query.get('EIO'),
    isJsonp: query.has('j'),
  };
}

function problemOf(
  { transport, sid, version, isJsonp }: ReturnType<typeof readQuery>,
  method: string,
  isUpgrade: boolean,
) {
  if (transport !== 'websocket' && transport !== 'polling') return ENGINE_ERRORS.transport;
  if (sid === null && method.toLowerCase() !== 'get') return ENGINE_ERRORS.method;
  if (isUpgrade !== (transport === 'websocket') || isJsonp) return ENGINE_ERRORS.request;
  return version === ENGINE_PROTOCOL ? undefined : ENGINE_ERRORS.version;
}

/** What a client that is about to go over to the WebSocket may say before: that it connects, or that it does not. */
function isOpening(text: string): boolean {
  const { kind } = readPacket(text);
  return kind === 'connect' || kind === 'disconnect' || kind === 'close' || kind === 'pong';
}

function refuseEngine(response: HttpResponse, error: { readonly code: number; readonly message: string }): void {
  answer(response, '400 Bad Request', error);
}

function refuseRequest(response: HttpResponse, error: RevcastError, headers: Headers = []): void {
  const { httpStatus, retryable } = error;
  const more: Headers = retryable ? [['Retry-After', '1']] : [];
  answer(response, `${httpStatus} ${STATUS_CODES[httpStatus] ?? ''}`, errorBody(error), [...headers, ...more]);
}

function endText(response: HttpResponse, text: string): void {
  response.writeHeader('Content-Type', 'text/plain; charset=utf-8').writeHeader('Cache-Control', 'no-store').end(text);
}
