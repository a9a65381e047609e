/** The lines of a byte stream as text, strictly UTF-8 and bounded in length. Those that hold nothing are left out. */
import { splitLines, type Line } from '../producer/sources/ndjson-lines.js';
import { CommandFailure } from './command.js';

/** Far above any revision that a producer takes. */
const MAX_LINE_BYTES = 128 * 1024 * 1024;

export interface InputLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** Throws CommandFailure where a line is too long or is not UTF-8. */
export async function* inputLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  for await (const lines of splitLines(input, MAX_LINE_BYTES)) {
    for (const line of lines) {
      const text = textOf(line);
      if (text !== '') yield { number: line.number, text };
    }
  }
}

function textOf(line: Line): string {
  if (line.kind === 'too_long') {
    throw new CommandFailure(
      `line ${line.number} of the input has ${line.length} bytes, at most ${MAX_LINE_BYTES} are read`,
    );
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(line.bytes).trim();
  } catch (error) {
    throw new CommandFailure(`line ${line.number} of the input is not valid UTF-8`, { cause: error });
  }
}
