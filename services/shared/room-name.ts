/**
 * Room names: 1 to 200 bytes of well-formed UTF-8 without control characters, in Unicode normalization form C, so that
 * two spellings of one name are one room.
 */
import { RevcastError } from './errors.js';

export const MAX_ROOM_NAME_BYTES = 200;

// oxlint-disable-next-line no-control-regex -- control characters are what is refused here
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/u;

/** The room's name in normal form. Throws `invalid_room` when it is not a room name. */
export function parseRoomName(value: unknown): string {
  if (typeof value !== 'string') throw new RevcastError('invalid_room', 'a room name is a string');
  if (/\p{Surrogate}/u.test(value)) throw new RevcastError('invalid_room', 'the room name is not well-formed Unicode');
  const name = value.normalize('NFC');
  const bytes = Buffer.byteLength(name);
  if (bytes === 0) throw new RevcastError('invalid_room', 'the room name is empty');
  if (bytes > MAX_ROOM_NAME_BYTES) {
    throw new RevcastError(
      'invalid_room',
      `the room name has ${bytes} bytes, at most ${MAX_ROOM_NAME_BYTES} are allowed`,
    );
  }
  if (CONTROL.test(name)) throw new RevcastError('invalid_room', 'the room name has a control character');
  return name;
}
