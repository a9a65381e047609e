/** `revcast revision`: what the log knows, for edges over NATS and for people over HTTP. */
import { logSettings, natsSettings } from '../log/settings.js';
import { startRevision } from '../revision/main.js';
import { revisionSettings } from '../revision/settings.js';
import { configure, type Command } from './command.js';
import { listening } from './listen-problem.js';
import { processSettings } from './process-settings.js';
import { runService } from './run-service.js';
import { NEEDS_NATS, revisionAddress, startLink, startLog } from './service-parts.js';

const settings = { ...revisionSettings, ...natsSettings, ...logSettings, ...processSettings };

export const revision: Command = {
  name: 'revision',
  summary: 'answer heads and ranges of the log to edges and people',
  description:
    'Answers heads and ranges of the log, to edges over NATS and to people over HTTP. It follows the log and keeps its end\n' +
    'in memory, nothing that cannot be read again: any number may run side by side, and each request is answered by one.',
  operands: '',
  settings: [
    { title: 'Revision service', settings: revisionSettings },
    { title: 'NATS', settings: natsSettings },
    { title: 'Log', settings: logSettings },
    { title: 'Process', settings: processSettings },
  ],
  examples: ['revcast revision --nats nats://127.0.0.1:4222'],
  async run(input, context) {
    const values = configure(settings, input, context, { required: { nats: NEEDS_NATS } });
    const { clock } = context;
    return runService(values, context, async (scope) => {
      const link = startLink(scope, { settings: values, name: 'revision', clock });
      const log = startLog(scope, { settings: values, link, clock });
      const { logger, stack, metrics } = scope;
      const running = await listening(revisionAddress(values), () =>
        startRevision({ settings: values, log, whole: log, link, logger, clock, metrics }),
      );
      stack.add('revision service', () => running.stop());
    });
  },
};
