/** `revcast dev` as users start it: the built program, the lines that it prints, its ends. */
import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { descendantsOf, isAlive, KeptProcess } from '../support/built-program.js';
import { freePort } from '../support/free-port.js';
import { NatsServer } from '../support/nats-server.js';
import { PlainClient } from '../support/plain-client.js';
import { waitFor } from '../support/wait-for.js';

const ANY_PORTS = ['--edge-port', '0', '--producer-port', '0', '--revision-port', '0'];

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

function started(process: KeptProcess): KeptProcess {
  cleanUp.push(() => process.stop());
  return process;
}

function dev(...words: string[]): KeptProcess {
  return started(KeptProcess.revcast(['dev', ...ANY_PORTS, ...words]));
}

/** A line that dev printed, as typed into a shell. */
async function printedLine(process: KeptProcess, pattern: RegExp): Promise<string> {
  const [line] = await process.says(pattern);
  return line.trim();
}

function shell(line: string): KeptProcess {
  return started(new KeptProcess('bash', ['-c', line]));
}

async function producerUrl(process: KeptProcess): Promise<string> {
  const [, url] = await process.says(/^ +producer +(http\S+)$/mu);
  return url ?? '';
}

describe('dev', () => {
  test('[C7] the lines that it prints work as they are: the blocks of a node, a revision published and followed', async () => {
    const running = dev('--anvil');
    const blocks = shell(`${await printedLine(running, /npx revcast tail eth [^#]*/u)} --count 3`);
    const room = shell(`${await printedLine(running, /npx revcast tail doc-1 [^#]*/u)} --since 0 --count 1`);
    const publish = await printedLine(running, /npx revcast publish doc-1 [^#]*/u);
    const published = shell(publish);
    expect(await published.ended).toMatchObject({ code: 0 });
    expect(JSON.parse(published.stdout)).toMatchObject({ room: 'doc-1', rev: 1, duplicate: false });

    expect(await room.ended).toMatchObject({ code: 0 });
    expect(room.stdout).toMatch(/^doc-1 1 \S+ \{"text":"hello"\}\n$/u);
    expect(await blocks.ended).toMatchObject({ code: 0 });
    const lines = blocks.stdout.trim().split('\n');
    const heights = lines.map((line) => (JSON.parse(line.slice(line.indexOf('{'))) as { height: number }).height);
    expect(heights).toEqual([heights[0], Number(heights[0]) + 1, Number(heights[0]) + 2]);

    const where = shell(await printedLine(running, /curl [^#]*/u));
    await where.ended;
    expect(JSON.parse(where.stdout)).toMatchObject({ room: 'doc-1' });
    await running.says(/the log is in memory: nothing survives this process/u, 'stderr');
  });

  test('[C7] [B8] with a node it serves clients of Blockbook, and says where', async () => {
    const running = dev('--anvil');
    const [, url = ''] = await running.says(/^ +blockbook +(http\S+),/mu);
    const client = await PlainClient.connect(`${url.replace('http', 'ws')}/websocket`);
    cleanUp.push(() => Promise.resolve(client.close()));
    expect(await client.request('subscribeNewBlock', {}, '0')).toEqual({ subscribed: true });
    await waitFor(() => client.texts.length > 1, { what: 'a block' });
    const { data } = JSON.parse(client.texts[1] ?? '') as { data: { height: number; hash: string } };
    expect(await client.request('getBlockHash', { height: data.height })).toEqual({ hash: data.hash });
    expect(await client.request('getInfo')).toMatchObject({ name: 'Ethereum', testnet: true });
  });

  test('[C4] SIGTERM stops it, and the node that it started, with exit code 0', async () => {
    const running = dev('--anvil');
    await running.says(/Ctrl-C stops everything/u);
    const anvil = descendantsOf(running.pid).find(({ command }) => command.includes('anvil'));
    expect(anvil).toBeDefined();
    running.kill('SIGTERM');
    expect(await running.ended).toEqual({ code: 0, signal: null });
    expect(isAlive(anvil?.pid ?? 0)).toBe(false);
    expect(running.stderr).toContain('SIGTERM');
    expect(running.stderr).not.toMatch(/ERROR|FATAL/u);
  });

  test('[C4] a second signal ends it at once', async () => {
    const running = dev('--anvil');
    const producer = new URL(await producerUrl(running));
    await running.says(/Ctrl-C stops everything/u);
    const children = descendantsOf(running.pid);
    // A request that never ends: the graceful stop waits for it.
    const request = shell(
      `exec 3<>/dev/tcp/127.0.0.1/${producer.port}; printf 'POST /v1/rooms/r/revisions HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\nContent-Length: 9\\r\\n\\r\\n{' >&3; echo sent; cat <&3`,
    );
    await request.says(/sent/u);
    running.kill('SIGINT');
    await running.says(/stopping/u, 'stderr');
    // What comes sooner is the same press of Ctrl-C, forwarded by npx.
    await new Promise((resolve) => setTimeout(resolve, 400));
    running.kill('SIGINT');
    expect(await running.ended).toEqual({ code: 130, signal: null });
    await waitFor(() => children.every(({ pid }) => !isAlive(pid)), { what: 'its children have ended' });
  });

  test('[C4] started by npx, it ends when npx is ended', async () => {
    const npx = started(new KeptProcess('npx', ['revcast', 'dev', ...ANY_PORTS]));
    await npx.says(/Ctrl-C stops everything/u);
    const program = descendantsOf(npx.pid).find(({ command }) => command.includes('revcast dev'));
    expect(program).toBeDefined();
    npx.kill('SIGTERM');
    await waitFor(() => !isAlive(program?.pid ?? 0), { what: 'the program has ended' });
    expect(npx.stderr).toContain('npx has ended');
  });

  test('[C6] ports that are in use are named with their flags, all at once', async () => {
    const holders = await Promise.all([held(), held(), held()]);
    const [edge, producer, revision] = holders.map(({ port }) => String(port)) as [string, string, string];
    const ports = ['--edge-port', edge, '--producer-port', producer, '--revision-port', revision];
    const run = started(KeptProcess.revcast(['dev', '--log-level', 'silent', ...ports]));
    expect(await run.ended).toEqual({ code: 1, signal: null });
    const advice = 'stop what uses it, or choose another with';
    expect(run.stderr.trim().split('\n').sort()).toEqual([
      `revcast: the edge's port ${edge} on 127.0.0.1 is in use: ${advice} --edge-port`,
      `revcast: the producer's port ${producer} on 127.0.0.1 is in use: ${advice} --producer-port`,
      `revcast: the revision service's port ${revision} on 127.0.0.1 is in use: ${advice} --revision-port`,
    ]);
    expect(run.stdout).toBe('');
  });

  test('[C6] a host that is not this machine is named with its flag', async () => {
    const run = started(
      KeptProcess.revcast(['dev', '--log-level', 'silent', '--edge-host', '192.0.2.1', ...ANY_PORTS]),
    );
    expect(await run.ended).toEqual({ code: 1, signal: null });
    expect(run.stderr).toBe(
      'revcast: the edge cannot listen on 192.0.2.1: it is no address of this machine; choose one with --edge-host\n',
    );
  });

  test('[C5] an unexpected fault is logged as fatal, and ends it and what it started with exit code 1', async () => {
    const fault = 'process.on("SIGUSR2", () => { void Promise.reject(new Error("on purpose")); })';
    const running = started(
      KeptProcess.revcast(['dev', ...ANY_PORTS, '--anvil', '--no-log-pretty'], {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(fault)}`,
      }),
    );
    await running.says(/Ctrl-C stops everything/u);
    const children = descendantsOf(running.pid);
    running.kill('SIGUSR2');
    expect(await running.ended).toEqual({ code: 1, signal: null });
    const last = JSON.parse(running.stderr.trim().split('\n').at(-1) ?? '') as {
      level: number;
      err: { message: string };
    };
    expect(last).toMatchObject({ level: 60, msg: 'unexpected fault; leaving', err: { message: 'on purpose' } });
    await waitFor(() => children.every(({ pid }) => !isAlive(pid)), { what: 'its children have ended' });
  });

  test('[C7] lines of standard input are published where they are asked for; a file that cannot be read is said', async () => {
    const running = dev('--ndjson-file', '-', '--ndjson-room', 'doc-2', '--ndjson-raw');
    running.stdin.end('{"n":1}\n{"n":2}\n');
    const tailDoc1 = await printedLine(running, /npx revcast tail doc-1 [^#]*/u);
    const tailed = shell(`${tailDoc1.replace('doc-1', 'doc-2')} --since 0 --count 2 --data`);
    expect(await tailed.ended).toMatchObject({ code: 0 });
    expect(tailed.stdout).toBe('{"n":1}\n{"n":2}\n');

    const missing = dev('--ndjson-file', '/nowhere/lines.ndjson', '--log-level', 'silent');
    expect(await missing.ended).toMatchObject({ code: 1 });
    expect(missing.stderr).toMatch(/^revcast: the NDJSON file cannot be read: ENOENT.*\n$/u);
  });

  test('[C7] on NATS what was published survives it', async () => {
    const nats = await NatsServer.start();
    cleanUp.push(() => nats.dispose());
    const first = dev('--nats', nats.url);
    const published = shell(await printedLine(first, /npx revcast publish doc-1 [^#]*/u));
    expect(await published.ended).toMatchObject({ code: 0 });
    await first.stop();

    const second = dev('--nats', nats.url);
    const tailed = shell(`${await printedLine(second, /npx revcast tail doc-1 [^#]*/u)} --since 0 --count 1 --data`);
    expect(await tailed.ended).toMatchObject({ code: 0 });
    expect(tailed.stdout).toBe('{"text":"hello"}\n');
    expect(second.stdout).toContain(nats.url);
  });

  test('[U1] clients publish over a WebSocket of its edge, and on NATS through an edge of another process too', async () => {
    const nats = await NatsServer.start();
    cleanUp.push(() => nats.dispose());
    const running = dev('--nats', nats.url, '--edge-publish-rooms', 'doc-*');
    const [, own] = await running.says(/^ +edge +(ws\S+)$/mu);
    const port = await freePort();
    const flags = ['--edge-port', String(port), '--edge-publish-rooms', 'doc-1'];
    const edge = started(KeptProcess.revcast(['edge', '--nats', nats.url, ...flags]));
    await edge.says(/edge: listening/u, 'stderr');
    const clients = await Promise.all(
      [own ?? '', `ws://127.0.0.1:${port}/v1/ws`].map((url) => PlainClient.connect(url)),
    );
    for (const [index, client] of clients.entries()) {
      cleanUp.push(() => Promise.resolve(client.close()));
      await client.subscribe('doc-1', { since: 0 });
      const answer = await client.request('publish', { room: 'doc-1', data: index, expectedRev: index });
      expect(answer).toMatchObject({ published: true, rev: index + 1 });
    }
    for (const client of clients) {
      await client.upTo('doc-1', 2);
      expect(client.revisions('doc-1').map(({ data }) => data)).toEqual([0, 1]);
    }
  });
});

async function held(): Promise<{ port: number; server: Server }> {
  const port = await freePort();
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  cleanUp.push(async () => {
    server.close();
    await once(server, 'close');
  });
  return { port, server };
}
