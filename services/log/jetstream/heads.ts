/**
 * The heads of many rooms, each from the stream's leader, pipelined: 1,000 rooms take about 50 ms. Each answer carries
 * the whole entry, so only MAX_UNDER_WAY are asked for at once.
 */
import { RevcastError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { headOf, type Head } from '../log.js';
import type { EntryReader } from './entry-reader.js';

const MAX_UNDER_WAY = 64;

/**
 * The confirmed head of each room, null where it has none. A room whose newest entry cannot be read is left out, and
 * logged: the others are not to suffer from it. Throws `log_unavailable`.
 */
export async function readHeads(
  reader: EntryReader,
  rooms: readonly string[],
  logger: Logger,
): Promise<ReadonlyMap<string, Head | null>> {
  const heads = new Map<string, Head | null>();
  const left = new Set(rooms).values();
  const work = async (): Promise<void> => {
    for (const room of left) {
      try {
        const newest = await reader.confirmedLast(room);
        heads.set(room, newest === null ? null : headOf(newest));
      } catch (error) {
        if (!(error instanceof RevcastError) || error.code !== 'internal') throw error;
        logger.error({ code: 'entry_unreadable', room, reason: error.message }, 'a head cannot be read');
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_UNDER_WAY, rooms.length) }, work));
  return heads;
}
