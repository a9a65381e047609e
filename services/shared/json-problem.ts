/**
 * Where a text stops being JSON, and what was expected there. JSON.parse decides whether a text is JSON; what it says
 * about the place depends on the engine's version and is often nothing, so this looks again, only after it refused.
 * Strict RFC 8259, linear, without recursion.
 */

export interface JsonProblem {
  /** In UTF-16 units, as JavaScript counts. */
  readonly offset: number;
  readonly problem: string;
}

/** What may come next inside the innermost open container (or at the top). */
type Expected = 'value' | 'first element' | 'first member' | 'name' | 'colon' | 'comma' | 'end';

const WANTED: Readonly<Record<Exclude<Expected, 'comma'>, string>> = {
  value: 'a value',
  'first element': 'a value or "]"',
  'first member': 'a name in double quotes or "}"',
  name: 'a name in double quotes',
  colon: '":"',
  end: 'the end of the text',
};

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/uy;
const WORDS = ['true', 'false', 'null'];
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/uy;

/** The first place where `text` cannot go on to be JSON; undefined when it is JSON. */
export function findJsonProblem(text: string): JsonProblem | undefined {
  const open: ('{' | '[')[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    while (at < text.length && ' \n\r\t'.includes(text.charAt(at))) at += 1;
    const char = text.charAt(at);
    if (char === '' && expected === 'end') return undefined;
    const problem = { offset: at, problem: `${wanted(expected, open.at(-1))} expected, ${seen(text, at)}` };

    if (closes(char, expected, open.at(-1))) {
      open.pop();
      at += 1;
      expected = open.length === 0 ? 'end' : 'comma';
    } else if (expected === 'colon' || expected === 'comma') {
      if (char !== (expected === 'colon' ? ':' : ',')) return problem;
      at += 1;
      expected = expected === 'comma' && open.at(-1) === '{' ? 'name' : 'value';
    } else if (expected === 'name' || expected === 'first member') {
      if (char !== '"') return problem;
      const end = endOfString(text, at);
      if (typeof end !== 'number') return end;
      at = end;
      expected = 'colon';
    } else if (expected === 'end') {
      return problem;
    } else if (char === '{' || char === '[') {
      open.push(char);
      at += 1;
      expected = char === '{' ? 'first member' : 'first element';
    } else {
      const end = char === '"' ? endOfString(text, at) : endOfWord(text, at);
      if (end === undefined) return problem;
      if (typeof end !== 'number') return end;
      at = end;
      expected = open.length === 0 ? 'end' : 'comma';
    }
  }
}

function closes(char: string, expected: Expected, open: '{' | '[' | undefined): boolean {
  if (expected === 'first element') return char === ']';
  if (expected === 'first member') return char === '}';
  return expected === 'comma' && char === (open === '{' ? '}' : ']');
}

function wanted(expected: Expected, open: '{' | '[' | undefined): string {
  return expected === 'comma' ? `"," or "${open === '{' ? '}' : ']'}"` : WANTED[expected];
}

function seen(text: string, at: number): string {
  const codePoint = text.codePointAt(at);
  return codePoint === undefined
    ? 'but the text ends'
    : `but ${JSON.stringify(String.fromCodePoint(codePoint))} was found`;
}

function endOfWord(text: string, at: number): number | undefined {
  const word = WORDS.find((candidate) => text.startsWith(candidate, at));
  if (word !== undefined) return at + word.length;
  NUMBER.lastIndex = at;
  return NUMBER.test(text) ? NUMBER.lastIndex : undefined;
}

function endOfString(text: string, start: number): number | JsonProblem {
  let at = start + 1;
  for (;;) {
    const code = text.charCodeAt(at);
    if (Number.isNaN(code)) return { offset: at, problem: 'the string is not closed' };
    if (code < 0x20) return { offset: at, problem: 'a control character in a string must be escaped' };
    if (code === 0x22) return at + 1;
    if (code === 0x5c) {
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) return { offset: at, problem: 'there is no such escape' };
      at = ESCAPE.lastIndex;
    } else at += 1;
  }
}
