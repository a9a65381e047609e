/** Real WebSocket clients, each behind one interface: they run a job and give every message as its text. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { WebSocket } from 'ws';
import { launchChromium } from './chromium.js';
import { Gate } from './edge-doubles.js';
import { CHROMIUM, PYTHON_WEBSOCKETS, type SystemTool } from './system-tool.js';

const FOLDER = fileURLToPath(new URL('../interop/clients/', import.meta.url));
const LINE_FEED = 0x0a;
const NODE_CLIENT = `
  import { readFileSync } from 'node:fs';
  import { runJob } from ${JSON.stringify(`${FOLDER}job.mjs`)};
  const messages = await runJob(JSON.parse(readFileSync(0, 'utf8')), () => console.log('READY'));
  for (const [index, texts] of messages.entries()) for (const text of texts) console.log(index + ' ' + text);
`;

export interface Job {
  readonly url: string;
  /** Whether the client offers compression, where that can be chosen. */
  readonly compress: boolean;
  readonly connections: readonly Connection[];
}

export interface Connection {
  readonly id: string | number;
  readonly room: string;
  readonly batch: boolean;
  /** Revisions after which the connection ends. */
  readonly count: number;
}

export interface RunningJob {
  /** Every subscribe was answered. */
  readonly ready: Promise<void>;
  /** For each connection its messages behind that answer. */
  readonly messages: Promise<string[][]>;
}

export interface InteropClient {
  readonly name: string;
  /** Absent: it is there wherever Node is. */
  readonly tool?: SystemTool | undefined;
  /** Whether it can do without offering compression. */
  readonly choosesCompression: boolean;
  run(job: Job): RunningJob;
  stop(): Promise<void>;
}

/** `ws`, in this process. */
class WsClient implements InteropClient {
  readonly name = 'ws';
  readonly choosesCompression = true;

  run({ url, compress, connections }: Job): RunningJob {
    const running = connections.map((connection) => wsConnection(url, compress, connection));
    return {
      ready: Promise.all(running.map(({ ready }) => ready)).then(() => undefined),
      messages: Promise.all(running.map(({ messages }) => messages)),
    };
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

function wsConnection(url: string, perMessageDeflate: boolean, { id, room, batch, count }: Connection) {
  const socket = new WebSocket(url, { perMessageDeflate, maxPayload: 0 });
  const texts: string[] = [];
  let left = count;
  const ready = new Gate();
  const messages = new Promise<string[]>((resolve, reject) => {
    socket.on('open', () => {
      socket.send(JSON.stringify({ id, method: 'subscribe', params: { room, batch, since: 0 } }));
    });
    socket.on('message', (bytes: Buffer) => {
      const text = bytes.toString();
      const { data } = JSON.parse(text) as { data: { subscribed?: boolean } | unknown[] };
      if (!Array.isArray(data) && data.subscribed === true) {
        ready.open();
        return;
      }
      texts.push(text);
      left -= Array.isArray(data) ? data.length : 1;
      if (left > 0) return;
      socket.close();
      resolve(texts);
    });
    socket.on('close', (code) => {
      reject(new Error(`closed with ${code} before the last ${left} revisions`));
    });
    socket.on('error', reject);
  });
  return { ready: ready.promise, messages };
}

/** A program that takes a job on standard input, and prints READY and then `index text` for every message. */
class ProgramClient implements InteropClient {
  constructor(
    readonly name: string,
    readonly choosesCompression: boolean,
    private readonly command: readonly [string, ...string[]],
    readonly tool?: SystemTool,
  ) {}

  run(job: Job): RunningJob {
    const [program, ...words] = this.command;
    const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    const ready = new Promise<void>((resolve, reject) => {
      child.stdout.on('data', (chunk: Buffer) => {
        out.push(chunk);
        if (Buffer.concat(out.slice(0, 8)).includes('READY\n')) resolve();
      });
      child.on('close', () => {
        reject(new Error(`${this.name} has ended: ${Buffer.concat(errors).toString()}`));
      });
    });
    const messages = once(child, 'close').then(([code]) => {
      if (code !== 0) throw new Error(`${this.name} has failed: ${Buffer.concat(errors).toString()}`);
      return parseLines(Buffer.concat(out), job.connections.length);
    });
    child.stdin.end(JSON.stringify(job));
    return { ready, messages };
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/** Lines end with a line feed only: other line separators may be inside the messages. */
function parseLines(bytes: Buffer, connections: number): string[][] {
  const messages = Array.from({ length: connections }, (): string[] => []);
  let begin = bytes.indexOf(LINE_FEED) + 1;
  for (let end = bytes.indexOf(LINE_FEED, begin); end >= 0; end = bytes.indexOf(LINE_FEED, begin)) {
    const line = bytes.subarray(begin, end).toString();
    const space = line.indexOf(' ');
    messages[Number(line.slice(0, space))]?.push(line.slice(space + 1));
    begin = end + 1;
  }
  return messages;
}

/** A page in Debian's Chromium. */
class ChromiumClient implements InteropClient {
  readonly name = 'Chromium';
  readonly tool = CHROMIUM;
  readonly choosesCompression = false;
  private browser: Browser | undefined;

  run(job: Job): RunningJob {
    const ready = new Gate();
    const messages = this.runInPage(job, ready.open);
    return { ready: Promise.race([ready.promise, messages.then(() => undefined)]), messages };
  }

  async stop(): Promise<void> {
    await this.browser?.close();
    this.browser = undefined;
  }

  private async runInPage(job: Job, onReady: () => void): Promise<string[][]> {
    this.browser ??= await launchChromium();
    const script = await readFile(`${FOLDER}job.mjs`, 'utf8');
    const server = createServer((request, response) => {
      const isScript = request.url === '/job.mjs';
      response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
      response.end(isScript ? script : '<!doctype html><title>interop</title>');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const page = await this.browser.newPage();
    try {
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await page.exposeFunction('onReady', onReady);
      const run = `import('/job.mjs').then(({ runJob }) => runJob(${JSON.stringify(job)}, () => { window.onReady(); }))`;
      return await page.evaluate<string[][]>(run);
    } finally {
      await page.close();
      server.close();
    }
  }
}

/** All of them, those that need a browser or Python last. */
export function interopClients(): InteropClient[] {
  return [
    new WsClient(),
    new ProgramClient('Node’s own WebSocket', false, [
      process.execPath,
      '--experimental-websocket',
      '--no-warnings',
      '--input-type=module',
      '--eval',
      NODE_CLIENT,
    ]),
    new ProgramClient(
      'Python’s websockets',
      true,
      [PYTHON_WEBSOCKETS.probe[0], `${FOLDER}python_client.py`],
      PYTHON_WEBSOCKETS,
    ),
    new ChromiumClient(),
  ];
}
