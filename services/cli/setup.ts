/**
 * `revcast setup`: makes the streams of the log, for services whose NATS users may not. Runs until they are there as the
 * settings say, or the time is over: NATS may still be starting, its nodes still finding each other.
 */
import { JetStreamApi } from '../log/jetstream/api.js';
import { NatsLink } from '../log/jetstream/nats-link.js';
import {
  checkVersion,
  ensureStream,
  StreamRefused,
  wantedSnapshotStream,
  wantedStream,
} from '../log/jetstream/stream.js';
import { logSettings, natsSettings } from '../log/settings.js';
import { RevcastError } from '../shared/errors.js';
import { silentLogger } from '../shared/logger.js';
import { whole, type Values } from '../shared/settings.js';
import { CommandFailure, configure, EXIT, type Command, type CommandContext } from './command.js';
import { connectWithin } from './nats-connect.js';
import { sleepUnless } from './stopping.js';

const RETRY_MS = 500;
const NEEDS_NATS = 'the streams are made there';

const setupSettings = {
  setupTimeoutMs: {
    env: 'SETUP_TIMEOUT_MS',
    help: 'how long NATS, and a cluster of it that still forms, are waited for',
    parse: whole('ms', 100, 3_600_000),
    fallback: 60_000,
    value: 'ms',
  },
} as const;

const streamSettings = {
  logReplicas: logSettings.logReplicas,
  logMaxBytes: logSettings.logMaxBytes,
  logMaxSnapshotBytes: logSettings.logMaxSnapshotBytes,
  logMaxEntriesPerRoom: logSettings.logMaxEntriesPerRoom,
  logRequestTimeoutMs: logSettings.logRequestTimeoutMs,
} as const;

const settings = { ...setupSettings, ...natsSettings, ...streamSettings };
type SetupValues = Values<typeof settings>;

export const setup: Command = {
  name: 'setup',
  summary: 'make the streams of the log on NATS',
  description:
    'Makes the streams REVISIONS and SNAPSHOTS on NATS where they are missing, with the log settings that all services are\n' +
    'given. Needed where the services have NATS users that may not make streams (deploy/nats/users.conf): this runs as\n' +
    'the one who may. Streams that are there as wanted are left alone; with other settings they are told, and not changed.',
  operands: '',
  settings: [
    { title: 'Flags', settings: setupSettings },
    { title: 'NATS', settings: natsSettings },
    { title: 'Log', settings: streamSettings },
  ],
  examples: ['revcast setup --nats nats://127.0.0.1:4222 --nats-user admin --nats-inbox _INBOX_admin --log-replicas 3'],
  async run(input, context) {
    const values = configure(settings, input, context, { required: { nats: NEEDS_NATS } });
    const { clock, stdout } = context;
    const link = new NatsLink({ settings: values, name: 'setup', logger: silentLogger, clock });
    const api = new JetStreamApi(link, values.logRequestTimeoutMs);
    const deadline = clock.monotonic() + values.setupTimeoutMs;
    try {
      await connectWithin(values.setupTimeoutMs, link, context, values.nats);
      for (const name of await ensured(api, values, context, deadline)) {
        stdout.write(`stream ${name} is there, as the settings say\n`);
      }
      return EXIT.ok;
    } finally {
      api.close();
      await link.close();
    }
  },
};

/** The streams' names. Throws CommandFailure. */
async function ensured(
  api: JetStreamApi,
  values: SetupValues,
  { clock, stopping }: CommandContext,
  deadline: number,
): Promise<string[]> {
  for (;;) {
    try {
      const version = api.link.connection?.info?.version;
      if (version === undefined) throw new RevcastError('log_unavailable', 'the connection to NATS is lost');
      checkVersion(version, values.logReplicas);
      const wanted = [wantedStream(values), wantedSnapshotStream(values)];
      for (const stream of wanted) await ensureStream(api, stream);
      return wanted.map(({ name }) => name);
    } catch (error) {
      if (!(error instanceof RevcastError)) throw error;
      const over = clock.monotonic() >= deadline || stopping.aborted;
      if (over || error instanceof StreamRefused) throw new CommandFailure(error.message, { cause: error });
      await sleepUnless(stopping, clock, RETRY_MS);
    }
  }
}
