/** `revcast tail` against an edge that a test plays: what it asks for after each kind of break, and what it prints. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocketServer, type WebSocket } from 'ws';
import { EXIT } from '../../services/cli/command.js';
import { runCli, startCli, type StartedCli } from '../support/cli-context.js';
import { TestEdge } from '../support/edge.js';
import { waitFor } from '../support/wait-for.js';

interface Request {
  readonly id: string;
  readonly method: string;
  readonly params: { readonly room: string; readonly since?: unknown };
}

let http: Server;
let edge: WebSocketServer;
let url: string;
let sockets: WebSocket[];
let requests: Request[];
let running: StartedCli[];

beforeEach(async () => {
  sockets = [];
  requests = [];
  running = [];
  http = createServer((_request, response) => response.writeHead(404).end());
  edge = new WebSocketServer({ server: http, path: '/v1/ws' });
  edge.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('message', (message) => requests.push(JSON.parse((message as Buffer).toString()) as Request));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const run of running) run.stop();
  await Promise.all(running.map((run) => run.ended));
  edge.close();
  for (const socket of edge.clients) socket.terminate();
  http.close();
  http.closeAllConnections();
  await once(http, 'close');
});

function tail(...words: string[]): StartedCli {
  const run = startCli(['tail', ...words, '--url', url]);
  running.push(run);
  return run;
}

/** The n-th request, when it has come. */
async function request(n: number): Promise<Request> {
  await waitFor(() => requests.length >= n, { what: `request ${n}` });
  return requests[n - 1] as Request;
}

function send(id: string, data: object): void {
  sockets.at(-1)?.send(`{"id":${JSON.stringify(id)},"data":${JSON.stringify(data)}}`);
}
const subscribed = (room: string, rev: number, epoch = 'e') => ({
  subscribed: true,
  room,
  epoch,
  rev,
  tag: tagOf(rev),
});
const tagOf = (rev: number) => rev.toString(16).padStart(8, '0');
const revision = (room: string, rev: number) => ({
  room,
  rev,
  tag: tagOf(rev),
  time: 1_000 + rev,
  timeDelta: 1,
  data: { n: rev },
});
const refused = (code: string) => ({ error: { code, message: 'because' } });

describe('tail', () => {
  test('[C9] goes on after a disconnect from where it stood, and drops what it has', async () => {
    const run = tail('doc', '--data');
    const first = await request(1);
    expect(first).toEqual({ id: first.id, method: 'subscribe', params: { room: 'doc' } });
    send(first.id, subscribed('doc', 4));
    send(first.id, revision('doc', 5));
    send(first.id, revision('doc', 6));
    await waitFor(() => run.stdout.includes('6'), { what: 'revision 6' });
    sockets[0]?.close(1012, 'restarting');

    const second = await request(2);
    expect(second.params).toEqual({ room: 'doc', since: { epoch: 'e', rev: 6, tag: tagOf(6) } });
    send(second.id, subscribed('doc', 6));
    for (const rev of [6, 7, 7, 8]) send(second.id, revision('doc', rev));
    await waitFor(() => run.stdout.includes('8'), { what: 'revision 8' });
    run.stop();
    expect(await run.ended).toMatchObject({
      exitCode: EXIT.ok,
      stdout: '{"n":5}\n{"n":6}\n{"n":7}\n{"n":8}\n',
      stderr: expect.stringMatching(
        /^revcast: no connection to the edge at .*code 1012 \(restarting\); waiting for it\nrevcast: going on\n$/u,
      ) as string,
    });
  });

  test('[C9] follows several rooms, each from its own position', async () => {
    const run = tail('a', 'b', '--since', '0', '--json');
    const [a, b] = [await request(1), await request(2)];
    expect([a, b].map(({ params }) => params)).toEqual([
      { room: 'a', since: 0 },
      { room: 'b', since: 0 },
    ]);
    send(a.id, subscribed('a', 0));
    send(b.id, subscribed('b', 6));
    send(b.id, revision('b', 7));
    send(a.id, revision('a', 1));
    await waitFor(() => run.stdout.split('\n').length === 3, { what: 'both' });
    expect(run.stdout).toBe(`${JSON.stringify(revision('b', 7))}\n${JSON.stringify(revision('a', 1))}\n`);
    sockets[0]?.terminate();
    await request(4);
    expect(requests.slice(2).map(({ params }) => params)).toEqual([
      { room: 'a', since: { epoch: 'e', rev: 1, tag: tagOf(1) } },
      { room: 'b', since: { epoch: 'e', rev: 7, tag: tagOf(7) } },
    ]);
  });

  test('[C9] a hole is not printed over: what is missing is asked for', async () => {
    const run = tail('doc', '--data');
    send((await request(1)).id, subscribed('doc', 4));
    send((await request(1)).id, revision('doc', 6));
    const again = await request(2);
    expect(again.params.since).toEqual({ epoch: 'e', rev: 4, tag: tagOf(4) });
    send(again.id, subscribed('doc', 4));
    send(again.id, revision('doc', 5));
    await waitFor(() => run.stdout !== '', { what: 'revision 5' });
    expect(run.stdout).toBe('{"n":5}\n');
  });

  test.each(['epoch_changed', 'history_truncated'])(
    '[C9] says %s, and begins again with what is kept',
    async (code) => {
      const run = tail('doc', '--since', 'old:3', '--data');
      const first = await request(1);
      expect(first.params.since).toEqual({ epoch: 'old', rev: 3 });
      send(first.id, refused(code));
      const second = await request(2);
      expect(second.params.since).toBe(0);
      send(second.id, subscribed('doc', 8));
      send(second.id, revision('doc', 9));
      await waitFor(() => run.stdout === '{"n":9}\n', { what: 'revision 9' });
      expect(run.stderr).toBe(`revcast: doc: ${code}: because; starting again with what is kept\n`);
    },
  );

  test('[C9] with --strict it leaves then, with exit code 3', async () => {
    const run = tail('doc', '--since', 'old:3', '--strict');
    send((await request(1)).id, refused('history_truncated'));
    expect(await run.ended).toEqual({
      exitCode: EXIT.discontinued,
      stdout: '',
      stderr: 'revcast: doc: history_truncated: because\n',
    });
    expect(requests).toHaveLength(1);
  });

  test('[C9] asks again when the edge cannot answer now, and leaves when it never will', async () => {
    const run = tail('doc');
    send((await request(1)).id, refused('log_unavailable'));
    send((await request(2)).id, refused('invalid_request'));
    expect(await run.ended).toEqual({
      exitCode: EXIT.failed,
      stdout: '',
      stderr: 'revcast: doc: log_unavailable: because; waiting for it\nrevcast: doc: invalid_request: because\n',
    });
  });

  test('[C9] an edge that has fallen silent is left for a new connection', async () => {
    const run = tail('doc', '--silence-ms', '200');
    send((await request(1)).id, subscribed('doc', 4));
    const [silent] = sockets;
    silent?.pause();
    await request(2);
    expect(run.stderr).toContain('no sign of life for 200 ms; waiting for it');
  });

  test('[C9] stops after --count revisions, and says where it stands', async () => {
    const run = tail('doc', '--count', '2');
    const { id } = await request(1);
    send(id, subscribed('doc', 4));
    for (const rev of [5, 6, 7]) send(id, revision('doc', rev));
    expect(await run.ended).toEqual({
      exitCode: EXIT.ok,
      stdout: 'doc 5 1970-01-01T00:00:01.005Z +1ms {"n":5}\ndoc 6 1970-01-01T00:00:01.006Z +1ms {"n":6}\n',
      stderr: `revcast: following doc from revision 5 on\nrevcast: doc stands at e:6:${tagOf(6)}\n`,
    });
  });

  test('[C9] what is no edge is said at once', async () => {
    const wrongPath = await runCli(['tail', 'doc', '--url', `${url}/ws`]);
    expect(wrongPath.exitCode).toBe(EXIT.failed);
    expect(wrongPath.stderr).toMatch(
      /^revcast: ws:.*\/ws: it answered 4\d\d instead of a WebSocket; is this the address of an edge\?\n$/u,
    );

    const chatter = tail('doc');
    await request(1);
    sockets[0]?.send('hello!');
    expect(await chatter.ended).toMatchObject({
      exitCode: EXIT.failed,
      stderr: expect.stringContaining("does not speak revcast's plain protocol") as string,
    });
  });
});

describe('tail --since snapshot', () => {
  test('[C9] prints the snapshot, then what follows it, and after a break goes on without another snapshot', async () => {
    const run = tail('doc', '--since', 'snapshot', '--json', '--count', '2');
    const { id, params } = await request(1);
    expect(params).toEqual({ room: 'doc', since: 'snapshot' });
    const answer = { ...subscribed('doc', 41), snapshot: { rev: 41, time: 5, data: 'document' } };
    send(id, answer);
    const revision = { room: 'doc', rev: 42, tag: tagOf(42), time: 6, timeDelta: 1, data: 1 };
    send(id, revision);
    await waitFor(() => run.stdout.includes('"rev":42'), { what: 'the revision was printed' });
    sockets.at(-1)?.terminate();

    const again = await request(2);
    expect(again.params.since).toEqual({ epoch: 'e', rev: 42, tag: tagOf(42) });
    send(again.id, subscribed('doc', 42));
    const next = { ...revision, rev: 43, tag: tagOf(43) };
    send(again.id, next);

    expect((await run.ended).exitCode).toBe(EXIT.ok);
    expect(run.stdout).toBe([answer, revision, next].map((line) => `${JSON.stringify(line)}\n`).join(''));
  });

  test('[C9] asks for the snapshot again when the history broke, and for what is kept where there is none', async () => {
    const run = tail('doc', '--since', 'snapshot', '--data');
    send((await request(1)).id, { ...subscribed('doc', 5), snapshot: { rev: 5, time: 5, data: 'before' } });
    await waitFor(() => run.stdout === '"before"\n', { what: 'the snapshot was printed' });
    send((await request(1)).id, { error: { code: 'epoch_changed', message: 'because' } });

    const again = await request(2);
    expect(again.params.since).toBe('snapshot');
    send(again.id, { error: { code: 'history_truncated', message: 'gone' } });
    const last = await request(3);
    expect(last.params.since).toBe(0);
    run.stop();
    await run.ended;
  });

  test('[C9] of an edge prints the snapshot that a room began with, and goes on behind it', async () => {
    const real = await TestEdge.start();
    const data = Buffer.from('{"text":"a document","n":1.50}');
    await real.log.putSnapshot('moved', { rev: 1_000, data });
    await real.append('moved', '{"n":1001}', '{"n":1002}');
    const run = startCli(['tail', 'moved', '--since', 'snapshot', '--data', '--count', '2', '--url', real.url]);

    expect(await run.ended).toMatchObject({
      exitCode: EXIT.ok,
      stdout: `${data.toString()}\n{"n":1001}\n{"n":1002}\n`,
    });
    await real.stop();
  });
});
