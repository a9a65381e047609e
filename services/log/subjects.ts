/**
 * Subjects of the log. A room's entries are stored under rev.<partition>.<token> and republished, once committed, as
 * live.<partition>.<token>; hint.<partition>.<token> tells followers to look. The partition is there from day one so that one stream can later become several; the token
 * is the base64url of the room's name, so that any name is one subject token.
 */
export const STREAM = 'REVISIONS';
export const STORED_SUBJECTS = 'rev.>';
export const LIVE_SUBJECTS = 'live.>';
export const HINT_SUBJECTS = 'hint.>';
export const SNAPSHOT_STREAM = 'SNAPSHOTS';
export const SNAPSHOT_SUBJECTS = 'snap.>';
export const PARTITIONS = 16;

/** Stable across versions and machines: FNV-1a (32 bit) of the name's UTF-8, modulo 16. */
function partitionOf(room: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(room)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % PARTITIONS;
}

/** rev.<partition>.<token>: where the room's entries are stored. */
export function storedSubject(room: string): string {
  return `rev.${partitionOf(room)}.${Buffer.from(room).toString('base64url')}`;
}

/** snap.<partition>.<token>: where the room's newest snapshot is kept. */
export function snapshotSubject(room: string): string {
  return `snap.${partitionOf(room)}.${Buffer.from(room).toString('base64url')}`;
}

/** live.<partition>.<token>: where the room's committed entries are republished. */
export function liveSubject(room: string): string {
  return `live.${partitionOf(room)}.${Buffer.from(room).toString('base64url')}`;
}

/** hint.<partition>.<token>: where a producer says that followers should look at the room's head. */
export function hintSubject(room: string): string {
  return `hint.${partitionOf(room)}.${Buffer.from(room).toString('base64url')}`;
}

/** The stored subjects of all rooms of a partition. */
export function storedSubjects(partition: number): string {
  return `rev.${partition}.>`;
}

/** The room whose entries are stored there; undefined where it is no room's subject. */
export function roomOfStored(subject: string): string | undefined {
  const room = roomOfToken(subject);
  return storedSubject(room) === subject ? room : undefined;
}

/** The room that a hint is of; undefined where it is no room's subject. */
export function roomOfHint(subject: string): string | undefined {
  const room = roomOfToken(subject);
  return hintSubject(room) === subject ? room : undefined;
}

function roomOfToken(subject: string): string {
  return Buffer.from(subject.slice(subject.lastIndexOf('.') + 1), 'base64url').toString();
}
