/**
 * Answers requests, to inboxes only. Who asks names the subject of the answer, and NATS holds it against the permissions
 * of who answers: a producer may write to the log, so an edge that named `rev.…` would write there through it.
 */
import type { Msg } from 'nats';
import { asError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';

/** Inboxes (NATS_INBOX begins like that too), and what a server puts in their place between accounts. */
const INBOX = /^_(?:INBOX|R_)/u;
/** Of refused subjects the first is logged, and then one of so many. */
const REPEAT = 1_000;

export class Answerer {
  private refused = 0;

  constructor(private readonly logger: Logger) {}

  /** Whether the request can be answered. */
  accepts({ subject, reply = '' }: Pick<Msg, 'subject' | 'reply'>): boolean {
    if (INBOX.test(reply)) return true;
    if (reply === '') {
      this.logger.debug({ subject }, 'a request without a reply subject');
      return false;
    }
    if (this.refused % REPEAT === 0) {
      const fields = { code: 'reply_not_an_inbox', subject, reply, repeated: this.refused };
      this.logger.error(fields, 'a request names a subject for its answer that is no inbox; it is not answered');
    }
    this.refused += 1;
    return false;
  }

  answer(message: Msg, reply: Uint8Array): void {
    try {
      message.respond(reply);
    } catch (error) {
      // The connection is closed; the asker's own timeout tells it.
      this.logger.debug({ subject: message.subject, err: asError(error) }, 'an answer could not be sent');
    }
  }
}
