import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import type { Appended, LogStatus } from '../../services/log/log.js';
import { producerApi } from '../support/producer-api.js';

const logIn = (status: LogStatus) => ({
  append: (): Promise<Appended> => Promise.reject(new Error('not asked')),
  status: () => status,
});

describe('the OpenAPI document', () => {
  it('[P9] is valid OpenAPI 3.1', async () => {
    const { document } = await producerApi();
    const result = await new Validator().validate({ ...document });
    expect(result).toEqual({ valid: true });
    expect(document).toMatchObject({ openapi: '3.1.0' });
  });

  it('[P9] has every route of the service, and no other', async () => {
    const { document, http } = await producerApi();
    const routes = http.routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/gu, '{$1}')}`);
    const documented = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((key) => key !== 'parameters')
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(documented.sort()).toEqual(routes.sort());
  });

  it.each([
    [true, { data: 1 }],
    [true, { data: null, author: 'a', key: 'k', expectedRev: 0 }],
    [true, { revisions: [{ data: 1 }, { data: [], author: 'a' }], key: 'k', expectedRev: 0 }],
    [false, {}],
    [false, { data: 1, extra: 1 }],
    [false, { data: 1, author: 5 }],
    [false, { data: 1, author: '' }],
    [false, { data: 1, key: 5 }],
    [false, { data: 1, expectedRev: -1 }],
    [false, { data: 1, expectedRev: 1.5 }],
    [false, { revisions: [] }],
    [false, { revisions: [{ author: 'a' }] }],
    [false, { revisions: [{ data: 1, key: 'k' }] }],
    [false, { revisions: [{ data: 1 }], data: 1 }],
    [false, [1]],
  ])('[P9] describes what a request may be as the service sees it: %j %j', async (accepted, body) => {
    const api = await producerApi();
    const ajv = new Ajv2020({ strict: false });
    ajv.addSchema(api.document, 'api');
    const schema = '/requestBody/content/application~1json/schema'.replaceAll('~', '%7E');
    const path = encodeURIComponent('~1v1~1rooms~1{room}~1revisions');
    expect(ajv.getSchema(`api#/paths/${path}/post${schema}`)?.(body)).toBe(accepted);
    const { status } = await api.publish({ body });
    expect(status).toBe(accepted ? 201 : 400);
  });
});

describe('health', () => {
  it('[H1] is told while the log is not ready, readiness is not', async () => {
    for (const status of [
      { state: 'starting', detail: 'no NATS server yet' },
      { state: 'unavailable', detail: 'the connection is lost' },
    ] as const) {
      const api = await producerApi({ log: logIn(status) });
      expect(await api.get('/healthz')).toMatchObject({ status: 200, json: { ok: true } });
      expect(await api.get('/readyz')).toMatchObject({ status: 503, json: { ready: false, detail: status.detail } });
    }
  });

  it('[H1] readiness is told when the log answers', async () => {
    const api = await producerApi({ log: logIn({ state: 'ready' }) });
    expect(await api.get('/readyz')).toMatchObject({ status: 200, json: { ready: true, detail: '' } });
  });

  it('[H1] other methods are answered 405 with Allow, other paths 404', async () => {
    const { http } = await producerApi();
    const wrongMethod = await http.app.inject({ method: 'DELETE', url: '/v1/rooms/a/revisions' });
    expect([wrongMethod.statusCode, wrongMethod.headers['allow'], wrongMethod.json()]).toMatchObject([
      405,
      'POST',
      { error: { code: 'method_not_allowed' } },
    ]);
    expect((await http.app.inject({ method: 'POST', url: '/readyz' })).headers['allow']).toBe('GET, HEAD');
    const nowhere = await http.app.inject({ method: 'GET', url: '/v1/rooms?x=1' });
    expect([nowhere.statusCode, nowhere.json()]).toMatchObject([404, { error: { code: 'not_found' } }]);
  });
});
