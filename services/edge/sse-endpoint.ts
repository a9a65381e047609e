/**
 * Streams of events over HTTP (SPEC.md, V rules): reads the request, and makes a session of its answer, which then is
 * served as a WebSocket's is. What is wrong with a request is answered before the stream begins; what goes wrong later is
 * an event, because a browser gives up for good on an answer that is neither 200 nor a broken connection.
 */
import { STATUS_CODES } from 'node:http';
import type { HttpRequest, HttpResponse, TemplatedApp } from 'uWebSockets.js';
import { asError, RevcastError } from '../shared/errors.js';
import type { Commands } from './commands.js';
import type { EdgeParts } from './edge-parts.js';
import { answer, errorBody, refuse, type Headers } from './http-answer.js';
import { requestIdOf, sse } from './protocols/sse.js';
import { Session } from './session.js';
import type { Sessions } from './sessions.js';
import { SseSocket } from './sse-socket.js';
import { parseStreamQuery, type StreamQuery } from './stream-query.js';
import type { Refusal } from './upgrade.js';

/** Sent on a connection of its own, so that whoever comes back may come to another edge. */
const STREAM_HEADERS: Headers = [
  ['Content-Type', 'text/event-stream'],
  ['Cache-Control', 'no-store'],
  ['X-Accel-Buffering', 'no'],
  ['Connection', 'close'],
];

export class SseEndpoint {
  private readonly origins: ReadonlySet<string>;

  constructor(
    private readonly parts: EdgeParts,
    private readonly commands: Commands,
    /** The edge's sessions, of WebSockets too. */
    private readonly sessions: Pick<Sessions, 'add' | 'delete'>,
    /** Why nothing more is taken now. */
    private readonly refusal: () => Refusal | undefined,
  ) {
    const origins = parts.settings.allowedOrigins.split(',').map((origin) => origin.trim());
    this.origins = new Set(origins.filter((origin) => origin !== ''));
  }

  serve(app: TemplatedApp, path: string): void {
    app.get(path, (response, request) => {
      this.onGet(response, request);
    });
    app.any(path, (response, request) => {
      const error = new RevcastError('method_not_allowed', 'a stream of events is asked for with GET');
      if (request.getMethod() === 'head') {
        response.writeStatus('405 Method Not Allowed').writeHeader('Allow', 'GET').endWithoutBody();
      } else answer(response, '405 Method Not Allowed', errorBody(error), [['Allow', 'GET']]);
    });
  }

  private onGet(response: HttpResponse, request: HttpRequest): void {
    const origin = this.originHeaders(request);
    const query = this.readQuery(request);
    if (query instanceof RevcastError) {
      const { httpStatus } = query;
      answer(response, `${httpStatus} ${STATUS_CODES[httpStatus] ?? ''}`, errorBody(query), origin);
      return;
    }
    if (query.places.every((place) => place === 'refused')) {
      // Every room was refused, and the client was told: this ends its coming back.
      writeHead(response, '204 No Content', origin);
      response.endWithoutBody();
      return;
    }
    const refusal = this.refusal();
    if (refusal === undefined) this.stream(response, query, origin);
    else if (refusal.error.code === 'shutting_down') this.sendElsewhere(response, origin);
    else refuse(response, refusal, origin);
  }

  /** Nothing is thrown: in a handler of uWebSockets.js that would end the process. */
  private readQuery(request: HttpRequest): StreamQuery | RevcastError {
    try {
      // Its declaration leaves out that there may be none.
      const query = (request.getQuery() as string | undefined) ?? '';
      return parseStreamQuery(query, request.getHeader('last-event-id'), this.parts.settings.maxRoomsPerSocket);
    } catch (error) {
      if (error instanceof RevcastError) return error;
      this.parts.logger.error({ err: asError(error) }, 'a request for a stream could not be read');
      return new RevcastError('internal', 'the edge failed; the fault was logged');
    }
  }

  private stream(response: HttpResponse, query: StreamQuery, origin: Headers): void {
    writeHead(response, '200 OK', [...STREAM_HEADERS, ...origin]);
    const { places, rooms } = query;
    const onClosed = () => {
      if (socket.session !== undefined) this.sessions.delete(socket.session);
    };
    const socket = new SseSocket(response, { places, retryMs: () => this.retryMs(), onClosed });
    const session = new Session(
      socket,
      { protocol: sse, deflates: false, headerBytes: socket.headerBytes },
      this.parts,
    );
    socket.session = session;
    this.sessions.add(session);
    for (const [index, room] of rooms.entries()) {
      const place = places[index];
      if (place === 'refused') continue;
      const id = requestIdOf(rooms.length === 1 ? '' : String(index), room);
      this.commands.run(session, { kind: 'subscribe', id, room, since: place ?? query.since, batch: query.batch });
    }
  }

  /** A stopping edge: a stream that ends at once, because after a 503 a browser would not come back. */
  private sendElsewhere(response: HttpResponse, origin: Headers): void {
    writeHead(response, '200 OK', [...STREAM_HEADERS, ...origin]);
    response.write(`retry: ${this.retryMs()}\n\n`);
    response.end();
  }

  /** Half to one and a half of the setting, so that those who lost an edge do not all come at once. */
  private retryMs(): number {
    return Math.round(this.parts.settings.sseRetryMs * (0.5 + Math.random()));
  }

  private originHeaders(request: HttpRequest): Headers {
    if (this.origins.has('*')) return [['Access-Control-Allow-Origin', '*']];
    const origin = request.getHeader('origin');
    if (this.origins.size === 0) return [];
    const allowed: Headers = this.origins.has(origin) ? [['Access-Control-Allow-Origin', origin]] : [];
    return [['Vary', 'Origin'], ...allowed];
  }
}

function writeHead(response: HttpResponse, status: string, headers: Headers): void {
  response.writeStatus(status);
  for (const [name, value] of headers) response.writeHeader(name, value);
}
