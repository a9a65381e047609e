/** Whole answers of the edge over HTTP: JSON, errors as everywhere `{error: {code, message}}`. Called corked. */
import type { HttpResponse } from 'uWebSockets.js';
import type { RevcastError } from '../shared/errors.js';
import type { Refusal } from './upgrade.js';

export type Headers = readonly (readonly [string, string])[];

/** @param closes the connection ends with the answer, which says so (`Connection: close`) */
export function answer(
  response: HttpResponse,
  status: string,
  body: object,
  headers: Headers = [],
  closes = false,
): void {
  response.writeStatus(status).writeHeader('Content-Type', 'application/json; charset=utf-8');
  for (const [name, value] of headers) response.writeHeader(name, value);
  response.end(JSON.stringify(body), closes);
}

export function errorBody({ code, message }: RevcastError): object {
  return { error: { code, message } };
}

export function refuse(response: HttpResponse, { status, headers, error, closes }: Refusal, more: Headers = []): void {
  answer(response, status, errorBody(error), [...headers, ...more], closes);
}
