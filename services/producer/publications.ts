/** Single publications, as edges ask for them: from a request's parts to an append. */
import type { Appended } from '../log/log.js';
import { compactJson } from '../shared/json-text.js';
import { parseRoomName } from '../shared/room-name.js';
import { checkName, type PlaceOf } from './append-limits.js';
import type { Appender } from './appender.js';
import type { Publication, Publisher } from './contract.js';

const placeOf: PlaceOf = (_index, property) => property;

/** How long an append may take is the log's own (APPEND_DEADLINE_MS). */
export class Publications implements Publisher {
  constructor(private readonly appender: Pick<Appender, 'append'>) {}

  async publish({ room, data, key, expectedRev }: Publication): Promise<Appended> {
    const name = parseRoomName(room);
    checkName('key', key);
    const append = {
      revisions: [{ data: compactJson(data) }],
      key,
      ...(expectedRev === undefined ? {} : { expectedRev }),
    };
    return this.appender.append(name, append, placeOf);
  }
}
