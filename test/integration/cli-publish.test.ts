/** `revcast publish` against a producer that a test plays: what it sends, what it sends again, and what it says. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../services/cli/command.js';
import { runCli, startCli } from '../support/cli-context.js';
import { freePort } from '../support/free-port.js';
import { waitFor } from '../support/wait-for.js';

type Answer = (response: ServerResponse) => void;

let server: Server;
let url: string;
let requests: { path: string; body: string }[];
/** One for each request; the last one also for all that follow. */
let answers: Answer[];

const json =
  (status: number, body: object, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
const position = (rev: number) => json(201, { room: 'doc', epoch: 'e', rev });
const drop: Answer = (response) => response.destroy();
const never: Answer = () => undefined;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  requests.push({ path: request.url ?? '', body });
  (answers[requests.length - 1] ?? answers.at(-1) ?? never)(response);
}

beforeEach(async () => {
  requests = [];
  answers = [position(1)];
  server = createServer((request, response) => {
    void answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function keyOf(body: string): string {
  return (JSON.parse(body) as { key: string }).key;
}

describe('publish', () => {
  test('[C8] sends the data byte for byte, and prints the position as a JSON line', async () => {
    const run = await runCli([
      'publish',
      'a/ä?',
      '{"n": 1.0e400, "big": 12345678901234567890}',
      '--url',
      `${url}/base/`,
      '--key',
      'k',
    ]);
    expect(run).toEqual({ exitCode: EXIT.ok, stdout: '{"room":"doc","epoch":"e","rev":1}\n', stderr: '' });
    expect(requests).toEqual([
      {
        path: '/base/v1/rooms/a%2F%C3%A4%3F/revisions',
        body: '{"data":{"n": 1.0e400, "big": 12345678901234567890},"key":"k"}',
      },
    ]);
  });

  test('[C8] sends several data as one append, with author and expected revision', async () => {
    const words = [
      'publish',
      'doc',
      '1',
      '[2]',
      '--url',
      url,
      '--key',
      'k',
      '--author',
      'writer-1 "a"',
      '--expected-rev',
      '4',
    ];
    await runCli(words);
    expect(requests[0]?.body).toBe(
      '{"revisions":[{"data":1,"author":"writer-1 \\"a\\""},{"data":[2],"author":"writer-1 \\"a\\""}],"key":"k","expectedRev":4}',
    );
  });

  test('[C8] with --text sends texts as JSON strings', async () => {
    await runCli(['publish', 'doc', 'say "hi"', '--text', '--url', url, '--key', 'k']);
    expect(requests[0]?.body).toBe(String.raw`{"data":"say \"hi\"","key":"k"}`);
  });

  test('[C8] sends each line of the input in order, each with a key and an expected revision of its own', async () => {
    answers = [position(8), position(9), position(10)];
    const run = await runCli(['publish', 'doc', '-', '--url', url, '--key', 'import', '--expected-rev', '7'], {
      stdin: '{"a":1}\n\n{"a":2}\n{"a":3}',
    });
    expect(run.exitCode).toBe(EXIT.ok);
    expect(
      run.stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { rev: number }).rev),
    ).toEqual([8, 9, 10]);
    expect(requests.map(({ body }) => body)).toEqual([
      '{"data":{"a":1},"key":"import-1","expectedRev":7}',
      '{"data":{"a":2},"key":"import-3","expectedRev":8}',
      '{"data":{"a":3},"key":"import-4","expectedRev":9}',
    ]);
  });

  test('[C8] stops at a line that is no JSON, and says how many were published before', async () => {
    const run = await runCli(['publish', 'doc', '--url', url], { stdin: '1\n2\nthree\n4\n' });
    expect(run.exitCode).toBe(EXIT.failed);
    expect(run.stderr).toMatch(/^revcast: line 3 is not JSON: three: .*--text \(2 lines were published before\)\n$/u);
    expect(requests).toHaveLength(2);
  });

  test('[C8] tries again with the same key, not before Retry-After, and says so once', async () => {
    const busy = json(503, { error: { code: 'log_unavailable', message: 'no log' } }, { 'retry-after': '1' });
    answers = [busy, drop, position(5)];
    const begunMs = performance.now();
    const run = await runCli(['publish', 'doc', '1', '--url', url]);
    expect(run.exitCode).toBe(EXIT.ok);
    expect(performance.now() - begunMs).toBeGreaterThan(990);
    expect(new Set(requests.map(({ body }) => keyOf(body))).size).toBe(1);
    expect(requests).toHaveLength(3);
    expect(run.stderr.trim().split('\n')).toEqual([
      'revcast: log_unavailable: no log; trying again for up to 30000 ms',
      expect.stringMatching(/^revcast: no connection to the producer at .*; trying again for up to 30000 ms$/u),
    ]);
  });

  test('[C8] when the time is up it says whether it may have been stored, and with which key to go on', async () => {
    answers = [drop];
    const open = await runCli(['publish', 'doc', '1', '--url', url, '--key', 'k 1', '--retry-ms', '0']);
    expect(open.exitCode).toBe(EXIT.failed);
    expect(open.stderr).toMatch(/it may have been stored: publishing the same again with --key "k 1" is safe\n$/u);

    answers = [never];
    const silent = await runCli(['publish', 'doc', '1', '--url', url, '--timeout-ms', '50', '--retry-ms', '0']);
    expect(silent.stderr).toMatch(/has not answered after 50 ms; it may have been stored/u);

    const nobody = `http://127.0.0.1:${await freePort()}`;
    const closed = await runCli(['publish', 'doc', '1', '--url', nobody, '--retry-ms', '3000']);
    expect(closed.exitCode).toBe(EXIT.failed);
    expect(closed.stderr.trim().split('\n')).toEqual([
      `revcast: no connection to the producer at ${nobody}: connection refused; trying again for up to 3000 ms`,
      `revcast: no connection to the producer at ${nobody}: connection refused`,
    ]);
  });

  test('[C8] what is refused is not tried again', async () => {
    answers = [json(409, { error: { code: 'conflict', message: 'it is 9', head: { epoch: 'e', rev: 9 } } })];
    const conflict = await runCli(['publish', 'doc', '1', '--url', url, '--expected-rev', '3']);
    expect(conflict).toEqual({
      exitCode: EXIT.failed,
      stdout: '',
      stderr: 'revcast: conflict: it is 9; the head is {"epoch":"e","rev":9}\n',
    });
    answers = [
      (response) => {
        response.writeHead(404).end('<h1>nginx</h1>');
      },
    ];
    const elsewhere = await runCli(['publish', 'doc', '1', '--url', url]);
    expect(elsewhere.stderr).toBe(`revcast: ${url} answered 404, and not as a producer does: <h1>nginx</h1>\n`);
    expect(requests).toHaveLength(2);
  });

  test('[C4] a signal ends a wait and a request at once', async () => {
    answers = [never];
    const run = startCli(['publish', 'doc', '1', '--url', url, '--key', 'k']);
    await waitFor(() => requests.length === 1, { what: 'the request' });
    run.stop();
    expect(await run.ended).toMatchObject({
      exitCode: EXIT.failed,
      stderr: 'revcast: stopped; it may have been stored: publishing the same again with --key "k" is safe\n',
    });

    const typing = startCli(['publish', 'doc', '--url', url]);
    typing.stop();
    expect(await typing.ended).toMatchObject({
      exitCode: EXIT.failed,
      stderr: expect.stringContaining('stopped') as string,
    });
  });
});
