/** A setting that names a room. */
import { z } from 'zod';
import { asError } from '../../shared/errors.js';
import { parseRoomName } from '../../shared/room-name.js';

export const roomSetting: z.ZodType<string> = z.string().transform((name, context) => {
  try {
    return parseRoomName(name);
  } catch (error) {
    context.addIssue({ code: 'custom', message: `must be a room name: ${asError(error).message}` });
    return z.NEVER;
  }
});
