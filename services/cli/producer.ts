/** `revcast producer`: HTTP and sources into the log on NATS. */
import { logSettings, natsSettings } from '../log/settings.js';
import { startProducer } from '../producer/main.js';
import { producerSettings } from '../producer/settings.js';
import { ethereumSettings } from '../producer/sources/ethereum-settings.js';
import { configure, type Command } from './command.js';
import { listening } from './listen-problem.js';
import { processSettings } from './process-settings.js';
import { runService } from './run-service.js';
import { NEEDS_NATS, producerAddress, startEthereum, startLink, startLog } from './service-parts.js';

const settings = { ...producerSettings, ...ethereumSettings, ...natsSettings, ...logSettings, ...processSettings };

export const producer: Command = {
  name: 'producer',
  summary: 'take revisions over HTTP and from sources into the log',
  description:
    'Takes revisions over HTTP, and blocks from an Ethereum node where one is named, and appends them to the log on NATS.\n' +
    'Any number may run side by side.',
  operands: '',
  settings: [
    { title: 'Producer', settings: producerSettings },
    { title: 'Ethereum source', settings: ethereumSettings },
    { title: 'NATS', settings: natsSettings },
    { title: 'Log', settings: logSettings },
    { title: 'Process', settings: processSettings },
  ],
  examples: [
    'revcast producer --nats nats://127.0.0.1:4222',
    'revcast producer --nats nats://127.0.0.1:4222 --ethereum-url ws://127.0.0.1:8545',
  ],
  async run(input, context) {
    const values = configure(settings, input, context, { required: { nats: NEEDS_NATS } });
    const { clock } = context;
    return runService(values, context, async (scope) => {
      const link = startLink(scope, { settings: values, name: 'producer', clock });
      const log = startLog(scope, { settings: values, link, clock });
      const { logger, stack } = scope;
      const running = await listening(producerAddress(values), () =>
        startProducer({ settings: values, log, logger, clock }),
      );
      stack.add('producer', () => running.stop());
      startEthereum(scope, { settings: values, log, appender: running.appender, clock });
    });
  },
};
