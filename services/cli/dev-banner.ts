/** What `revcast dev` prints when all is up: where everything is, and lines to copy into another terminal. */
import { publishSettings, tailSettings } from './client-settings.js';

export interface DevAddresses {
  readonly edgeUrl: string;
  readonly producerUrl: string;
  readonly revisionUrl: string;
  /** Servers; none: the log is in memory. */
  readonly nats: readonly string[];
  /** The Ethereum node whose blocks are published, and to which room. */
  readonly node?: { readonly url: string; readonly room: string };
  /** The room whose blocks clients of Blockbook are served. */
  readonly blockbookRoom?: string;
}

export function devBanner(addresses: DevAddresses): string {
  const { edgeUrl, producerUrl, revisionUrl, nats, node, blockbookRoom } = addresses;
  const socketUrl = `${edgeUrl.replace(/^http/u, 'ws')}/v1/ws`;
  const log = nats.length === 0 ? 'in memory: nothing survives this process' : nats.map(withoutSecrets).join(', ');
  const tailFlag = socketUrl === `${tailSettings.url.fallback}/v1/ws` ? '' : ` --url ${socketUrl}`;
  const publishFlag = producerUrl === publishSettings.url.fallback ? '' : ` --url ${producerUrl}`;
  const listed: [string, string][] = [
    ['edge', socketUrl],
    ['producer', producerUrl],
    ['revisions', revisionUrl],
    ['log', log],
  ];
  if (blockbookRoom !== undefined) listed.push(['blockbook', `${edgeUrl}, the blocks of room ${blockbookRoom}`]);
  if (node !== undefined) listed.push(['node', `${withoutSecrets(node.url)}, its blocks go to room ${node.room}`]);
  const lines: [string, string][] = [
    [`npx revcast tail doc-1${tailFlag}`, 'follow a room'],
    [`npx revcast publish doc-1 '{"text":"hello"}'${publishFlag}`, 'publish to it'],
    [`curl -s ${revisionUrl}/v1/rooms/doc-1`, 'where it stands'],
  ];
  if (node !== undefined) lines.unshift([`npx revcast tail ${shellWord(node.room)}${tailFlag}`, 'follow the blocks']);
  return [
    '',
    'revcast is up',
    '',
    ...listed.map(([name, text]) => `  ${name.padEnd(10)} ${text}`),
    '',
    'Copy into another terminal:',
    '',
    ...lines.map(([line, what]) => `  ${line.padEnd(widest(lines))}  # ${what}`),
    '',
    'Ctrl-C stops everything.',
    '',
    '',
  ].join('\n');
}

function widest(lines: readonly (readonly [string, string])[]): number {
  return Math.max(...lines.map(([line]) => line.length));
}

function withoutSecrets(address: string): string {
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href.replace(/\/$/u, '');
}

function shellWord(word: string): string {
  return /^[\w.-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
