/**
 * Ranges that are read from the log itself, not from memory: so many at once, and twenty times as many waiting; one more is
 * refused with `overloaded`. So a storm of different old pages costs the log no more than a steady load.
 */
import { Slots } from '../log/jetstream/slots.js';
import type { Log, Range, RangeOptions } from '../log/log.js';
import type { RevisionCounters } from './counters.js';

const WAITING_PER_READ = 20;

export class LogReads implements Pick<Log, 'range'> {
  private readonly slots: Slots;

  constructor(
    private readonly log: Pick<Log, 'range'>,
    private readonly counters: RevisionCounters,
    atOnce: number,
  ) {
    this.slots = new Slots(atOnce, atOnce * WAITING_PER_READ);
  }

  range(room: string, fromRev: number | 'first', options: RangeOptions): Promise<Range> {
    return this.slots.run(() => {
      this.counters.logReads += 1;
      return this.log.range(room, fromRev, options);
    });
  }
}
