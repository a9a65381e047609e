/** Rooms of the edge under test. Their names are of one length, so that messages are too. */
export const SINGLE_ROOM = 'each';
export const BATCH_ROOM = 'many';
