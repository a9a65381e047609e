/**
 * The revision service over HTTP, for people and for catching up by hand: a room's head, its snapshot, and its revisions
 * as JSON or as NDJSON. A revision's data is embedded as it was stored, byte for byte.
 *
 * Limits: `revisionHttpRequests` reads at once, streams included, further ones are answered `overloaded`; a JSON answer
 * is one page; an NDJSON stream holds one page at a time, is read on as its reader takes it, and is cut when that
 * takes nothing for `revisionStallMs`, or when its history goes away under it: what is not ended was not complete.
 */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { entryJson } from '../log/revision-json.js';
import type { Head } from '../log/log.js';
import { RevcastError } from '../shared/errors.js';
import { createHttpServer, type HttpServer, type HttpServerOptions } from '../shared/http-server.js';
import type { Logger } from '../shared/logger.js';
import { parseRoomName } from '../shared/room-name.js';
import type { Values } from '../shared/settings.js';
import type { RevisionReader } from './contract.js';
import { parseRevisionsQuery } from './http-query.js';
import { RoomPages, snapshotOf, type Page } from './room-pages.js';
import type { revisionSettings } from './settings.js';

/** No route takes a body. */
const MAX_BODY_BYTES = 1_024;
/** The room may begin another numbering between two reads; twice in a row is not worth waiting for. */
const STATUS_ATTEMPTS = 2;
const NEWLINE = Buffer.from('\n');
const COMMA = Buffer.from(',');

export interface RevisionHttpParts {
  readonly settings: Values<typeof revisionSettings>;
  readonly reader: RevisionReader;
  readonly logger: Logger;
  readonly ready: NonNullable<HttpServerOptions['ready']>;
}

type RoomRequest = FastifyRequest<{ Params: { room: string }; Querystring: Record<string, unknown> }>;

export function createRevisionHttp(parts: RevisionHttpParts): HttpServer {
  const { settings, logger, ready } = parts;
  return createHttpServer({
    host: settings.revisionHost,
    port: settings.revisionPort,
    maxBodyBytes: MAX_BODY_BYTES,
    drainMs: settings.revisionDrainMs,
    logger,
    ready,
    addRoutes: (app) => {
      new RevisionRoutes(parts).add(app);
    },
  });
}

class RevisionRoutes {
  private underWay = 0;

  constructor(private readonly parts: RevisionHttpParts) {}

  add(app: FastifyInstance): void {
    app.get('/v1/rooms/:room', (request: RoomRequest) => this.room(request));
    app.get('/v1/rooms/:room/snapshot', (request: RoomRequest, reply) => this.snapshot(request, reply));
    app.get('/v1/rooms/:room/revisions', (request: RoomRequest, reply) => this.revisions(request, reply));
  }

  /** `{room, epoch, rev, tag, seq, time, firstRev}` */
  private async room(request: RoomRequest): Promise<Record<string, unknown>> {
    const pages = this.pages(request);
    const release = this.admit();
    try {
      for (let attempt = 1; attempt <= STATUS_ATTEMPTS; attempt += 1) {
        const { epoch, rev, tag, seq, time } = await pages.head();
        const { entries, head } = await pages.read(null, 1);
        if (head.epoch !== epoch) continue;
        // A room that has only the snapshot it began with goes on behind that.
        const firstRev = entries[0]?.firstRev ?? head.rev + 1;
        return { room: pages.room, epoch, rev, tag, seq, time, firstRev };
      }
    } finally {
      release();
    }
    throw new RevcastError('log_unavailable', 'the room is beginning another history');
  }

  /** `{room, epoch, rev, tag, time, data}` */
  private async snapshot(request: RoomRequest, reply: FastifyReply): Promise<FastifyReply> {
    const room = parseRoomName(request.params.room);
    const release = this.admit();
    try {
      const { epoch, rev, tag, time, data } = await snapshotOf(this.parts.reader, room);
      const text = JSON.stringify({ room, epoch, rev, tag, time });
      reply.header('content-type', 'application/json; charset=utf-8');
      return await reply.send(Buffer.concat([Buffer.from(`${text.slice(0, -1)},"data":`), data, Buffer.from('}')]));
    } finally {
      release();
    }
  }

  private async revisions(request: RoomRequest, reply: FastifyReply): Promise<FastifyReply> {
    const query = parseRevisionsQuery(request.query, request.headers.accept);
    const pages = this.pages(request);
    const release = this.admit();
    // Before anything is awaited: a client may be gone, and its reply closed, when the page is there.
    reply.raw.once('close', release);
    const page = await pages.first(query);
    reply.header('vary', 'accept');
    if (query.format === 'json') return sendJson(reply, pages.room, page, query.limit);
    reply.header('content-type', 'application/x-ndjson; charset=utf-8');
    reply.header('revcast-epoch', page.head.epoch).header('revcast-head', page.head.rev);
    return request.method === 'HEAD' ? reply.send('') : this.stream(reply, ndjson(pages, page, query.limit));
  }

  private stream(reply: FastifyReply, chunks: AsyncIterable<Buffer>): FastifyReply {
    const { raw } = reply;
    raw.setTimeout(this.parts.settings.revisionStallMs, () => {
      this.parts.logger.debug('an NDJSON stream was cut: its reader takes nothing');
      raw.destroy();
    });
    const body = Readable.from(chunks, { objectMode: false, highWaterMark: 1 });
    body.once('error', (error) => {
      this.parts.logger.warn({ url: reply.request.url, err: error }, 'an NDJSON stream was cut: it cannot be read on');
    });
    return reply.send(body);
  }

  private pages(request: RoomRequest): RoomPages {
    return new RoomPages(this.parts.reader, parseRoomName(request.params.room), this.parts.settings.revisionPageBytes);
  }

  /** Counts the request among those under way; the answer ends it. Throws `overloaded`. */
  private admit(): () => void {
    const limit = this.parts.settings.revisionHttpRequests;
    if (this.underWay >= limit) throw new RevcastError('overloaded', `${limit} reads are under way`);
    this.underWay += 1;
    return () => {
      this.underWay -= 1;
    };
  }
}

/** `{room, epoch, revisions: [...], head, next}`, put together as text; `next` is the path of the page behind it. */
function sendJson(reply: FastifyReply, room: string, page: Page, limit: number): FastifyReply {
  const texts = revisionTexts(page, COMMA).slice(0, -1);
  const before = `{"room":${JSON.stringify(room)},"epoch":${JSON.stringify(page.head.epoch)},"revisions":[`;
  const after = `],"head":${headJson(page.head)},"next":${JSON.stringify(nextPath(room, page, limit))}}`;
  reply.header('content-type', 'application/json; charset=utf-8');
  return reply.send(Buffer.concat([Buffer.from(before), ...texts, Buffer.from(after)]));
}

/** The first page and those behind it, up to `limit` revisions or what was the head then. */
async function* ndjson(pages: RoomPages, first: Page, limit: number): AsyncGenerator<Buffer> {
  const begin = first.entries[0]?.firstRev;
  if (begin === undefined) return;
  const end = Math.min(begin + limit - 1, first.head.rev);
  let page = first;
  for (;;) {
    yield Buffer.concat(revisionTexts(page, NEWLINE));
    if (page.next === null || page.next.rev >= end) return;
    page = await pages.read(page.next, end - page.next.rev);
  }
}

/** Each revision's text, and the separator after each. */
function revisionTexts(page: Page, separator: Buffer): Buffer[] {
  return page.entries.flatMap((entry) => entryJson(entry, { withRoom: false }).flatMap((text) => [text, separator]));
}

function headJson({ epoch, rev, tag, seq, time }: Head): string {
  return JSON.stringify({ epoch, rev, tag, seq, time });
}

function nextPath(room: string, { next }: Page, limit: number): string | null {
  if (next === null) return null;
  const query = new URLSearchParams({
    from: String(next.rev + 1),
    limit: String(limit),
    epoch: next.epoch,
    tag: next.tag,
  });
  return `/v1/rooms/${encodeURIComponent(room)}/revisions?${query.toString()}`;
}
