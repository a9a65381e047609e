/**
 * Catching up: members whose next revision has left the ring are sent pages until they are back in it. A member has at
 * most one page, asked for when it has been sent the one before; so a straggler holds a reference to a shared page and
 * nothing else.
 */
import { asError, RevcastError } from '../shared/errors.js';
import { sleep } from '../shared/clock.js';
import type { EdgeParts } from './edge-parts.js';
import type { Member } from './member.js';
import type { PageAnswer } from './pages.js';
import { brokenError } from './room.js';

const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 2_000;

export class CatchUp {
  constructor(private readonly parts: Pick<EdgeParts, 'pages' | 'clock' | 'logger' | 'flusher'>) {}

  /** Gets the page with the member's next revision, and has its session written to when it is there. */
  request(member: Member): void {
    if (member.awaitsPage) return;
    member.awaitsPage = true;
    this.fetch(member).catch((error: unknown) => {
      this.parts.logger.fatal({ err: asError(error) }, 'catch-up failed');
      throw error;
    });
  }

  private async fetch(member: Member): Promise<void> {
    const { room } = member;
    let wait = RETRY_MIN_MS;
    for (;;) {
      const { generation } = room;
      const answer = await this.ask(member);
      // The member left, or was told that the room's history broke.
      if (member.state === 'closed' || room.generation !== generation) return;
      if (answer !== undefined && this.take(member, answer)) return;
      await sleep(this.parts.clock, wait * (0.5 + Math.random()));
      wait = Math.min(wait * 2, RETRY_MAX_MS);
    }
  }

  /** undefined: nobody can answer now, or whoever answered is at fault; another replica, or the same later, may not be. */
  private async ask(member: Member): Promise<PageAnswer | undefined> {
    try {
      const { room } = member;
      return await this.parts.pages.containing(room.name, room.position.epoch, member.cursor + 1);
    } catch (error) {
      if (!(error instanceof RevcastError)) throw error;
      const { code, message } = error;
      this.parts.logger.warn({ room: member.room.name, code, reason: message }, 'room: a page cannot be fetched yet');
      return undefined;
    }
  }

  /** Whether the answer settles the request. */
  private take(member: Member, answer: PageAnswer): boolean {
    const { room, session } = member;
    switch (answer.kind) {
      case 'page':
        // A reader that is behind the ring has not seen the revision yet.
        if (answer.page.slots.length === 0) return false;
        member.awaitsPage = false;
        // In a room of the policy `latest` it may have gone on without.
        if (member.state !== 'catching-up') return true;
        member.page = answer.page;
        this.parts.flusher.resume(session);
        return true;
      case 'truncated':
        session.endSubscription(member, brokenError('history_truncated', answer.head, answer.firstRev));
        return true;
      case 'epoch_changed':
        // The room finds out for all its members; this one asks again until it was told, or the answer was a mistake.
        room.look();
        return false;
    }
  }
}
