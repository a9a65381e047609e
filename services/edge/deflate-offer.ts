/**
 * What is answered to a client's offer of compression (Sec-WebSocket-Extensions), by RFC 6455 section 9.1 and RFC 7692
 * section 7.1, strictly: the canonical `permessage-deflate` or nothing. The answer is right for every offer that asks
 * nothing of the server's window: uWebSockets.js adds both no_context_takeover parameters, which a server may always
 * do. So an offer with server_max_window_bits is passed over, for that must be repeated in the answer; a client may
 * have made another one. A header that is not well-formed offers nothing.
 */

export type DeflateAnswer = '' | 'permessage-deflate';

/** token of RFC 9110: what extension names, parameter names and values are made of. */
const TOKEN = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/uy;
/** The inside of a quoted string, and what of it is taken literally. */
const QUOTED = /"(?:[\t \u0021\u0023-\u005b\u005d-\u007e]|\\[\t -\u007e])*"/uy;
const WHITE_SPACE = /[\t ]*/uy;
const WINDOW_BITS = /^(?:[89]|1[0-5])$/u;

/** One parameter; a value is unquoted, null if there is none. */
interface Parameter {
  readonly name: string;
  readonly value: string | null;
}

/** @param header the header's value; several header lines are joined with commas */
export function chooseDeflate(header: string): DeflateAnswer {
  const text = new OfferText(header);
  let accepted = false;
  while (!text.done) {
    if (text.take(',')) continue;
    const name = text.token();
    if (name === undefined) return '';
    const parameters = readParameters(text);
    if (parameters === undefined) return '';
    accepted ||= name === 'permessage-deflate' && areAcceptable(parameters);
    if (!text.done && !text.take(',')) return '';
  }
  return accepted ? 'permessage-deflate' : '';
}

/** The parameters of one offer; undefined if they are not well-formed. */
function readParameters(text: OfferText): Parameter[] | undefined {
  const parameters: Parameter[] = [];
  while (text.take(';')) {
    const name = text.token();
    if (name === undefined) return undefined;
    const value = text.take('=') ? (text.token() ?? text.quotedToken()) : null;
    if (value === undefined) return undefined;
    parameters.push({ name, value });
  }
  return parameters;
}

function areAcceptable(parameters: readonly Parameter[]): boolean {
  const names = new Set(parameters.map(({ name }) => name));
  return names.size === parameters.length && parameters.every((parameter) => isAcceptable(parameter));
}

function isAcceptable({ name, value }: Parameter): boolean {
  switch (name) {
    case 'server_no_context_takeover':
    case 'client_no_context_takeover':
      return value === null;
    case 'client_max_window_bits':
      return value === null || WINDOW_BITS.test(value);
    default:
      return false;
  }
}

/** Reads a header's value from left to right; each call passes over white space first. */
class OfferText {
  private at = 0;

  constructor(private readonly text: string) {}

  get done(): boolean {
    this.match(WHITE_SPACE);
    return this.at === this.text.length;
  }

  take(mark: string): boolean {
    if (this.done || this.text[this.at] !== mark) return false;
    this.at++;
    return true;
  }

  token(): string | undefined {
    this.match(WHITE_SPACE);
    return this.match(TOKEN);
  }

  /** A quoted string whose content is a token; undefined if there is none. */
  quotedToken(): string | undefined {
    this.match(WHITE_SPACE);
    const content = this.match(QUOTED)?.slice(1, -1).replaceAll(/\\(.)/gu, '$1');
    if (content === undefined) return undefined;
    TOKEN.lastIndex = 0;
    return TOKEN.exec(content)?.[0] === content ? content : undefined;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}
