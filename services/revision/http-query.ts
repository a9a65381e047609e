/** The query of GET /v1/rooms/:room/revisions, checked by name: what is wrong is refused with what and where. */
import { RevcastError } from '../shared/errors.js';
import type { ClientPosition } from './contract.js';

/** Revisions in a JSON answer, unless the query says otherwise. */
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000_000_000;
const MAX_EPOCH_CHARS = 64;
const KNOWN = ['from', 'limit', 'epoch', 'tag', 'format'];
const NDJSON = 'application/x-ndjson';

export interface RevisionsQuery {
  /** The first revision to answer; undefined: the oldest kept. */
  readonly from: number | undefined;
  /** At most so many revisions; Infinity: up to the head. */
  readonly limit: number;
  /** The position just before `from`, when the query says which numbering it means; it is then checked. */
  readonly after: ClientPosition | undefined;
  readonly format: 'json' | 'ndjson';
}

/** Throws `invalid_request`. NDJSON is asked for with `format=ndjson` or in `accept`; the former wins. */
export function parseRevisionsQuery(
  query: Readonly<Record<string, unknown>>,
  accept: string | undefined,
): RevisionsQuery {
  const unknown = Object.keys(query).find((name) => !KNOWN.includes(name));
  if (unknown !== undefined) throw invalid(unknown.slice(0, 80), `is not known here; known: ${KNOWN.join(', ')}`);

  const format = one(query, 'format') ?? (accept?.includes(NDJSON) === true ? 'ndjson' : 'json');
  if (format !== 'json' && format !== 'ndjson') throw invalid('format', 'must be json or ndjson');
  const from = whole(query, 'from', Number.MAX_SAFE_INTEGER);
  const limit = whole(query, 'limit', MAX_LIMIT) ?? (format === 'json' ? DEFAULT_LIMIT : Infinity);
  return { from, limit, after: position(query, from), format };
}

function position(query: Readonly<Record<string, unknown>>, from: number | undefined): ClientPosition | undefined {
  const epoch = one(query, 'epoch');
  const tag = one(query, 'tag');
  if (epoch === undefined) {
    if (tag !== undefined) throw invalid('tag', 'needs an epoch beside it');
    return undefined;
  }
  if (from === undefined) throw invalid('epoch', 'needs a from beside it');
  if (epoch === '' || epoch.length > MAX_EPOCH_CHARS) {
    throw invalid('epoch', `must have 1 to ${MAX_EPOCH_CHARS} characters`);
  }
  if (tag !== undefined && !/^[0-9a-f]{8}$/u.test(tag)) throw invalid('tag', 'must be eight hex digits');
  if (tag !== undefined && from === 1)
    throw invalid('tag', 'is of the revision before from, and before 1 there is none');
  return { epoch, rev: from - 1, ...(tag === undefined ? {} : { tag }) };
}

function whole(query: Readonly<Record<string, unknown>>, name: string, max: number): number | undefined {
  const value = one(query, name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (/^\d+$/u.test(value) && number >= 1 && number <= max) return number;
  throw invalid(name, `must be a whole number from 1 to ${max}`);
}

function one(query: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(name, 'is given more than once');
}

function invalid(where: string, problem: string): RevcastError {
  return new RevcastError('invalid_request', `${where} ${problem}`, { details: { where } });
}
