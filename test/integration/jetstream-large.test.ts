/** Reads of large entries, where the server keeps little for a connection that it cannot write to at once. */
import { afterEach, expect, test } from 'vitest';
import { lastRev } from '../../services/log/log.js';
import { openJetStreamLog, type TestLog } from '../support/jetstream.js';
import { NatsServer } from '../support/nats-server.js';

const ENTRIES = 40;
const ENTRY_BYTES = 900 * 1024;
const SMALL_ENTRIES = 100;
/** A thirtieth of the server's default, and of what one read of all these entries at once would be. */
const CONFIG = 'max_pending: 2MB';

let server: NatsServer | undefined;
let opened: TestLog | undefined;

afterEach(async () => {
  await opened?.close();
  await server?.dispose();
});

test('[L7] a range of large entries, behind many small ones, is read without the server cutting the reader off as slow', async () => {
  server = await NatsServer.start({ config: CONFIG });
  opened = await openJetStreamLog(server.url);
  const { log } = opened;
  for (let i = 0; i < SMALL_ENTRIES; i += 1) await log.append('doc', { revisions: [{ data: Buffer.from('1') }] });
  const large = Buffer.from(JSON.stringify('x'.repeat(ENTRY_BYTES)));
  for (let i = 0; i < ENTRIES; i += 1) await log.append('doc', { revisions: [{ data: large }] });
  const range = await log.range('doc', 1, { limit: 1_000, maxBytes: 1024 * 1024 * 1024 });
  if (range.kind !== 'entries') throw new Error(`the range is ${range.kind}`);
  expect(range.entries.map((entry) => lastRev(entry))).toEqual(
    Array.from({ length: SMALL_ENTRIES + ENTRIES }, (_, i) => i + 1),
  );
  expect(await server.readLog()).not.toContain('Slow Consumer');
});
