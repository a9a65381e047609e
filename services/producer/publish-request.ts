/**
 * The body of a publication, from bytes to an append. Every property is checked by name, nothing unknown is let
 * through (a misspelled expectedRev must not become an unconditional append), and every refusal says what and where.
 * `data` is not rebuilt from a parsed value: it is the publisher's own text, see json-text.
 */
import type { Append, NewRevision } from '../log/log.js';
import { checkName, invalid, placeInList, tooManyRevisions, type AppendLimits, type PlaceOf } from './append-limits.js';
import { bodyObject, optionalNumber, optionalString, refuseUnknown, withArticle } from './body-properties.js';
import { compact, elements, kindOf, members, type Span } from '../shared/json-text.js';

export interface PublishRequest {
  readonly append: Append;
  /** How the body names a revision's property. */
  readonly placeOf: PlaceOf;
}

/**
 * The append that the body asks for. `headerKey` is the Idempotency-Key header's value.
 * Throws `invalid_json`, `invalid_request`, or `too_large` when there are more revisions than the limits allow.
 */
export function parsePublishRequest(
  body: Uint8Array,
  headerKey: string | undefined,
  limits: AppendLimits,
): PublishRequest {
  const { text, properties: top } = bodyObject(body);
  const list = top.get('revisions');
  refuseUnknown(
    top,
    list === undefined ? ['data', 'author', 'key', 'expectedRev'] : ['revisions', 'key', 'expectedRev'],
    '',
  );
  const key = requestKey(headerKey, optionalString(text, top.get('key'), 'key'));
  const expectedRev = optionalNumber(text, top.get('expectedRev'), 'expectedRev');
  const placeOf: PlaceOf = list === undefined ? (_index, property) => property : placeInList;
  const append: Append = {
    revisions: list === undefined ? [readRevision(text, top, 0, placeOf)] : readList(text, list, limits),
    ...(key === undefined ? {} : { key }),
    ...(expectedRev === undefined ? {} : { expectedRev }),
  };
  return { append, placeOf };
}

function readList(text: string, list: Span, limits: AppendLimits): NewRevision[] {
  const listKind = kindOf(text, list);
  if (listKind !== 'array') throw invalid('revisions', `must be an array, not ${withArticle(listKind)}`);
  const spans = elements(text, list, limits.maxRevisions + 1);
  if (spans.length > limits.maxRevisions) throw tooManyRevisions(limits);
  return spans.map((span, index) => {
    const where = `revisions[${index}]`;
    const kind = kindOf(text, span);
    if (kind !== 'object') throw invalid(where, `must be an object, not ${withArticle(kind)}`);
    const properties = members(text, span);
    if (properties.has('key')) {
      throw invalid(`${where}.key`, 'is not allowed: an idempotency key belongs to the whole request');
    }
    refuseUnknown(properties, ['data', 'author'], where);
    return readRevision(text, properties, index, placeInList);
  });
}

function readRevision(text: string, from: ReadonlyMap<string, Span>, index: number, placeOf: PlaceOf): NewRevision {
  const data = from.get('data');
  if (data === undefined) throw invalid(placeOf(index, 'data'), 'is missing');
  const author = optionalString(text, from.get('author'), placeOf(index, 'author'));
  return { data: Buffer.from(compact(text, data)), ...(author === undefined ? {} : { author }) };
}

/** The one key of the request, from header or body. */
function requestKey(headerKey: string | undefined, bodyKey: string | undefined): string | undefined {
  if (headerKey !== undefined) checkName('Idempotency-Key', headerKey);
  if (bodyKey !== undefined) checkName('key', bodyKey);
  if (headerKey !== undefined && bodyKey !== undefined && headerKey !== bodyKey) {
    throw invalid('key', 'differs from the Idempotency-Key header');
  }
  return headerKey ?? bodyKey;
}
