/**
 * What the rooms of Etherpad pads hold: the data of a pad's revision and of its snapshot, as the Etherpad source writes
 * them and as viewers' edges read them. A room's rev is the pad's own revision number.
 *
 * Names and values are those of Etherpad's messages, so that an edge embeds them as they are. Attribute numbers in a
 * changeset or in `attribs` count in the `apool` beside it. Lengths are in UTF-16 code units, as Etherpad counts them.
 */
import { z } from 'zod';

/** "Z:", length before, ">" or "<", by how much it changes (both in base 36), then the operations. */
const CHANGESET = /^Z:([\da-z]{1,9})([<>])([\da-z]{1,9})[\da-z|*+=-]*\$/u;

/** A number of an attribute, in base 36. */
const ATTRIBUTE = /\*([\da-z]+)/gu;

const attributePool = z.object({
  numToAttrib: z.record(z.string().regex(/^\d{1,9}$/u), z.tuple([z.string(), z.string()])),
  nextNum: z.int().min(0),
});

/** Data of one revision: `{"changeset","apool","author","currentTime"}`. */
export const padRevision = z.object({
  changeset: z.string().regex(CHANGESET, 'is no changeset'),
  apool: attributePool,
  /** Empty where nobody is named, as for edits over Etherpad's HTTP API. */
  author: z
    .string()
    .nullish()
    .transform((author) => author ?? ''),
  /** When the pad stored it, milliseconds since 1970; null where the pad does not say. */
  currentTime: z
    .number()
    .nullish()
    .transform((time) => time ?? null),
});

/** Data of a snapshot: `{"initialAttributedText":{"text","attribs"},"apool"}`. */
export const padSnapshot = z.object({
  initialAttributedText: z.object({ text: z.string(), attribs: z.string().regex(/^[\da-z|*+]*$/u) }),
  apool: attributePool,
});

export type PadRevision = z.output<typeof padRevision>;
export type PadSnapshot = z.output<typeof padSnapshot>;

/** Length of the text before and after the changeset; null for what is no changeset. */
export function changesetLengths(changeset: string): { readonly before: number; readonly after: number } | null {
  const [, length = '', sign = '', change = ''] = CHANGESET.exec(changeset) ?? [];
  if (length === '') return null;
  const before = Number.parseInt(length, 36);
  const after = sign === '>' ? before + Number.parseInt(change, 36) : before - Number.parseInt(change, 36);
  return after < 0 ? null : { before, after };
}

/** Whether operations name an attribute that the pool does not have: at that, clients break. */
export function attributesMissing(operations: string, { numToAttrib }: PadRevision['apool']): boolean {
  const bank = operations.indexOf('$');
  const before = bank < 0 ? operations : operations.slice(0, bank);
  for (const [, number = ''] of before.matchAll(ATTRIBUTE)) {
    if (!Object.hasOwn(numToAttrib, Number.parseInt(number, 36))) return true;
  }
  return false;
}

/** The revision as a room stores it. */
export function padRevisionData({ changeset, apool, author, currentTime }: PadRevision): Buffer {
  return Buffer.from(JSON.stringify({ changeset, apool, author, currentTime }));
}

/** The snapshot as a room stores it. */
export function padSnapshotData({ initialAttributedText: { text, attribs }, apool }: PadSnapshot): Buffer {
  return Buffer.from(JSON.stringify({ initialAttributedText: { text, attribs }, apool }));
}

/** null for what is no pad's revision. */
export function parsePadRevision(data: Uint8Array): PadRevision | null {
  return parsed(padRevision, data);
}

/** null for what is no pad's snapshot. */
export function parsePadSnapshot(data: Uint8Array): PadSnapshot | null {
  return parsed(padSnapshot, data);
}

function parsed<T>(schema: z.ZodType<T>, data: Uint8Array): T | null {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(data).toString())).data ?? null;
  } catch {
    // Not JSON.
    return null;
  }
}
