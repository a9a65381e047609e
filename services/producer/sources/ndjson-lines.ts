/**
 * Cuts a stream of bytes into lines at line feeds. Bytes stay bytes, so a character that two chunks share is whole in
 * its line. A carriage return before the line feed is left to the JSON parser, for which it is white space. The last
 * line needs no line feed.
 * Limit: a line is kept up to `maxLineBytes`; of a longer one only its length is told, whatever its size.
 */
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export type Line =
  | { readonly kind: 'line'; readonly number: number; readonly bytes: Uint8Array }
  | { readonly kind: 'too_long'; readonly number: number; readonly length: number };

/** The lines of `input`, those of one chunk together, numbered from 1. */
export async function* splitLines(
  input: AsyncIterable<Uint8Array | string>,
  maxLineBytes: number,
): AsyncGenerator<readonly Line[]> {
  const open = new OpenLine(maxLineBytes);
  for await (const read of input) {
    const chunk = typeof read === 'string' ? Buffer.from(read) : read;
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      open.add(chunk.subarray(start, end));
      lines.push(open.end());
      start = end + 1;
    }
    open.add(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  if (open.length > 0) yield [open.end()];
}

/** The line that is being read. */
class OpenLine {
  length = 0;
  private number = 1;
  private parts: Uint8Array[] = [];

  constructor(private readonly maxBytes: number) {}

  add(part: Uint8Array): void {
    this.length += part.length;
    if (this.length > this.maxBytes) this.parts = [];
    else if (part.length > 0) this.parts.push(part);
  }

  end(): Line {
    const { number, length, parts } = this;
    this.number += 1;
    this.length = 0;
    this.parts = [];
    if (length > this.maxBytes) return { kind: 'too_long', number, length };
    const bytes = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    const marked = number === 1 && BYTE_ORDER_MARK.equals(bytes.subarray(0, BYTE_ORDER_MARK.length));
    return { kind: 'line', number, bytes: marked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes };
  }
}
