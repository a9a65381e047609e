/** The producer's sources as settings name them. Their appends go through the producer's limits like all others. */
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Clock } from '../shared/clock.js';
import { asError } from '../shared/errors.js';
import type { Values } from '../shared/settings.js';
import type { Log } from '../log/log.js';
import type { Appender } from '../producer/appender.js';
import { ethereumSettings } from '../producer/sources/ethereum-settings.js';
import { EthereumSource } from '../producer/sources/ethereum-source.js';
import type { PadLog } from '../producer/sources/etherpad-room.js';
import { etherpadProblems, etherpadSettings } from '../producer/sources/etherpad-settings.js';
import { EtherpadSource } from '../producer/sources/etherpad-source.js';
import { ndjsonSettings } from '../producer/sources/ndjson-settings.js';
import { NdjsonSource } from '../producer/sources/ndjson-source.js';
import { CommandFailure, type SettingsGroup } from './command.js';
import type { ServiceScope } from './run-service.js';

const STDIN = '-';

export const sourceSettings = { ...ethereumSettings, ...etherpadSettings, ...ndjsonSettings };

export const sourceGroups: readonly SettingsGroup[] = [
  { title: 'Ethereum source', settings: ethereumSettings },
  { title: 'Etherpad source', settings: etherpadSettings },
  { title: 'NDJSON source', settings: ndjsonSettings },
];

export interface SourcesParts {
  readonly settings: Values<typeof sourceSettings>;
  readonly log: Log;
  readonly appender: Appender;
  readonly clock: Clock;
  readonly stdin: Readable;
}

/** What is wrong with values that are right one by one. */
export function sourceProblems(values: Values<typeof sourceSettings>): string[] {
  return etherpadProblems(values);
}

/** Starts those that have an address. Throws CommandFailure when a file cannot be read. */
export async function startSources(scope: ServiceScope, parts: SourcesParts): Promise<void> {
  const { ethereumUrl, etherpadUrl, ndjsonFile } = parts.settings;
  if (ndjsonFile !== undefined) startNdjson(scope, parts, await openInput(ndjsonFile, parts.stdin));
  if (ethereumUrl !== undefined) startEthereum(scope, parts, ethereumUrl);
  if (etherpadUrl !== undefined) startEtherpad(scope, parts, etherpadUrl);
}

function startEthereum({ logger, stack }: ServiceScope, parts: SourcesParts, ethereumUrl: string): void {
  const { settings, log, appender, clock } = parts;
  const source = new EthereumSource({
    settings: { ...settings, ethereumUrl },
    log: throughAppender(log, appender),
    logger,
    clock,
    onFault(error) {
      logger.error({ err: error, source: 'ethereum' }, 'the source has ended on a fault; everything else goes on');
    },
  });
  source.start();
  stack.add('ethereum source', () => source.stop());
}

/** One source for each pad: a fault of one leaves the others. */
function startEtherpad({ logger, stack }: ServiceScope, parts: SourcesParts, etherpadUrl: string): void {
  const { settings, log, appender, clock } = parts;
  const sources = settings.etherpadPads.map(
    (pad) =>
      new EtherpadSource({
        settings: { ...settings, etherpadUrl },
        pad,
        log: throughAppender(log, appender),
        logger,
        clock,
        onFault(error) {
          logger.error(
            { err: error, source: 'etherpad', ...pad },
            'the source has ended on a fault; everything else goes on',
          );
        },
      }),
  );
  for (const source of sources) source.start();
  stack.add('etherpad sources', async () => {
    await Promise.all(sources.map((source) => source.stop()));
  });
}

function startNdjson({ logger, stack }: ServiceScope, parts: SourcesParts, input: Readable): void {
  const { settings, log, appender, clock } = parts;
  const source = new NdjsonSource({ settings, input, log: throughAppender(log, appender), logger, clock });
  stack.add('ndjson source', () => source.stop());
  void source.done.then(({ error, ...report }) => {
    const told = { source: 'ndjson', ...report };
    if (error === undefined) logger.info(told, 'the source has ended');
    else logger.error({ ...told, err: error }, 'the source has ended; everything else goes on');
  });
}

async function openInput(file: string, stdin: Readable): Promise<Readable> {
  if (file === STDIN) return stdin;
  try {
    const handle = await open(file);
    // A folder can be opened, and fails only when it is read.
    if (!(await handle.stat()).isDirectory()) return handle.createReadStream();
    await handle.close();
  } catch (error) {
    throw new CommandFailure(`the NDJSON file cannot be read: ${asError(error).message}`, { cause: error });
  }
  throw new CommandFailure(`the NDJSON file ${file} is a folder`);
}

function throughAppender(log: Log, appender: Appender): PadLog {
  return {
    append: (room, append) => appender.append(room, append),
    heads: (rooms) => log.heads(rooms),
    range: (room, fromRev, options) => log.range(room, fromRev, options),
    snapshot: (room) => log.snapshot(room),
    putSnapshot: (room, snapshot) => log.putSnapshot(room, snapshot),
  };
}
