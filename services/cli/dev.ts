/**
 * `revcast dev`: everything in one process, on the log in memory unless NATS is named. With --anvil it brings a local
 * Ethereum node along, so that there is something to see.
 */
import { logSettings, natsSettings } from '../log/settings.js';
import { startEdge } from '../edge/main.js';
import type { EdgeSettings } from '../edge/settings.js';
import type { Publisher } from '../producer/contract.js';
import { startProducer } from '../producer/main.js';
import { producerSettings } from '../producer/settings.js';
import { startRevision } from '../revision/main.js';
import type { RevisionReader } from '../revision/contract.js';
import { revisionSettings } from '../revision/settings.js';
import { toggle, whole, type Values } from '../shared/settings.js';
import { startAnvil } from './anvil.js';
import { configure, type Command, type CommandContext } from './command.js';
import { devBanner } from './dev-banner.js';
import { edgeFlags, edgeValues } from './edge-flags.js';
import { allListening, listening } from './listen-problem.js';
import { processSettings } from './process-settings.js';
import { runService, type ServiceScope } from './run-service.js';
import {
  edgeProblems,
  edgeAddress,
  edgeStopMs,
  producerAddress,
  revisionAddress,
  startLink,
  startLog,
} from './service-parts.js';
import { sourceGroups, sourceProblems, sourceSettings, startSources } from './sources.js';

const devProcessSettings = { ...processSettings, logPretty: { ...processSettings.logPretty, fallback: true } } as const;

const anvilSettings = {
  anvil: {
    env: 'DEV_ANVIL',
    help: 'start a local Ethereum node (anvil), publish its blocks, and stop it at the end',
    parse: toggle,
    fallback: false,
  },
  anvilPort: {
    env: 'DEV_ANVIL_PORT',
    help: 'port of that node; 0: any free one',
    parse: whole('port', 0, 65_535),
    fallback: 0,
    value: 'port',
  },
  anvilBlockSeconds: {
    env: 'DEV_ANVIL_BLOCK_SECONDS',
    help: 'seconds from block to block of that node',
    parse: whole('seconds', 1, 3_600),
    fallback: 1,
    value: 'seconds',
  },
} as const;

const settings = {
  ...anvilSettings,
  ...sourceSettings,
  ...natsSettings,
  ...logSettings,
  ...edgeFlags,
  ...producerSettings,
  ...revisionSettings,
  ...devProcessSettings,
};
type DevValues = Values<typeof settings>;

export const dev: Command = {
  name: 'dev',
  summary: 'run everything in one process',
  description:
    'Runs an edge, a producer and a revision service in one process, and prints lines to copy.\n' +
    'The log is in memory, so nothing survives the process, unless a NATS server is named with --nats.',
  operands: '',
  settings: [
    { title: 'Local Ethereum node', settings: anvilSettings },
    ...sourceGroups,
    { title: 'NATS', settings: natsSettings },
    { title: 'Log', settings: logSettings },
    { title: 'Edge', settings: edgeFlags },
    { title: 'Producer', settings: producerSettings },
    { title: 'Revision service', settings: revisionSettings },
    { title: 'Process', settings: devProcessSettings },
  ],
  examples: ['revcast dev', 'revcast dev --anvil', 'revcast dev --nats nats://127.0.0.1:4222'],
  async run(input, context) {
    const values = configure(settings, input, context, { combinations });
    return runService(values, context, (scope) => start(values, scope, context));
  },
};

/** --anvil is a node, --ethereum-url names another: which one is meant? */
function combinations(values: DevValues): string[] {
  const both = values.anvil && values.ethereumUrl !== undefined;
  const node = both ? ['--anvil and --ethereum-url (ETHEREUM_URL) exclude each other'] : [];
  return [...node, ...sourceProblems(values), ...edgeProblems(values)];
}

async function start(values: DevValues, scope: ServiceScope, { clock, stdin, stdout }: CommandContext): Promise<void> {
  const { logger, stack, metrics } = scope;
  const link = values.nats.length === 0 ? undefined : startLink(scope, { settings: values, name: 'dev', clock });
  const log = startLog(scope, { settings: values, link, clock });

  const producer = listening(producerAddress(values), async () => {
    const running = await startProducer({ settings: values, log, link, logger, clock, metrics });
    stack.add('producer', () => running.stop());
    return running;
  });
  const revision = listening(revisionAddress(values), async () => {
    const running = await startRevision({
      settings: values,
      log,
      whole: link === undefined ? undefined : log,
      link,
      logger,
      clock,
      metrics,
    });
    stack.add('revision service', () => running.stop());
    return running;
  });
  // All three begin at once, so that every port that is in use is told of at once.
  const reader: RevisionReader = {
    heads: async (known) => (await revision).reader.heads(known),
    range: async (query) => (await revision).reader.range(query),
    snapshot: async (room) => (await revision).reader.snapshot(room),
  };
  const publisher: Publisher = { publish: async (...asked) => (await producer).publisher.publish(...asked) };
  const edgeSettings = withBlocks(edgeValues(values), values);
  const edge = listening(edgeAddress(values), async () => {
    const running = await startEdge({ settings: edgeSettings, live: log, reader, publisher, logger, clock, metrics });
    stack.add('edge', () => running.stop(), edgeStopMs(values));
    return running;
  });
  const [running, { url: revisionUrl }, { url: edgeUrl }] = await allListening([producer, revision, edge]);

  const node = values.anvil ? await startNode(values, scope) : values.ethereumUrl;
  const source = { ...values, ethereumUrl: node };
  await startSources(scope, { settings: source, log, appender: running.appender, clock, stdin });
  stdout.write(
    devBanner({
      edgeUrl,
      producerUrl: running.url,
      revisionUrl,
      nats: values.nats,
      ...(node === undefined ? {} : { node: { url: node, room: values.ethereumRoom } }),
      ...(edgeSettings.blockbookRoom === '' ? {} : { blockbookRoom: edgeSettings.blockbookRoom }),
    }),
  );
}

/** Where a node's blocks are published, clients of Blockbook are served with them. */
function withBlocks(edge: EdgeSettings, { anvil, ethereumUrl, ethereumRoom }: DevValues): EdgeSettings {
  if (edge.blockbookRoom !== '' || !(anvil || ethereumUrl !== undefined)) return edge;
  return { ...edge, blockbookRoom: ethereumRoom, blockbookTestnet: edge.blockbookTestnet || anvil };
}

/** The URL of a node of our own. It is stopped after the source that reads it. */
async function startNode(values: DevValues, { logger, stack }: ServiceScope): Promise<string> {
  const anvil = await startAnvil({ port: values.anvilPort, blockSeconds: values.anvilBlockSeconds, logger });
  stack.add('anvil', () => anvil.stop());
  return anvil.url;
}
