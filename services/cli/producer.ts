/** `revcast producer`: HTTP and sources into the log on NATS. */
import { logSettings, natsSettings } from '../log/settings.js';
import { startProducer } from '../producer/main.js';
import { producerSettings } from '../producer/settings.js';
import { configure, type Command } from './command.js';
import { listening } from './listen-problem.js';
import { processSettings } from './process-settings.js';
import { runService } from './run-service.js';
import { NEEDS_NATS, producerAddress, startLink, startLog } from './service-parts.js';
import { sourceGroups, sourceProblems, sourceSettings, startSources } from './sources.js';

const settings = { ...producerSettings, ...sourceSettings, ...natsSettings, ...logSettings, ...processSettings };

export const producer: Command = {
  name: 'producer',
  summary: 'take revisions over HTTP and from sources into the log',
  description:
    'Takes revisions over HTTP, and blocks from an Ethereum node, pads from an Etherpad server and lines from a file\n' +
    'where they are named, and appends them to the log on NATS. Any number may run side by side.',
  operands: '',
  settings: [
    { title: 'Producer', settings: producerSettings },
    ...sourceGroups,
    { title: 'NATS', settings: natsSettings },
    { title: 'Log', settings: logSettings },
    { title: 'Process', settings: processSettings },
  ],
  examples: [
    'revcast producer --nats nats://127.0.0.1:4222',
    'revcast producer --nats nats://127.0.0.1:4222 --ethereum-url ws://127.0.0.1:8545',
    'revcast producer --nats nats://127.0.0.1:4222 --etherpad-url http://127.0.0.1:9001 --etherpad-pads notes',
    'revcast producer --nats nats://127.0.0.1:4222 --ndjson-file - --ndjson-room doc-1 --ndjson-raw < lines.ndjson',
  ],
  async run(input, context) {
    const values = configure(settings, input, context, {
      required: { nats: NEEDS_NATS },
      combinations: sourceProblems,
    });
    const { clock, stdin } = context;
    return runService(values, context, async (scope) => {
      const link = startLink(scope, { settings: values, name: 'producer', clock });
      const log = startLog(scope, { settings: values, link, clock });
      const { logger, stack, metrics } = scope;
      const running = await listening(producerAddress(values), () =>
        startProducer({ settings: values, log, link, logger, clock, metrics }),
      );
      stack.add('producer', () => running.stop());
      await startSources(scope, { settings: values, log, appender: running.appender, clock, stdin });
    });
  },
};
