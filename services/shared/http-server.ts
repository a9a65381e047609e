/**
 * One HTTP set-up for every service that speaks it: the error shape `{error: {code, message, …}}`, its statuses and
 * Retry-After, 404 and 405, /healthz and /readyz, limits on body, headers and time, and a bounded graceful stop.
 * No body is parsed unless a service adds a content type parser; until then every body is 415.
 */
import { fastify, type FastifyInstance, type FastifyReply, type HTTPMethods } from 'fastify';
import type { Socket } from 'node:net';
import { asError, RevcastError, type ErrorCode } from './errors.js';
import { withTimeout, type Running } from './lifecycle.js';
import type { Logger } from './logger.js';

/** A whole request must have arrived within this time. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than any path that fits the request's headers (16 KB), so that no router limit answers in our place. */
const MAX_PARAM_LENGTH = 65_536;
const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Seconds after which a client may try again, by code; a full log is not emptied in a moment. */
const RETRY_AFTER_SECONDS: Partial<Record<ErrorCode, number>> = {
  overloaded: 1,
  log_unavailable: 2,
  log_full: 30,
  outcome_unknown: 2,
  shutting_down: 1,
};

export interface Readiness {
  readonly ok: boolean;
  /** One line for people; empty when there is nothing to tell. */
  readonly detail: string;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly maxBodyBytes: number;
  /** How long `stop` waits for requests that are under way before it cuts them. */
  readonly drainMs: number;
  readonly logger: Logger;
  /** Answered by /readyz; without it there is none. */
  readonly ready?: () => Readiness | Promise<Readiness>;
  /** Adds the service's routes and parsers; what a handler throws is answered by `sendError`. */
  readonly addRoutes: (app: FastifyInstance) => void;
}

interface HttpRoute {
  readonly method: string;
  /** As fastify writes it: /v1/rooms/:room */
  readonly path: string;
}

export interface HttpServer extends Running {
  readonly app: FastifyInstance;
  /** The routes that exist, /healthz and /readyz too, without HEAD and those that answer 405. */
  readonly routes: readonly HttpRoute[];
  /** Listens, and answers the URL, without a path. */
  listen(): Promise<string>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  let stopping: Promise<void> | undefined;
  const routes: HttpRoute[] = [];
  const app = fastify({
    logger: false,
    bodyLimit: options.maxBodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    frameworkErrors: (error, _request, reply) => {
      sendError(reply, error, options.logger);
    },
    clientErrorHandler: answerBrokenRequest,
  });
  app.removeAllContentTypeParsers();
  app.setErrorHandler((error, _request, reply) => sendError(reply, error, options.logger));
  app.setNotFoundHandler((request) => {
    throw new RevcastError('not_found', `there is nothing at ${request.method} ${pathOf(request.url)}`);
  });
  app.addHook('onRequest', async () => {
    if (stopping !== undefined) throw new RevcastError('shutting_down', 'the service is stopping');
  });
  // A connection that became idle after the stop began would hold it up until the bound.
  app.addHook('onSend', async (_request, reply) => {
    if (stopping !== undefined) reply.header('connection', 'close');
  });
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') routes.push({ method: one, path: url });
  });
  app.get('/healthz', () => ({ ok: true }));
  const { ready } = options;
  if (ready !== undefined) {
    app.get('/readyz', async (_request, reply) => {
      const { ok, detail } = await ready();
      return reply.status(ok ? 200 : 503).send({ ready: ok, detail });
    });
  }
  options.addRoutes(app);
  const ownRoutes = [...routes];
  refuseOtherMethods(app, ownRoutes);

  return {
    app,
    routes: ownRoutes,
    async listen() {
      try {
        await app.listen({ host: options.host, port: options.port });
      } catch (error) {
        throw new Error(`cannot listen on ${options.host}:${options.port}: ${asError(error).message}`, {
          cause: error,
        });
      }
      const address = app.server.address();
      const port = typeof address === 'object' && address !== null ? address.port : options.port;
      return `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`;
    },
    stop() {
      stopping ??= drain(app, options);
      return stopping;
    },
  };
}

/** Answers with the error's status and shape. What nobody expected is logged, and told to nobody else. */
function sendError(reply: FastifyReply, thrown: unknown, logger: Logger): FastifyReply {
  const error = asRevcastError(thrown);
  if (error.code === 'internal') {
    logger.error({ err: asError(thrown), method: reply.request.method, url: reply.request.url }, 'request failed');
  }
  const retryAfter = RETRY_AFTER_SECONDS[error.code];
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  return reply.status(error.httpStatus).send(errorBody(error));
}

/** `{error: {code, message, …details}}`, with `outcome: "unknown"` where it is. */
function errorBody(error: RevcastError): { error: Record<string, unknown> } {
  const outcome = error.code === 'outcome_unknown' ? { outcome: 'unknown' } : {};
  return { error: { code: error.code, message: error.message, ...outcome, ...error.details } };
}

function asRevcastError(thrown: unknown): RevcastError {
  if (thrown instanceof RevcastError) return thrown;
  const { code, statusCode, message } = asError(thrown) as Error & { code?: unknown; statusCode?: unknown };
  if (statusCode === 413) return new RevcastError('too_large', 'the body is larger than allowed');
  if (statusCode === 415) return new RevcastError('unsupported_media_type', 'no such media type is understood here');
  if (code === 'FST_ERR_BAD_URL') return new RevcastError('invalid_request', 'the path is not valid percent-encoding');
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new RevcastError('invalid_request', message);
  }
  return new RevcastError('internal', 'internal error', { cause: thrown });
}

/** 405 with Allow for the methods that a path does not have: before the body is looked at. */
function refuseOtherMethods(app: FastifyInstance, routes: readonly HttpRoute[]): void {
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map((route) => route.method);
    if (methods.includes('GET')) methods.push('HEAD');
    const refuse = async (_request: unknown, reply: FastifyReply) => {
      reply.header('allow', methods.join(', '));
      throw new RevcastError('method_not_allowed', `this path answers ${methods.join(', ')}`);
    };
    const others = METHODS.filter((method) => !methods.includes(method));
    app.route({ method: others, url: path, onRequest: refuse, handler: refuse });
  }
}

/** Stops accepting, lets requests under way finish within the bound, then cuts what is left. */
async function drain(app: FastifyInstance, { drainMs, logger }: HttpServerOptions): Promise<void> {
  const closed = app.close();
  try {
    await withTimeout(closed, drainMs, `requests were still under way after ${drainMs} ms`);
  } catch (error) {
    logger.warn({ err: asError(error) }, 'cutting the connections that are left');
    app.server.closeAllConnections();
    await closed;
  }
}

/** A request that is not HTTP has no reply object: its answer is written to the socket. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const answer =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new RevcastError('request_timeout', 'the request did not arrive in time')
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? new RevcastError('headers_too_large', 'the path and headers are larger than allowed')
        : new RevcastError('invalid_request', 'the request is not valid HTTP');
  const body = JSON.stringify(errorBody(answer));
  socket.end(
    `HTTP/1.1 ${answer.httpStatus} Refused\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? url;
}
