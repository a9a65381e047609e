/** The texts that commands read and print: input lines, tailed revisions, the lines that dev prints. */
import { describe, expect, test } from 'vitest';
import { devBanner } from '../../services/cli/dev-banner.js';
import { inputLines } from '../../services/cli/input-lines.js';
import { formatRevision, formatSnapshot } from '../../services/cli/tail-format.js';

async function linesOf(...chunks: (string | Uint8Array)[]): Promise<{ number: number; text: string }[]> {
  const input = async function* () {
    for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk as string));
  };
  const found = [];
  for await (const line of inputLines(input())) found.push(line);
  return found;
}

describe('input lines', () => {
  test('[C8] are found however the stream is cut, with or without a last line end', async () => {
    const text = '{"a":"ä€𝄞"}\r\n\n  2 \n"end"';
    const wanted = [
      { number: 1, text: '{"a":"ä€𝄞"}' },
      { number: 3, text: '2' },
      { number: 4, text: '"end"' },
    ];
    expect(await linesOf(text)).toEqual(wanted);
    expect(await linesOf(`${text}\n`)).toEqual(wanted);
    expect(await linesOf(...Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte)))).toEqual(wanted);
    expect(await linesOf('')).toEqual([]);
  });

  test('[C8] that are not UTF-8 are refused by their number', async () => {
    await expect(linesOf('1\n', Uint8Array.of(0x22, 0xff, 0x22, 0x0a))).rejects.toThrow(
      'line 2 of the input is not valid UTF-8',
    );
  });
});

describe('a tailed revision', () => {
  const revision = {
    room: 'doc',
    rev: 3,
    tag: '0123abcd',
    time: 1_796_076_401_626,
    timeDelta: 972,
    author: 'writer-1',
  };
  const text =
    '{"room":"doc","rev":3,"tag":"0123abcd","time":1796076401626,"timeDelta":972,"author":"an,\\"data\\":n","data":{"n":1.0e2,"data":[]}}';

  test('[C11] for people has room, revision, time, and the data as it was published', () => {
    expect(formatRevision('readable', revision, text)).toBe(
      'doc 3 2026-11-30T22:06:41.626Z +972ms by "writer-1" {"n":1.0e2,"data":[]}',
    );
    const { author: _author, ...first } = { ...revision, rev: 1, timeDelta: null };
    expect(formatRevision('readable', first, '{"data":1}')).toBe('doc 1 2026-11-30T22:06:41.626Z 1');
  });

  test('[C11] as JSON, or only its data, is what the edge sent, byte for byte', () => {
    expect(formatRevision('json', revision, text)).toBe(text);
    expect(formatRevision('data', revision, text)).toBe('{"n":1.0e2,"data":[]}');
  });

  test('[C11] a snapshot is a line of its own: for people, as the edge sent it, or its data alone', () => {
    const snapshot = { rev: 41, time: 1_796_076_401_626 };
    const data = '{"data":"\\u0000 \u009b31m","n":1.50}';
    const answer = `{"subscribed":true,"room":"doc","epoch":"e","rev":41,"tag":"0","snapshot":{"rev":41,"time":1,"data":${data}}}`;
    expect(formatSnapshot('readable', 'doc', snapshot, answer)).toBe(
      `doc snapshot at 41 ${new Date(snapshot.time).toISOString()} {"data":"\\u0000 \\u009b31m","n":1.50}`,
    );
    expect(formatSnapshot('json', 'doc', snapshot, answer)).toBe(answer);
    expect(formatSnapshot('data', 'doc', snapshot, answer)).toBe(data);
  });

  test('[C11] gives a terminal no control characters', () => {
    const shown = formatRevision('readable', { ...revision, author: 'a\u009b31m' }, '{"data":"\u009b2J\u202e"}');
    expect(shown).toContain(String.raw`by "a\u009b31m" "\u009b2J\u202e"`);
  });
});

describe('the lines that dev prints', () => {
  const urls = {
    edgeUrl: 'http://127.0.0.1:8080',
    producerUrl: 'http://127.0.0.1:8081',
    revisionUrl: 'http://127.0.0.1:8082',
  };

  test('[C7] name no address where it is the default, and say that a log in memory does not last', () => {
    const banner = devBanner({ ...urls, nats: [] });
    expect(banner).toMatch(/^ {2}npx revcast tail doc-1 +# /mu);
    expect(banner).toContain('in memory: nothing survives this process');
    expect(banner).not.toContain('blocks');
  });

  test('[C7] carry the address where it is another, and no password', () => {
    const banner = devBanner({
      ...urls,
      edgeUrl: 'http://127.0.0.1:9000',
      nats: ['nats://user:secret@n1:4222'],
      node: { url: 'ws://me:secret@node:8545', room: "it's" },
    });
    expect(banner).toContain('npx revcast tail doc-1 --url ws://127.0.0.1:9000/v1/ws ');
    expect(banner).toContain(String.raw`npx revcast tail 'it'\''s' --url`);
    expect(banner).toContain('nats://n1:4222');
    expect(banner).not.toContain('secret');
  });
});
