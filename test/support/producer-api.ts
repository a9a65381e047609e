/**
 * The producer's HTTP side on a log, without a socket; every answer is checked against the OpenAPI document that the
 * same process serves, so that each test of a status is a test of the document too.
 */
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import type { Log } from '../../services/log/log.js';
import { Readiness } from '../../services/log/readiness.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { Appender, type AppenderLimits } from '../../services/producer/appender.js';
import { createProducerHttp } from '../../services/producer/http.js';
import { producerSettings, type ProducerSettings } from '../../services/producer/settings.js';
import { systemClock } from '../../services/shared/clock.js';
import type { HttpServer } from '../../services/shared/http-server.js';
import { silentLogger } from '../../services/shared/logger.js';
import { readSettings } from '../../services/shared/settings.js';

export const SMALL_LIMITS: AppenderLimits = {
  maxRevisions: 5,
  maxDataBytes: 100,
  maxSnapshotBytes: 200,
  maxInFlight: 8,
  maxInFlightBytes: 1_000,
};

export interface Publication {
  readonly room?: string;
  /** Already percent-encoded, where the test is about that. */
  readonly path?: string;
  /** With its question mark. */
  readonly query?: string;
  readonly body?: unknown;
  /** Sent as it is instead of `body`. */
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
}

export interface ProducerApi {
  readonly http: HttpServer;
  readonly log: Pick<Log, 'append' | 'status'>;
  readonly document: OpenApiDocument;
  readonly publish: (publication: Publication) => Promise<Answer>;
  readonly putSnapshot: (publication: Publication) => Promise<Answer>;
  get(path: string): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly json: Readonly<Record<string, unknown>>;
  /** The body's `error`, or an empty object. */
  readonly error: Readonly<Record<string, unknown>>;
}

interface OpenApiOperation {
  readonly responses: Readonly<Record<string, unknown>>;
}

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

export function testSettings(given: Partial<ProducerSettings> = {}): ProducerSettings {
  return { ...readSettings(producerSettings, {}, {}), producerPort: 0, ...given };
}

const answersAlways = () => Promise.resolve();

/** `settings` and `limits` are small unless given, so that tests can exceed them. */
export async function producerApi(
  options: {
    log?: Pick<Log, 'append' | 'status'> & Partial<Pick<Log, 'putSnapshot'>>;
    settings?: Partial<ProducerSettings>;
    limits?: Partial<AppenderLimits>;
  } = {},
): Promise<ProducerApi> {
  const log = options.log ?? new MemoryLog({ clock: systemClock });
  const limits = { ...SMALL_LIMITS, ...options.limits };
  const appends: Pick<Log, 'append' | 'putSnapshot'> = {
    append: (...asked) => log.append(...asked),
    putSnapshot: (...asked) => log.putSnapshot?.(...asked) ?? Promise.reject(new Error('the test has no snapshots')),
  };
  const appender = new Appender({ log: appends, logger: silentLogger, clock: systemClock, limits });
  const settings = testSettings({ producerMaxBodyBytes: 2_000, ...options.settings });
  const readiness = new Readiness({ status: () => log.status(), ask: answersAlways, clock: systemClock });
  const http = createProducerHttp({ settings, limits, appender, ready: () => readiness.check(), logger: silentLogger });
  const served = await http.app.inject({ method: 'GET', url: '/openapi.json' });
  const document = served.json<OpenApiDocument>();
  const check = responseChecker(document);
  const send = async (method: 'POST' | 'PUT', what: 'revisions' | 'snapshot', publication: Publication) => {
    const { room = 'doc-1', path = encodeURIComponent(room), query = '', body, raw, headers = {} } = publication;
    const response = await http.app.inject({
      method,
      url: `/v1/rooms/${path}/${what}${query}`,
      headers: { 'content-type': 'application/json', ...headers },
      payload: raw ?? JSON.stringify(body),
    });
    check(`/v1/rooms/{room}/${what}`, method.toLowerCase(), response);
    return toAnswer(response);
  };
  return {
    http,
    log,
    document,
    publish: (publication) => send('POST', 'revisions', publication),
    putSnapshot: (publication) => send('PUT', 'snapshot', publication),
    async get(path) {
      const response = await http.app.inject({ method: 'GET', url: path });
      check(path, 'get', response);
      return toAnswer(response);
    },
  };
}

function toAnswer(response: LightMyRequestResponse): Answer {
  const json = response.json<Record<string, unknown>>();
  const error = (json['error'] ?? {}) as Record<string, unknown>;
  return { status: response.statusCode, headers: response.headers, json, error };
}

/** Fails the test when an answer's status is not documented, or its body does not fit the documented schema. */
function responseChecker(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema(document, 'api');
  return (path: string, method: string, response: LightMyRequestResponse) => {
    const status = String(response.statusCode);
    const documented = Object.keys(document.paths[path]?.[method]?.responses ?? {});
    expect(documented).toContain(status);
    const pointer = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema'];
    const validate = ajv.getSchema(`api#/${pointer.map(toPointer).join('/')}`);
    const fits = validate?.(response.json()) === true;
    expect({ fits, body: response.body, errors: fits ? null : validate?.errors }).toMatchObject({ fits: true });
  };
}

function toPointer(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
}
