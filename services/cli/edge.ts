/** `revcast edge`: the log's live half and the revision service, for WebSocket clients. */
import { openLiveLog } from '../log/open-log.js';
import { natsSettings } from '../log/settings.js';
import { startEdge } from '../edge/main.js';
import { ProducerClient, producerClientSettings } from '../producer/rpc-client.js';
import { RevisionClient, revisionClientSettings } from '../revision/rpc-client.js';
import { configure, type Command } from './command.js';
import { edgeFlags, edgeValues } from './edge-flags.js';
import { runWorkers, workerSettings } from './edge-workers.js';
import { listening } from './listen-problem.js';
import { processSettings } from './process-settings.js';
import { runService } from './run-service.js';
import { addLogMetrics, edgeAddress, edgeProblems, edgeStopMs, NEEDS_NATS, startLink } from './service-parts.js';

const settings = {
  ...workerSettings,
  ...edgeFlags,
  ...revisionClientSettings,
  ...producerClientSettings,
  ...natsSettings,
  ...processSettings,
};

export const edge: Command = {
  name: 'edge',
  summary: 'serve WebSocket clients',
  description:
    'Serves WebSocket clients: follows their rooms on NATS and asks the revision service for what is older.\n' +
    'Keeps nothing that cannot be rebuilt: any number may run side by side behind a load balancer.',
  operands: '',
  settings: [
    { title: 'Worker processes', settings: workerSettings },
    { title: 'Edge', settings: edgeFlags },
    { title: 'Revision service', settings: revisionClientSettings },
    { title: 'Publishing by clients', settings: producerClientSettings },
    { title: 'NATS', settings: natsSettings },
    { title: 'Process', settings: processSettings },
  ],
  examples: [
    'revcast edge --nats nats://127.0.0.1:4222',
    'revcast edge --nats nats://127.0.0.1:4222 --edge-port 8090',
    'revcast edge --nats nats://127.0.0.1:4222 --workers 4',
  ],
  async run(input, context) {
    const values = configure(settings, input, context, { required: { nats: NEEDS_NATS }, combinations: edgeProblems });
    if (values.workers > 1) return runWorkers(values, input, context);
    const { clock } = context;
    return runService(values, context, async (scope) => {
      const { logger, stack, metrics } = scope;
      const link = startLink(scope, { settings: values, name: 'edge', clock });
      const live = openLiveLog({ link, logger, clock });
      stack.add('live log', () => live.close());
      addLogMetrics(metrics, live);
      const reader = new RevisionClient({ link, settings: values, clock });
      const publisher = new ProducerClient({ link, settings: values, clock });
      const running = await listening(edgeAddress(values), () =>
        startEdge({ settings: edgeValues(values), live, reader, publisher, logger, clock, metrics }),
      );
      stack.add('edge', () => running.stop(), edgeStopMs(values));
    });
  },
};
