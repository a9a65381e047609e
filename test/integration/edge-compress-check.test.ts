import { afterEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { once } from 'node:events';
import { pino } from 'pino';
import { compressOnceWorks } from '../../services/edge/compress-check.js';
import { startEdge, type Edge } from '../../services/edge/main.js';
import { edgeSettings } from '../../services/edge/settings.js';
import { MemoryLog } from '../../services/log/memory-log.js';
import { RevisionService } from '../../services/revision/service.js';
import { revisionSettings } from '../../services/revision/settings.js';
import { systemClock } from '../../services/shared/clock.js';
import { readSettings } from '../../services/shared/settings.js';

let edge: Edge | undefined;
afterEach(() => edge?.stop());

test('[F2] the installed uWebSockets.js sends what was compressed once', async () => {
  expect(await compressOnceWorks()).toBe(true);
});

test('[F2] where the build cannot, the edge says so in one line and sends uncompressed', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  const log = new MemoryLog({ clock: systemClock });
  edge = await startEdge({
    settings: readSettings(edgeSettings, { port: '0' }, {}),
    live: log,
    reader: new RevisionService({ log, clock: systemClock, settings: readSettings(revisionSettings, {}, {}) }),
    logger,
    clock: systemClock,
    compressOnce: () => Promise.resolve(false),
  });
  const socket = new WebSocket(`${edge.url.replace('http', 'ws')}/v1/ws`, { perMessageDeflate: true });
  await once(socket, 'open');
  expect(socket.extensions).toBe('');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('sending uncompressed');
  socket.terminate();
});
