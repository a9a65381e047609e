/** Real servers, logs and connections that a test opens as it goes; they end with it, the last one first. */
import { onTestFinished } from 'vitest';
import type { NatsLink } from '../../services/log/jetstream/nats-link.js';
import { becomesReady, startJetStreamLog, testLink, type TestLog, type TestLogOptions } from './jetstream.js';
import { NatsServer } from './nats-server.js';
import { waitFor } from './wait-for.js';

type ServerOptions = Parameters<typeof NatsServer.start>[0];
type Server = Pick<NatsServer, 'url'>;

export async function startServer(options?: ServerOptions): Promise<NatsServer> {
  const server = await prepareServer(options);
  await server.start();
  return server;
}

/** Not started yet. */
export async function prepareServer(options?: ServerOptions): Promise<NatsServer> {
  const server = await NatsServer.prepare(options);
  onTestFinished(() => server.dispose());
  return server;
}

/** Returns when it is ready. */
export async function openLog(server: Server, options?: TestLogOptions): Promise<TestLog> {
  const opened = startLog(server, options);
  await becomesReady(opened.log);
  return opened;
}

/** Returns at once. */
export function startLog({ url }: Server, options?: TestLogOptions): TestLog {
  const opened = startJetStreamLog(url, options);
  onTestFinished(() => opened.close());
  return opened;
}

/** Returns when it is up. */
export async function connect(server: Server, options?: TestLogOptions): Promise<NatsLink> {
  const link = openLink(server, options);
  await waitFor(() => link.up, { what: 'the link is up' });
  return link;
}

/** Returns at once. */
export function openLink({ url }: Server, options?: TestLogOptions): NatsLink {
  const link = testLink(url, options);
  onTestFinished(() => link.close());
  link.start();
  return link;
}
