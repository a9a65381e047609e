/**
 * A request's body as an object, read by name: every property is of the kind it should be, nothing unknown is let
 * through, and every refusal says what and where. Values stay spans of the body's text, see json-text.
 */
import { RevcastError } from '../shared/errors.js';
import { invalid } from './append-limits.js';
import { kindOf, members, readJson, type Span } from '../shared/json-text.js';

/** Names that are told of an object's unknown properties, and how much of each. */
const MAX_NAMES_TOLD = 5;
const MAX_NAME_CHARS_TOLD = 80;

/** The body's text and its properties. Throws `invalid_json`, `invalid_request`. */
export function bodyObject(body: Uint8Array): { readonly text: string; readonly properties: Map<string, Span> } {
  const { text, value } = readJson(body);
  const kind = kindOf(text, value);
  if (kind !== 'object') throw invalid('body', `must be an object, not ${withArticle(kind)}`);
  return { text, properties: members(text, value) };
}

export function optionalString(text: string, span: Span | undefined, where: string): string | undefined {
  return span === undefined ? undefined : (JSON.parse(textOf(text, span, 'string', where)) as string);
}

export function optionalNumber(text: string, span: Span | undefined, where: string): number | undefined {
  return span === undefined ? undefined : (JSON.parse(textOf(text, span, 'number', where)) as number);
}

function textOf(text: string, span: Span, wanted: 'string' | 'number', where: string): string {
  const kind = kindOf(text, span);
  if (kind !== wanted) throw invalid(where, `must be a ${wanted}, not ${withArticle(kind)}`);
  return text.slice(span.start, span.end);
}

export function refuseUnknown(properties: ReadonlyMap<string, Span>, known: readonly string[], where: string): void {
  const unknown = [...properties.keys()].filter((name) => !known.includes(name));
  const first = unknown[0];
  if (first === undefined) return;
  const told = unknown.slice(0, MAX_NAMES_TOLD).map((name) => JSON.stringify(name.slice(0, MAX_NAME_CHARS_TOLD)));
  const more = unknown.length > told.length ? ` and ${unknown.length - told.length} more` : '';
  throw new RevcastError(
    'invalid_request',
    `${where === '' ? 'body' : where} has unknown properties: ${told.join(', ')}${more}; known here: ${known.join(', ')}`,
    { details: { where: propertyPath(where, first.slice(0, MAX_NAME_CHARS_TOLD)) } },
  );
}

function propertyPath(parent: string, name: string): string {
  if (!/^[A-Za-z_]\w*$/u.test(name)) return `${parent}[${JSON.stringify(name)}]`;
  return parent === '' ? name : `${parent}.${name}`;
}

export function withArticle(kind: string): string {
  if (kind === 'null') return 'null';
  return /^[ao]/u.test(kind) ? `an ${kind}` : `a ${kind}`;
}
