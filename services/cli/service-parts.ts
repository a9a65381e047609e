/** What the commands that serve are made of: the connection to NATS, the log, addresses to listen on. */
import type { Clock } from '../shared/clock.js';
import type { Values } from '../shared/settings.js';
import { NatsLink } from '../log/jetstream/nats-link.js';
import type { Log, WholeLog } from '../log/log.js';
import { openLog } from '../log/open-log.js';
import type { logSettings, natsSettings } from '../log/settings.js';
import type { ListenAddress } from './listen-problem.js';
import type { ServiceScope } from './run-service.js';

/** Why `producer`, `revision` and `edge` need --nats. */
export const NEEDS_NATS = 'services in processes of their own meet there; "revcast dev" is everything in one process';

export function producerAddress(values: { producerHost: string; producerPort: number }): ListenAddress {
  const { producerHost: host, producerPort: port } = values;
  return { service: 'producer', host, port, hostSetting: 'producerHost', portSetting: 'producerPort' };
}

export function revisionAddress(values: { revisionHost: string; revisionPort: number }): ListenAddress {
  const { revisionHost: host, revisionPort: port } = values;
  return { service: 'revision service', host, port, hostSetting: 'revisionHost', portSetting: 'revisionPort' };
}

export function edgeAddress(values: { edgeHost: string; edgePort: number }): ListenAddress {
  const { edgeHost: host, edgePort: port } = values;
  return { service: 'edge', host, port, hostSetting: 'edgeHost', portSetting: 'edgePort' };
}

/** Connects in the background, for ever. */
export function startLink(
  { logger, stack }: ServiceScope,
  parts: { settings: Values<typeof natsSettings>; name: string; clock: Clock },
): NatsLink {
  const link = new NatsLink({ ...parts, logger });
  stack.add('connection to NATS', () => link.close());
  link.start();
  return link;
}

/** On NATS where there is a link, else in memory. */
export function startLog(
  { logger, stack }: ServiceScope,
  parts: { settings: Values<typeof logSettings>; link?: NatsLink | undefined; clock: Clock },
): Log & WholeLog {
  const log = openLog({ ...parts, logger });
  stack.add('log', () => log.close());
  return log;
}
