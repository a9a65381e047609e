/** The lines of a byte stream as text: strictly UTF-8, bounded in length, without their line ends. Empty ones are left out. */
import { CommandFailure } from './command.js';

/** Far above any revision that a producer takes. */
const MAX_LINE_BYTES = 128 * 1024 * 1024;
const NEWLINE = 0x0a;

export interface InputLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** Throws CommandFailure where a line is too long or is not UTF-8. */
export async function* inputLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  let number = 0;
  let parts: Uint8Array[] = [];
  let bytes = 0;
  const line = (): InputLine => {
    number += 1;
    const text = decode(Buffer.concat(parts), number);
    parts = [];
    bytes = 0;
    return { number, text };
  };
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, end));
      from = end + 1;
      const whole = line();
      if (whole.text !== '') yield whole;
    }
    parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > MAX_LINE_BYTES) {
      throw new CommandFailure(`line ${number + 1} of the input has more than ${MAX_LINE_BYTES} bytes`);
    }
  }
  if (bytes > 0) {
    const last = line();
    if (last.text !== '') yield last;
  }
}

function decode(line: Uint8Array, number: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(line).trim();
  } catch (error) {
    throw new CommandFailure(`line ${number} of the input is not valid UTF-8`, { cause: error });
  }
}
