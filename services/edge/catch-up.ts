/**
 * Catching up: members whose next revision has left the ring are sent pages until they are back in it. A member has at
 * most one page, asked for when its socket has taken the one before (Session does that); a page that is kept is given in
 * the same turn, and sent in a turn of its own.
 *
 * Members that need a page which is not there wait together: one wait per page, with one request and, when nobody can
 * answer, one timer, whatever the number of members. So thousands of stragglers cost an absent revision service a
 * request per page and round: RETRY_MIN_MS to RETRY_MAX_MS, with jitter. Limit: a wait for each page that an open member
 * needs, which is at most one a member.
 */
import { asError, RevcastError } from '../shared/errors.js';
import { sleep } from '../shared/clock.js';
import type { EdgeParts } from './edge-parts.js';
import type { Member } from './member.js';
import type { Page } from './page.js';
import type { PageAnswer } from './pages.js';
import { brokenError, type Room } from './room.js';

const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 2_000;

/** Members of a room that need the page which begins with `start`. */
interface PageWait {
  readonly room: Room;
  readonly epoch: string;
  readonly start: number;
  readonly members: Set<Member>;
}

export class CatchUp {
  private readonly waits = new Map<string, PageWait>();

  constructor(private readonly parts: Pick<EdgeParts, 'pages' | 'clock' | 'logger' | 'flusher' | 'counters'>) {}

  /** Pages that members wait for. */
  get waitCount(): number {
    return this.waits.size;
  }

  /** Gets the page with the member's next revision, and has its session written to when it is there. */
  request(member: Member): void {
    if (member.awaitedWith !== undefined) return;
    const { room, cursor } = member;
    const found = this.parts.pages.find(room.name, room.position.epoch, cursor + 1);
    if (found.kind === 'page') this.give(member, found.page);
    else this.await(member, found.start);
  }

  private await(member: Member, start: number): void {
    const { room } = member;
    const { epoch } = room.position;
    const name = `${start} ${epoch} ${room.name}`;
    const already = this.waits.get(name);
    const wait = already ?? { room, epoch, start, members: new Set<Member>() };
    wait.members.add(member);
    member.awaitedWith = wait.members;
    if (already !== undefined) return;
    this.waits.set(name, wait);
    this.run(name, wait).catch((error: unknown) => {
      this.parts.logger.fatal({ err: asError(error) }, 'catch-up failed');
      throw error;
    });
  }

  private give(member: Member, page: Page): void {
    const { room, session } = member;
    member.page = page;
    this.parts.flusher.resume(session);
    if (page.lastRev + 1 < room.ring.firstRev) this.parts.pages.readAhead(room.name, room.position.epoch, page);
  }

  private async run(name: string, wait: PageWait): Promise<void> {
    let pauseMs = RETRY_MIN_MS;
    for (;;) {
      const answer = await this.ask(wait, pauseMs === RETRY_MIN_MS);
      if (answer !== undefined) this.settle(wait, answer);
      if (wait.members.size > 0) {
        await sleep(this.parts.clock, pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS);
        this.releaseIdle(wait);
      }
      if (wait.members.size === 0) break;
    }
    this.waits.delete(name);
  }

  /** undefined: nobody can answer now, or whoever answered is at fault; another replica, or the same later, may not be. */
  private async ask({ room, epoch, start, members }: PageWait, isFirst: boolean): Promise<PageAnswer | undefined> {
    try {
      return await this.parts.pages.load(room.name, epoch, start);
    } catch (error) {
      if (!(error instanceof RevcastError)) throw error;
      const { code, message } = error;
      const about = { room: room.name, code, reason: message, members: members.size };
      if (isFirst) this.parts.logger.warn(about, 'room: a page cannot be fetched yet');
      else this.parts.logger.debug(about, 'room: a page cannot be fetched yet');
      return undefined;
    }
  }

  /** In a room of the policy `latest` members may have gone on without. */
  private releaseIdle(wait: PageWait): void {
    for (const member of wait.members) if (member.state !== 'catching-up') member.awaitNoLonger();
  }

  /** Releases the members for whom the answer settles what they wait for. */
  private settle(wait: PageWait, answer: PageAnswer): void {
    this.releaseIdle(wait);
    // The room finds out for all its members; these ask again until they were told, or the answer was a mistake.
    if (answer.kind === 'epoch_changed') {
      wait.room.look();
      return;
    }
    for (const member of wait.members) {
      if (answer.kind === 'truncated' && answer.firstRev > member.cursor + 1) {
        member.awaitNoLonger();
        member.session.endSubscription(member, brokenError('history_truncated', answer.head, answer.firstRev));
      } else if (answer.kind === 'page' && answer.page.get(member.cursor + 1) !== undefined) {
        member.awaitNoLonger();
        this.give(member, answer.page);
      } else this.moveOn(wait, member, answer);
    }
  }

  /** Its revision is in a page that begins later: behind this one, or with the oldest kept. (Or it is not there yet.) */
  private moveOn(wait: PageWait, member: Member, answer: Exclude<PageAnswer, { kind: 'epoch_changed' }>): void {
    const found = this.parts.pages.find(wait.room.name, wait.epoch, member.cursor + 1);
    if (found.kind === 'page') {
      member.awaitNoLonger();
      this.give(member, found.page);
      return;
    }
    const behind = answer.kind === 'page' && answer.page.isComplete ? answer.page.lastRev + 1 : found.start;
    const start = Math.max(found.start, behind);
    if (start === wait.start) return;
    member.awaitNoLonger();
    this.await(member, start);
  }
}
