/**
 * What benchmarks publish: JSON of an exact size, like a block's summary (hashes, numbers, repeated names), with the
 * time at which it was due to be published. It deflates to about half at 300 bytes and a quarter at 4 KB.
 */
import { Random } from '../../support/random.js';
import { monotonicMs } from './monotonic.js';

const TIME_DIGITS = 15;
const US_PER_MS = 1_000;
const TIME_MARK = Buffer.from('"at":"');
const ZERO = 0x30;

/** Different texts of each size, in turn: a burst of equal ones would deflate to next to nothing. */
const VARIANTS = 32;
const bodies = new Map<number, readonly string[]>();
let turn = 0;

/** JSON text of `bytes` bytes (at least 64), with `atMs` of the monotonic clock. */
export function payload(bytes: number, atMs: number = monotonicMs()): Buffer {
  const at = String(Math.round(atMs * US_PER_MS)).padStart(TIME_DIGITS, '0');
  const head = `{"at":"${at}","block":[`;
  let variants = bodies.get(bytes);
  if (variants === undefined) {
    variants = Array.from({ length: VARIANTS }, (_, variant) => blockText(bytes - head.length, variant));
    bodies.set(bytes, variants);
  }
  turn += 1;
  return Buffer.from(head + (variants[turn % VARIANTS] ?? ''));
}

/** `bytes` bytes of text that close the payload. */
function blockText(bytes: number, seed: number): string {
  const random = new Random(seed);
  const end = '"]}';
  let text = '';
  while (text.length < bytes) {
    const hash = Array.from({ length: 16 }, () => random.whole(0, 15).toString(16)).join('');
    text += `{"hash":"0x${hash}","from":"0x${hash.slice(4, 12)}","value":${random.whole(0, 999_999)},"gasUsed":21000},`;
  }
  // Whole transactions, then a string that fills the rest.
  const whole = text.lastIndexOf('{', Math.max(0, bytes - end.length - 1));
  const filler = whole <= 0 ? '' : text.slice(0, whole);
  return `${filler}"${'.'.repeat(bytes - filler.length - 1 - end.length)}${end}`;
}

/** The time of the last whole payload in the first `length` bytes of the text. */
export function lastTime(text: Buffer, length: number): number | undefined {
  // By hand: from the end it is a few hundred bytes, and `lastIndexOf` needs microseconds to prepare.
  let at = length - TIME_MARK.length - TIME_DIGITS;
  while (at >= 0 && !TIME_MARK.every((byte, index) => text[at + index] === byte)) at -= 1;
  if (at < 0) return undefined;
  const from = at + TIME_MARK.length;
  return Number(text.toString('latin1', from, from + TIME_DIGITS)) / US_PER_MS;
}

/** The fields after which times stand in messages. */
export class TimeReader {
  private carried: Buffer | undefined;

  /** Calls `onTime` with the milliseconds of each payload in `chunk`, one that an earlier chunk began included. */
  read(chunk: Buffer, endsInMessage: boolean, onTime: (atMs: number) => void): void {
    const bytes = this.carried === undefined ? chunk : Buffer.concat([this.carried, chunk]);
    let from = 0;
    for (;;) {
      const at = bytes.indexOf(TIME_MARK, from);
      if (at < 0 || at + TIME_MARK.length + TIME_DIGITS > bytes.length) break;
      from = at + TIME_MARK.length + TIME_DIGITS;
      let us = 0;
      for (let i = at + TIME_MARK.length; i < from; i += 1) us = us * 10 + (bytes[i] ?? ZERO) - ZERO;
      onTime(us / US_PER_MS);
    }
    const keep = Math.max(from, bytes.length - TIME_MARK.length - TIME_DIGITS);
    this.carried = endsInMessage ? Buffer.from(bytes.subarray(keep)) : undefined;
  }
}
