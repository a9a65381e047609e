/**
 * The OpenAPI 3.1 document of the producer, with the limits that this process was started with. Written by hand beside
 * the routes; a test holds the two together: every route and status is here, and real answers fit these schemas.
 */
import { ERROR_STATUS, type ErrorCode } from '../shared/errors.js';
import { MAX_ROOM_NAME_BYTES } from '../shared/room-name.js';
import { MAX_NAME_BYTES, type AppendLimits } from './append-limits.js';

/** Errors that have schemas of their own. */
const WITH_DETAILS: ReadonlySet<ErrorCode> = new Set([
  'conflict',
  'snapshot_above_head',
  'snapshot_outdated',
  'epoch_changed',
  'history_truncated',
]);

export interface DocumentedLimits extends AppendLimits {
  readonly maxBodyBytes: number;
}

type Schema = Readonly<Record<string, unknown>>;

const rev: Schema = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };
const time: Schema = { type: 'integer', minimum: 0, description: 'Milliseconds since 1970.' };
const tag: Schema = { type: 'string', pattern: '^[0-9a-f]{8}$', description: 'Names the stored entry.' };
const name: Schema = { type: 'string', minLength: 1, maxLength: MAX_NAME_BYTES };

export function openApiDocument(limits: DocumentedLimits): Schema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'revcast producer',
      version: '1',
      description: 'Publishes revisions to rooms: every client of a room gets each one exactly once, in order.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'publish', description: 'Appending revisions to rooms.' },
      { name: 'service', description: 'About this service.' },
    ],
    paths: {
      '/v1/rooms/{room}/revisions': { parameters: [roomParameter], post: publishOperation(limits) },
      '/v1/rooms/{room}/snapshot': { parameters: [roomParameter], put: snapshotOperation(limits) },
      '/openapi.json': {
        get: operation('getOpenApi', 'This document.', {
          200: answer('An OpenAPI 3.1 document.', { type: 'object', required: ['openapi', 'info', 'paths'] }),
        }),
      },
      '/healthz': {
        get: operation('getHealth', 'Whether the process serves requests.', {
          200: answer('It does.', ref('Health')),
        }),
      },
      '/readyz': {
        get: operation('getReadiness', 'Whether the log answers, so that revisions can be appended.', {
          200: answer('It does.', ref('Readiness')),
          503: answer('It does not, or the service is stopping.', { oneOf: [ref('Readiness'), ref('Error')] }),
        }),
      },
    },
    components: { schemas: schemas(limits) },
  };
}

const roomParameter: Schema = {
  name: 'room',
  in: 'path',
  required: true,
  description:
    `The room's name: 1 to ${MAX_ROOM_NAME_BYTES} bytes of UTF-8 without control characters, percent-encoded as one ` +
    'path segment (a slash in it is %2F). It is brought into Unicode normalization form C.',
  schema: { type: 'string', minLength: 1 },
};

function publishOperation(limits: DocumentedLimits): Schema {
  return {
    ...operation('appendRevisions', 'Append one or more revisions to a room, whole or not at all.', {
      201: answer('Stored, or found to have been stored by an earlier request with the same key.', ref('Appended')),
      409: answer("The room's head is not `expectedRev`. Nothing was stored.", ref('Conflict')),
      413: answer('The body, a revision, or their number is too large. Nothing was stored.', ref('Error')),
      415: answer('The body is not `application/json` in UTF-8.', ref('Error')),
    }),
    tags: ['publish'],
    parameters: [
      {
        name: 'Idempotency-Key',
        in: 'header',
        description:
          'The same as `key` in the body, 1 to 200 bytes of UTF-8. A request whose key the room has seen within its ' +
          "key window answers the first one's position with `duplicate: true`, at any producer.",
        schema: name,
      },
    ],
    requestBody: {
      required: true,
      description:
        `At most ${limits.maxBodyBytes} bytes. \`data\` is any JSON value; it is delivered byte for byte as written ` +
        'here, without white space between its tokens. Where a property is repeated the last one counts.',
      content: { 'application/json': { schema: { oneOf: [ref('OneRevision'), ref('ManyRevisions')] } } },
    },
  };
}

function snapshotOperation(limits: DocumentedLimits): Schema {
  return {
    ...operation('putSnapshot', "Keep a snapshot of a room's content at a revision, in place of the one before.", {
      200: answer('Kept. The same request again is answered the same.', ref('SnapshotKept')),
      409: answer('The snapshot is above the head, or outdated by the kept one. Nothing was changed.', {
        oneOf: [ref('SnapshotAboveHead'), ref('SnapshotOutdated')],
      }),
      410: answer('The room has another epoch, or the revision is no longer kept. Nothing was changed.', {
        oneOf: [ref('EpochChanged'), ref('HistoryTruncated')],
      }),
      413: answer('The body or the data is too large. Nothing was changed.', ref('Error')),
      415: answer('The body is not `application/json` in UTF-8.', ref('Error')),
    }),
    tags: ['publish'],
    requestBody: {
      required: true,
      description:
        `At most ${limits.maxBodyBytes} bytes, and ${limits.maxSnapshotBytes} bytes of \`data\`, which is any JSON value ` +
        'and is given to clients byte for byte, without white space between its tokens. An empty room begins with the ' +
        'snapshot: its first revision is the one after `rev`.',
      content: { 'application/json': { schema: ref('NewSnapshot') } },
    },
  };
}

/** What every operation may answer beside its own. */
function operation(operationId: string, summary: string, responses: Readonly<Record<number, Schema>>): Schema {
  return {
    operationId,
    summary,
    tags: ['service'],
    responses: {
      400: answer('The request is not valid; `where` names the place.', ref('Error')),
      408: answer('The request did not arrive in time.', ref('Error')),
      431: answer('Path and headers are too large.', ref('Error')),
      500: answer('A fault of the service; its log has it.', ref('Error')),
      503: unavailable,
      ...responses,
    },
  };
}

const unavailable: Schema = {
  ...answer(
    'Cannot be done now, try again: `overloaded`, `shutting_down`, `log_unavailable` and `log_full` stored nothing; ' +
      'with `outcome_unknown` the append may have been stored (`outcome` is `unknown`), and a retry with the same key is safe.',
    { $ref: '#/components/schemas/Error' },
  ),
  headers: {
    'Retry-After': { required: true, description: 'Seconds.', schema: { type: 'integer', minimum: 1 } },
  },
};

function schemas({ maxRevisions }: DocumentedLimits): Schema {
  return {
    Data: { description: 'Any JSON value.' },
    Author: { ...name, description: `Who made the revision, at most ${MAX_NAME_BYTES} bytes.` },
    Key: { ...name, description: `Idempotency key of the whole request, at most ${MAX_NAME_BYTES} bytes.` },
    ExpectedRev: {
      type: 'integer',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "Refuse with 409 unless the room's head is exactly this revision; 0: the room is empty.",
    },
    OneRevision: object(
      { data: ref('Data'), author: ref('Author'), key: ref('Key'), expectedRev: ref('ExpectedRev') },
      ['data'],
    ),
    ManyRevisions: object(
      {
        revisions: {
          type: 'array',
          minItems: 1,
          maxItems: maxRevisions,
          items: object({ data: ref('Data'), author: ref('Author') }, ['data']),
        },
        key: ref('Key'),
        expectedRev: ref('ExpectedRev'),
      },
      ['revisions'],
    ),
    Appended: object({
      room: { type: 'string', description: 'The name in normal form.' },
      epoch: { type: 'string', minLength: 1, description: "Identity of the room's numbering." },
      rev: { ...rev, description: "The request's last revision." },
      firstRev: { ...rev, description: "The request's first revision." },
      tag,
      seq: { ...rev, description: "The entry's sequence number in the log." },
      time: { ...time, description: 'Of the last revision, milliseconds since 1970.' },
      duplicate: { type: 'boolean', description: 'Whether an earlier request with the same key had stored it.' },
    }),
    NewSnapshot: {
      ...object(
        {
          rev: { ...rev, minimum: 0, description: 'The revision after which the room has this content.' },
          data: ref('Data'),
          epoch: { ...name, description: "Refuse with 410 unless this is the room's epoch." },
          replaces: {
            ...name,
            description: 'Begin a new epoch at `rev` in place of this one, whose history was lost where it came from.',
          },
        },
        ['rev', 'data'],
      ),
      not: { required: ['epoch', 'replaces'] },
    },
    SnapshotKept: object({
      room: { type: 'string', description: 'The name in normal form.' },
      epoch: { type: 'string', minLength: 1, description: "Identity of the room's numbering." },
      rev: { ...rev, minimum: 0 },
      tag,
      time: { ...time, description: 'Of the revision, milliseconds since 1970.' },
    }),
    SnapshotAboveHead: errorSchema({ code: { const: 'snapshot_above_head' }, head: ref('Head') }, ['head']),
    SnapshotOutdated: errorSchema({ code: { const: 'snapshot_outdated' }, kept: ref('Head') }, ['kept']),
    EpochChanged: errorSchema({ code: { const: 'epoch_changed' }, head: { oneOf: [ref('Head'), { type: 'null' }] } }, [
      'head',
    ]),
    HistoryTruncated: errorSchema({ code: { const: 'history_truncated' }, firstRev: rev, head: ref('Head') }, [
      'firstRev',
      'head',
    ]),
    Head: object({
      epoch: { type: 'string', description: 'Empty: the room is empty.' },
      rev: { ...rev, minimum: 0 },
      tag: { type: 'string', pattern: '^([0-9a-f]{8})?$' },
      time,
    }),
    Conflict: errorSchema({ code: { const: 'conflict' }, head: ref('Head') }, ['head']),
    Error: errorSchema(
      {
        code: { enum: (Object.keys(ERROR_STATUS) as ErrorCode[]).filter((code) => !WITH_DETAILS.has(code)) },
        where: { type: 'string', description: 'The place in the request, for example `revisions[3].data`.' },
        byte: { type: 'integer', minimum: 0, description: 'How many bytes of the body precede the place.' },
        outcome: { const: 'unknown' },
      },
      [],
    ),
    Health: object({ ok: { const: true } }),
    Readiness: object({ ready: { type: 'boolean' }, detail: { type: 'string' } }),
  };
}

function errorSchema(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  const all = { message: { type: 'string' }, ...properties };
  return object({ error: object(all, ['code', 'message', ...required]) });
}

function object(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = Object.keys(properties),
): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

function answer(description: string, schema: Schema): Schema {
  return { description, content: { 'application/json': { schema } } };
}

function ref(schema: string): Schema {
  return { $ref: `#/components/schemas/${schema}` };
}
