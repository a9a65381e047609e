/**
 * Which room a pad is in: a template such as `pad:{pad}`, with the pad's name once in it (EDGE_ETHERPAD_ROOMS). The
 * Etherpad source publishes to `pad:NAME` unless another room is named for a pad.
 */
import { parseRoomName } from '../../shared/room-name.js';

const PLACE = '{pad}';

/** What is wrong with a template; undefined: nothing. */
export function templateProblem(template: string): string | undefined {
  if (template === '') return undefined;
  return template.split(PLACE).length === 2 ? undefined : `must have ${PLACE} in it once`;
}

export class PadRooms {
  private readonly before: string;
  private readonly behind: string;

  /** @param template one without a problem */
  constructor(template: string) {
    const at = template.indexOf(PLACE);
    this.before = template.slice(0, at);
    this.behind = template.slice(at + PLACE.length);
  }

  /** The room of the pad. Throws `invalid_room` for what is no pad's name. */
  roomOf(pad: unknown): string {
    // An empty one would be found in no list of pads.
    return parseRoomName(typeof pad === 'string' && pad !== '' ? `${this.before}${pad}${this.behind}` : '');
  }

  /** The pad whose room this is, as its room spells it. */
  padOf(room: string): string {
    return room.slice(this.before.length, room.length - this.behind.length);
  }
}
