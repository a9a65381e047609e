/**
 * Etherpad's own changesets, made and applied by the library that etherpad-cli-client brings (unmodified): the oracle of
 * all tests with pads. The library throws on what does not fit.
 */
import { createRequire } from 'node:module';
import type { Random } from '../random.js';

export interface AttributedText {
  readonly text: string;
  readonly attribs: string;
}

export interface PoolJson {
  readonly numToAttrib: Readonly<Record<string, readonly [string, string]>>;
  readonly nextNum: number;
}

export type AttributePair = readonly [string, string];

export interface AttributePool {
  toJsonable(): PoolJson;
  fromJsonable(json: PoolJson): AttributePool;
  getAttrib(num: number): AttributePair | undefined;
}

interface Builder {
  keepText(text: string, attribs?: readonly AttributePair[], pool?: AttributePool): Builder;
  toString(): string;
}

interface ChangesetLibrary {
  makeSplice(
    text: string,
    start: number,
    removed: number,
    inserted: string,
    attribs?: readonly AttributePair[],
    pool?: AttributePool,
  ): string;
  builder(length: number): Builder;
  applyToAText(changeset: string, atext: AttributedText, pool: AttributePool): AttributedText;
  moveOpsToNewPool(changeset: string, from: AttributePool, to: AttributePool): string;
  prepareForWire(changeset: string, pool: AttributePool): { translated: string; pool: AttributePool };
  makeAText(text: string): AttributedText;
  opIterator(ops: string): { hasNext(): boolean; next(): { attribs: string; chars: number } };
  eachAttribNumber(attribs: string, action: (num: number) => void): void;
}

const require = createRequire(import.meta.url);
export const Changeset = require('etherpad-cli-client/lib/Changeset.js') as ChangesetLibrary;
const Pool = require('etherpad-cli-client/lib/AttributePool.js') as new () => AttributePool;

export function newPool(json?: PoolJson): AttributePool {
  // The library keeps the object it is given.
  return json === undefined ? new Pool() : new Pool().fromJsonable(structuredClone(json));
}

/** A text with attributes in an own pool, as a viewer holds it. */
export class PadText {
  private constructor(
    private atext: AttributedText,
    private readonly pool: AttributePool,
  ) {}

  static of(atext: AttributedText, apool: PoolJson): PadText {
    return new PadText(atext, newPool(apool));
  }

  get text(): string {
    return this.atext.text;
  }

  /** Applies one revision, as etherpad-cli-client does. Throws when it does not fit. */
  apply({ changeset, apool }: { changeset: string; apool: PoolJson }): void {
    const own = Changeset.moveOpsToNewPool(changeset, newPool(apool), this.pool);
    this.atext = Changeset.applyToAText(own, this.atext, this.pool);
  }

  /** Text and attributes in a form that does not depend on how the pool is numbered: to be compared. */
  get content(): { text: string; runs: { chars: number; attributes: string }[] } {
    return { text: this.text, runs: attributeRuns(this.atext.attribs, this.pool) };
  }
}

function attributeRuns(attribs: string, pool: AttributePool): { chars: number; attributes: string }[] {
  const runs: { chars: number; attributes: string }[] = [];
  const ops = Changeset.opIterator(attribs);
  while (ops.hasNext()) {
    const op = ops.next();
    const pairs: string[] = [];
    Changeset.eachAttribNumber(op.attribs, (num) => pairs.push((pool.getAttrib(num) ?? ['?', '?']).join('=')));
    const attributes = pairs.sort().join(' ');
    const last = runs.at(-1);
    if (last?.attributes === attributes) last.chars += op.chars;
    else runs.push({ chars: op.chars, attributes });
  }
  return runs;
}

const WORDS = ['alpha', 'Straße', '日本', '🙂', 'two words', 'line\nbreak', '\n', '$*+|', '"quoted"', 'x'] as const;
const STYLES: readonly [AttributePair, ...AttributePair[]] = [
  ['bold', 'true'],
  ['italic', 'true'],
  ['bold', ''],
];

/** A valid changeset for the text: an insertion, a deletion, a replacement, or a change of attributes. */
export function randomChangeset(random: Random, text: string, author: string, pool: AttributePool): string {
  // The last line break of a pad stays.
  const last = text.length - 1;
  const start = random.whole(0, last);
  const length = random.whole(0, Math.min(12, last - start));
  if (random.chance(0.2) && length > 0) {
    const kept = Changeset.builder(text.length).keepText(text.slice(0, start));
    return kept.keepText(text.slice(start, start + length), [random.pick(STYLES)], pool).toString();
  }
  const inserted = length > 0 && random.chance(0.4) ? '' : random.pick(WORDS);
  const removed = random.chance(text.length > 2_000 ? 0.8 : 0.4) ? length : 0;
  const attributes: AttributePair[] = [['author', author]];
  if (random.chance(0.2)) attributes.push(['bold', 'true']);
  return Changeset.makeSplice(text, start, removed, inserted, attributes, pool);
}
