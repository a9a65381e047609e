import { headers } from 'nats';
import { encodeEntry } from '../../services/log/entry-codec.js';
import { STREAM, storedSubject } from '../../services/log/subjects.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';
import { data, one, type LogHarness } from './harness.js';
import { describeLogContract } from './log-contract.js';

const TIMEOUT_MS = 5_000;

async function startJetStream(): Promise<LogHarness> {
  const server = await NatsServer.start();
  const logs: TestLog[] = [];
  const open = async (options: Parameters<LogHarness['open']>[0] = {}): Promise<TestLog> => {
    const { clock, wrapStore, wrapSnapshots, ...settings } = options;
    const opened = await openJetStreamLog(server.url, {
      settings,
      ...(clock === undefined ? {} : { clock }),
      ...(wrapStore === undefined ? {} : { wrapStore }),
      ...(wrapSnapshots === undefined ? {} : { wrapSnapshots }),
    });
    logs.push(opened);
    return opened;
  };
  const admin = await open();
  const purge = async (request: object): Promise<void> => {
    await admin.link.request(`$JS.API.STREAM.PURGE.${STREAM}`, data(request), TIMEOUT_MS);
  };
  return {
    open: async (options) => (await open(options)).log,
    async removeHistory(room) {
      await purge({ filter: storedSubject(room) });
    },
    async openTrimmed(room, count, kept) {
      const { log } = await open();
      for (let i = 1; i <= count; i += 1) await log.append(room, one(i));
      await purge({ filter: storedSubject(room), keep: kept });
      return log;
    },
    /** Once with a wrong expectation, and once more as what the server takes for a repetition of an earlier message. */
    async publishRejected(entry, wrongSeq) {
      const { connection } = admin.link;
      if (connection === undefined) throw new Error('not connected');
      const expecting = headers();
      expecting.set('Nats-Expected-Last-Subject-Sequence', String(wrongSeq));
      connection.publish(storedSubject(entry.room), encodeEntry(entry), { headers: expecting });
      const repeating = headers();
      repeating.set('Nats-Msg-Id', 'repeated');
      await connection.request(storedSubject('elsewhere'), encodeEntry(entry), {
        headers: repeating,
        timeout: TIMEOUT_MS,
      });
      connection.publish(storedSubject(entry.room), encodeEntry(entry), { headers: repeating });
      await connection.flush();
    },
    async dispose() {
      for (const log of logs) await log.close();
      await server.dispose();
    },
  };
}

describeLogContract('JetStream', startJetStream);
