/**
 * Says loudly what the NATS server refuses: a subject that this user may not publish or subscribe to, or the user
 * itself. A service with wrong permissions half works, and what is refused without a reply subject (an answer, a hint)
 * fails nowhere else. Each is said at its first time and then once in REPEAT_MS, with how often it came meanwhile.
 * Limits: MAX_KNOWN different ones are told apart; beyond that they are told as one, under "others".
 */
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';

const REPEAT_MS = 60_000;
const MAX_KNOWN = 256;
const PERMISSION = 'PERMISSIONS_VIOLATION';
/** There is one for each room, or for each request: told as one. */
const MANY = /^(?:live|rev|hint|snap|_INBOX[^.]*)\./u;
/** Of the user, whatever it wants. */
const OF_USER = new Set([
  'AUTHORIZATION_VIOLATION',
  'AUTHENTICATION_EXPIRED',
  'ACCOUNT_EXPIRED',
  'AUTHENTICATION_TIMEOUT',
  'BAD_AUTHENTICATION',
]);

interface Refused {
  readonly operation: string;
  readonly subject: string;
}

interface Known {
  toldAt: number;
  untold: number;
}

export class Refusals {
  private readonly known = new Map<string, Known>();

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  /** What the connection reported: a code of the client, and for a permission what it is of. */
  report(code: string, refused?: Refused): void {
    if (code === PERMISSION) {
      const { operation = 'something', subject = '(unknown)' } = refused ?? {};
      const told = MANY.test(subject) ? `${subject.slice(0, subject.indexOf('.'))}.>` : subject;
      const fields = { code: 'nats_not_permitted', operation, subject: told, example: subject };
      this.tell(`${operation} ${told}`, fields, PERMISSION_HINT);
    } else if (OF_USER.has(code)) {
      this.tell(code, { code: 'nats_user_refused', reason: code }, USER_HINT);
    } else {
      this.logger.warn({ code }, 'NATS reported an error');
    }
  }

  /** Whether connecting failed because NATS does not take this user; then it has been told. */
  isOfUser(error: Error): boolean {
    const code = 'code' in error ? String(error.code) : '';
    if (!OF_USER.has(code)) return false;
    this.report(code);
    return true;
  }

  private tell(key: string, fields: object, message: string): void {
    const known = this.knownAs(key);
    const now = this.clock.monotonic();
    if (now - known.toldAt < REPEAT_MS) {
      known.untold += 1;
      return;
    }
    this.logger.error({ ...fields, repeated: known.untold }, message);
    known.toldAt = now;
    known.untold = 0;
  }

  private knownAs(key: string): Known {
    const name = this.known.has(key) || this.known.size < MAX_KNOWN ? key : 'others';
    const known = this.known.get(name) ?? { toldAt: Number.NEGATIVE_INFINITY, untold: 0 };
    this.known.set(name, known);
    return known;
  }
}

const PERMISSION_HINT = "NATS does not permit this user what the service needs; compare the server's users.conf";
const USER_HINT = 'NATS does not take this user; trying again: check NATS_USER and its password, or the credentials';
