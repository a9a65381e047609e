/**
 * /metrics, at an address of its own: clients reach the services' ports, and are not told how busy they are. Off unless a
 * port is given.
 */
import { createHttpServer, type HttpServer } from './http-server.js';
import type { Logger } from './logger.js';

const MAX_BODY_BYTES = 1_024;
const DRAIN_MS = 500;

export interface MetricsServerParts {
  readonly host: string;
  readonly port: number;
  readonly logger: Logger;
  readonly contentType: string;
  readonly text: () => Promise<string>;
}

export function createMetricsServer({ host, port, logger, contentType, text }: MetricsServerParts): HttpServer {
  return createHttpServer({
    host,
    port,
    maxBodyBytes: MAX_BODY_BYTES,
    drainMs: DRAIN_MS,
    logger,
    addRoutes: (app) => {
      app.get('/metrics', async (_request, reply) => reply.type(contentType).send(await text()));
    },
  });
}
