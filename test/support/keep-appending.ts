/** Appends distinct values with keys until told to stop, trying again what may be tried again, as a good producer does. */
import type { Appended, Log } from '../../services/log/log.js';
import { RevcastError } from '../../services/shared/errors.js';

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
      }
    }
  }
  return told;
}
