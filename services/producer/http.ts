/**
 * The producer over HTTP: POST /v1/rooms/:room/revisions, PUT /v1/rooms/:room/snapshot and GET /openapi.json. From
 * headers, path and bytes to an append and back to an answer; what may be appended is decided by the appender, what it means by the log.
 * Every status that is answered here is documented in openapi.ts; a test compares the two.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../shared/http-server.js';
import { RevcastError } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import { parseRoomName } from '../shared/room-name.js';
import { invalid, type AppendLimits } from './append-limits.js';
import type { Appender } from './appender.js';
import { openApiDocument } from './openapi.js';
import { parsePublishRequest } from './publish-request.js';
import { receiveBody, tooLargeBody, type ReceivedBody } from './request-body.js';
import type { ProducerSettings } from './settings.js';
import { parseSnapshotRequest } from './snapshot-request.js';

export interface ProducerHttpParts {
  readonly settings: ProducerSettings;
  readonly limits: AppendLimits;
  readonly appender: Appender;
  readonly ready: NonNullable<HttpServerOptions['ready']>;
  readonly logger: Logger;
}

type PublishRoute = { Params: { room: string }; Body: ReceivedBody | undefined; Querystring: Record<string, unknown> };

export function createProducerHttp(parts: ProducerHttpParts): HttpServer {
  const { settings, limits, logger } = parts;
  return createHttpServer({
    host: settings.producerHost,
    port: settings.producerPort,
    maxBodyBytes: settings.producerMaxBodyBytes,
    drainMs: settings.producerDrainMs,
    logger,
    ready: parts.ready,
    addRoutes: (app) => {
      addPublishRoute(app, parts);
      addSnapshotRoute(app, parts);
      const document = openApiDocument({ ...limits, maxBodyBytes: settings.producerMaxBodyBytes });
      app.get('/openapi.json', () => document);
    },
  });
}

function addPublishRoute(app: FastifyInstance, { settings, appender, limits }: ProducerHttpParts): void {
  const maxBodyBytes = settings.producerMaxBodyBytes;
  // The bytes go to the handler as they are: a parser that throws would cost the client its connection.
  app.addContentTypeParser('application/json', (_request: unknown, payload: IncomingMessage) =>
    receiveBody(payload, maxBodyBytes),
  );
  app.post<PublishRoute>('/v1/rooms/:room/revisions', async (request, reply: FastifyReply) => {
    const room = parseRoomName(request.params.room);
    const { append, placeOf } = parsePublishRequest(bodyOf(request, maxBodyBytes), idempotencyKey(request), limits);
    const { epoch, rev, firstRev, tag, seq, time, duplicate } = await appender.append(room, append, placeOf);
    return reply.status(201).send({ room, epoch, rev, firstRev, tag, seq, time, duplicate });
  });
}

function addSnapshotRoute(app: FastifyInstance, { settings, appender }: ProducerHttpParts): void {
  app.put<PublishRoute>('/v1/rooms/:room/snapshot', async (request, reply: FastifyReply) => {
    const room = parseRoomName(request.params.room);
    const snapshot = parseSnapshotRequest(bodyOf(request, settings.producerMaxBodyBytes));
    const { epoch, rev, tag, time } = await appender.putSnapshot(room, snapshot);
    return reply.send({ room, epoch, rev, tag, time });
  });
}

function bodyOf({ body, query, headers }: FastifyRequest<PublishRoute>, maxBodyBytes: number): Buffer {
  const unknown = Object.keys(query)[0];
  if (unknown !== undefined) {
    throw invalid(`query parameter ${JSON.stringify(unknown)}`, 'is not known here: the body says everything');
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new RevcastError('unsupported_media_type', 'the body must not be encoded (Content-Encoding)');
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/iu.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/iu.test(charset)) {
    throw new RevcastError('unsupported_media_type', 'JSON is UTF-8, no other charset is understood');
  }
  if (body === undefined) throw invalid('body', 'is missing');
  if (body.kind === 'too large') throw tooLargeBody(maxBodyBytes);
  return body.bytes;
}

/** The Idempotency-Key header, which Node gives as bytes in a string, as the UTF-8 that it is. */
function idempotencyKey(request: FastifyRequest<PublishRoute>): string | undefined {
  const { rawHeaders } = request.raw;
  const given = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === 'idempotency-key');
  const first = given[0];
  if (first === undefined) return undefined;
  if (given.length > 1) throw invalid('Idempotency-Key', 'is given more than once');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(first, 'latin1'));
  } catch (error) {
    throw new RevcastError('invalid_request', 'Idempotency-Key is not valid UTF-8', {
      cause: error,
      details: { where: 'Idempotency-Key' },
    });
  }
}
