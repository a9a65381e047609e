/** How `tail` prints a revision: for people, or as the JSON that the edge sent, byte for byte. */
import { members } from '../shared/json-text.js';

export type TailFormat = 'readable' | 'json' | 'data';

export interface TailedRevision {
  readonly room: string;
  readonly rev: number;
  readonly tag: string;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** null for a room's very first. */
  readonly timeDelta: number | null;
  readonly author?: string;
}

export interface TailedSnapshot {
  readonly rev: number;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/**
 * What JSON text may hold and a terminal must not be given: the C1 controls, which begin escape sequences, and the
 * marks that turn the direction of what follows. (JSON escapes the other controls itself.)
 */
const UNSAFE = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** `text` is the revision as JSON text. */
export function formatRevision(format: TailFormat, revision: TailedRevision, text: string): string {
  if (format === 'json') return text;
  const data = dataOf(text);
  if (format === 'data') return data;
  const { room, rev, time, timeDelta, author } = revision;
  const words = [room, String(rev), new Date(time).toISOString()];
  if (timeDelta !== null) words.push(`+${timeDelta}ms`);
  if (author !== undefined) words.push(`by ${JSON.stringify(author)}`);
  words.push(data);
  return harmless(words.join(' '));
}

/** `text` is the answer that carries the snapshot, as JSON text. */
export function formatSnapshot(format: TailFormat, room: string, { rev, time }: TailedSnapshot, text: string): string {
  if (format === 'json') return text;
  const data = dataOf(memberText(text, 'snapshot'));
  if (format === 'data') return data;
  return harmless([room, 'snapshot', 'at', String(rev), new Date(time).toISOString(), data].join(' '));
}

function harmless(text: string): string {
  return text.replaceAll(UNSAFE, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The text of the member `data`, unchanged. */
function dataOf(text: string): string {
  return memberText(text, 'data');
}

function memberText(text: string, name: string): string {
  const span = members(text, { start: 0, end: text.length }).get(name);
  return span === undefined ? 'null' : text.slice(span.start, span.end);
}
