/** What a test needs to run an Ethereum source: short waits, its faults, and its log lines. */
import { pino } from 'pino';
import { EthereumSource } from '../../services/producer/sources/ethereum-source.js';
import { ethereumSettings, type EthereumValues } from '../../services/producer/sources/ethereum-settings.js';
import type { SourceLog } from '../../services/producer/sources/source.js';
import { systemClock } from '../../services/shared/clock.js';
import { readSettings } from '../../services/shared/settings.js';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface StartedSource {
  readonly source: EthereumSource;
  readonly faults: readonly Error[];
  readonly lines: readonly LogLine[];
}

/** Starts a source with waits of milliseconds instead of seconds. */
export function startSource(url: string, log: SourceLog, settings: Partial<EthereumValues> = {}): StartedSource {
  const faults: Error[] = [];
  const lines: LogLine[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line) as LogLine) });
  const source = new EthereumSource({
    settings: {
      ...readSettings(ethereumSettings, {}, {}),
      ethereumUrl: url,
      ethereumPollMs: 1_000,
      ethereumTimeoutMs: 2_000,
      ...settings,
    },
    log,
    logger,
    clock: systemClock,
    onFault: (fault) => faults.push(fault),
    retry: { firstMs: 10, maxMs: 200 },
  });
  source.start();
  return { source, faults, lines };
}
