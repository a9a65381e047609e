/** A JetStream log on a test server, as a process of its own would open it: with its own connection. */
import type { EntryStore } from '../../services/log/entry-store.js';
import { JetStreamLog } from '../../services/log/jetstream/jetstream-log.js';
import { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { logSettings, natsSettings } from '../../services/log/settings.js';
import type { SnapshotStore } from '../../services/log/snapshot-store.js';
import { systemClock, type Clock } from '../../services/shared/clock.js';
import { silentLogger, type Logger } from '../../services/shared/logger.js';
import { readSettings, type Values } from '../../services/shared/settings.js';
import { waitFor } from './wait-for.js';

export interface TestLogOptions {
  readonly settings?: Partial<Values<typeof logSettings>>;
  readonly nats?: Partial<Values<typeof natsSettings>>;
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly wrapStore?: (store: EntryStore) => EntryStore;
  readonly wrapSnapshots?: (store: SnapshotStore) => SnapshotStore;
}

export interface TestLog {
  readonly log: JetStreamLog;
  readonly link: NatsLink;
  close(): Promise<void>;
}

const TEST_SETTINGS = { logMaxBytes: 1024 * 1024 * 1024 };

export function testLink(url: string, options: TestLogOptions = {}): NatsLink {
  return new NatsLink({
    settings: { ...readSettings(natsSettings, { nats: url }, {}), ...options.nats },
    name: 'test',
    logger: options.logger ?? silentLogger,
    clock: options.clock ?? systemClock,
  });
}

/** Opens it and returns at once. */
export function startJetStreamLog(url: string, options: TestLogOptions = {}): TestLog {
  const link = testLink(url, options);
  const log = new JetStreamLog({
    link,
    settings: { ...readSettings(logSettings, {}, {}), ...TEST_SETTINGS, ...options.settings },
    clock: options.clock ?? systemClock,
    logger: options.logger ?? silentLogger,
    ...(options.wrapStore === undefined ? {} : { wrapStore: options.wrapStore }),
    ...(options.wrapSnapshots === undefined ? {} : { wrapSnapshots: options.wrapSnapshots }),
  });
  link.start();
  return {
    log,
    link,
    async close() {
      await log.close();
      await link.close();
    },
  };
}

/** Opens it and waits until it is ready. */
export async function openJetStreamLog(url: string, options: TestLogOptions = {}): Promise<TestLog> {
  const opened = startJetStreamLog(url, options);
  await becomesReady(opened.log);
  return opened;
}

export async function becomesReady(log: JetStreamLog): Promise<void> {
  await waitFor(() => log.status().state === 'ready', { timeoutMs: 20_000, what: 'the log is ready' });
}

/** What JetStream's interface answers: `STREAM.INFO.NAME` and the like. */
export async function streamApi(link: NatsLink, verb: string, body: object = {}): Promise<Record<string, unknown>> {
  const answer = await link.request(`$JS.API.${verb}`, Buffer.from(JSON.stringify(body)), 5_000);
  return JSON.parse(Buffer.from(answer).toString()) as Record<string, unknown>;
}
