/** Appends distinct values with keys until told to stop, trying again what may be tried again, as a good producer does. */
import type { Appended, Log } from '../../services/log/log.js';
import { sleep, systemClock } from '../../services/shared/clock.js';
import { RevcastError } from '../../services/shared/errors.js';

const RETRY_MS = 5;
const CLOSED = 'the log is closed';

export interface Until {
  stop: boolean;
}

/** The answer that each value was given. */
export async function keepAppending(
  log: Pick<Log, 'append'>,
  room: string,
  name: string,
  until: Until,
): Promise<Map<string, Appended>> {
  const told = new Map<string, Appended>();
  for (let i = 0; !until.stop; i += 1) {
    const value = `${name}.${i}`;
    while (!told.has(value)) {
      try {
        const revisions = [{ data: Buffer.from(JSON.stringify(value)) }];
        told.set(value, await log.append(room, { revisions, key: value }));
      } catch (error) {
        if (!(error instanceof RevcastError && error.retryable)) throw error;
        if (error.message === CLOSED) throw error;
        // Nobody else would have a turn where every try is refused at once.
        await sleep(systemClock, RETRY_MS);
      }
    }
  }
  return told;
}
