import { MemoryLog } from '../../services/log/memory-log.js';
import { MemoryStore } from '../../services/log/memory-store.js';
import { systemClock } from '../../services/shared/clock.js';
import { one, type LogHarness, type OpenOptions } from './harness.js';
import { describeLogContract } from './log-contract.js';

const MINUTE_MS = 60_000;

function open(store: MemoryStore, options: OpenOptions = {}): MemoryLog {
  const { appendDeadlineMs, keyWindowRevisions, keyWindowMinutes } = options;
  return new MemoryLog({
    clock: options.clock ?? systemClock,
    store,
    ...(options.wrapStore === undefined ? {} : { writeStore: options.wrapStore(store) }),
    ...(options.wrapSnapshots === undefined ? {} : { snapshotStore: options.wrapSnapshots(store.snapshots) }),
    settings: {
      ...(appendDeadlineMs === undefined ? {} : { appendDeadlineMs }),
      ...(keyWindowRevisions === undefined ? {} : { keyWindowRevisions }),
      ...(keyWindowMinutes === undefined ? {} : { keyWindowMs: keyWindowMinutes * MINUTE_MS }),
    },
  });
}

function startMemory(): Promise<LogHarness> {
  const store = new MemoryStore();
  const logs: MemoryLog[] = [];
  const opened = (log: MemoryLog): MemoryLog => {
    logs.push(log);
    return log;
  };
  return Promise.resolve({
    open: (options) => Promise.resolve(opened(open(store, options))),
    removeHistory(room) {
      store.removeHistory(room);
      return Promise.resolve();
    },
    async openTrimmed(room, count, kept) {
      const log = opened(open(new MemoryStore(kept)));
      for (let i = 1; i <= count; i += 1) await log.append(room, one(i));
      return log;
    },
    async publishRejected(entry, wrongSeq) {
      await store.put(entry, wrongSeq);
    },
    async dispose() {
      for (const log of logs) await log.close();
    },
  });
}

describeLogContract('memory', startMemory);
