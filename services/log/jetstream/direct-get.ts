/** Answers of JetStream's direct get: a message of the stream as it is, with its place in the headers. */
import type { Msg } from 'nats';
import { RevcastError } from '../../shared/errors.js';

const NO_MESSAGE = 404;
const SERVER_ERROR = 400;

/** The message's seq and data, which are the network client's; null where there is none. Throws `log_unavailable`. */
export function directData(answer: Msg): { readonly seq: number; readonly data: Uint8Array } | null {
  const status = answer.headers?.code ?? 0;
  if (status === NO_MESSAGE) return null;
  if (status >= SERVER_ERROR) {
    const description = answer.headers?.description ?? 'an error';
    throw new RevcastError('log_unavailable', `NATS answered: ${description} (${status})`);
  }
  return { seq: Number(answer.headers?.get('Nats-Sequence')), data: answer.data };
}
