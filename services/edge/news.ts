/**
 * Subscriptions to news (Encoding.isNews): their clients know no positions, so one that cannot go on where it stood goes
 * on from the room's head, and one that is made again takes the place of the one before, at its cursor.
 */
import type { RevcastError } from '../shared/errors.js';
import { Member } from './member.js';
import type { RequestId } from './protocols/protocol.js';

/**
 * Subscribes anew a member that was removed because its history broke: in another history it is given the newest
 * revision, which it does not have; after revisions that are no longer kept it goes on with what comes.
 */
export function goOn(member: Member, { code }: RevcastError): void {
  const { session, room, id } = member;
  const head = room.position.rev;
  if (session.open) renew(member, id, code === 'epoch_changed' ? Math.max(0, head - 1) : head);
}

/** The same subscription under another id: nothing is lost or repeated, what comes has the new id. */
export function rename(member: Member, id: RequestId): void {
  const { session, cursor } = member;
  session.remove(member);
  renew(member, id, cursor);
}

/** With the answers that the member was not given yet. */
function renew({ session, room, batch, encoding, greeting }: Member, id: RequestId, cursor: number): void {
  const next = new Member(session, room, id, batch, encoding);
  next.greeting = greeting;
  session.add(next, cursor);
}
