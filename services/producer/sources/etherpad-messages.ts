/** Etherpad's messages as a read-only client meets them: those that matter, checked; all others are told apart only. */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  changesetLengths,
  padRevision,
  padSnapshot,
  type PadRevision,
  type PadSnapshot,
} from '../../shared/pad-data.js';

/** One revision of a pad. */
export interface PadChange extends PadRevision {
  readonly rev: number;
  /** Length of the text before and after it. */
  readonly lengthBefore: number;
  readonly lengthAfter: number;
}

/** All of a pad at one revision. */
export interface PadContent extends PadSnapshot {
  readonly rev: number;
}

export type PadMessage =
  | { readonly kind: 'content'; readonly content: PadContent }
  /** Live, or what was missed. */
  | { readonly kind: 'change'; readonly change: PadChange }
  /** Nothing was missed. */
  | { readonly kind: 'no-changes' }
  /** The server will send nothing more on this connection, and why. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'malformed'; readonly what: string }
  | { readonly kind: 'other' };

const rev = z.int().min(0);
const clientVars = z.object({ data: z.object({ collab_client_vars: padSnapshot.extend({ rev }) }) });
const roomMessage = z.object({ data: z.object({ type: z.string(), noChanges: z.boolean().optional() }) });
const newChanges = z.object({ data: padRevision.extend({ newRev: rev }) });
const disconnect = z.object({ disconnect: z.string() });
const access = z.object({ accessStatus: z.string() });

export function parsePadMessage(payload: unknown): PadMessage {
  const type = z.object({ type: z.string() }).safeParse(payload).data?.type;
  if (type === 'CLIENT_VARS') return parseContent(payload);
  if (type === 'COLLABROOM') return parseRoomMessage(payload);
  const ended = disconnect.safeParse(payload).data?.disconnect;
  if (ended !== undefined) return { kind: 'refused', reason: `disconnected by Etherpad: ${shown(ended)}` };
  const refused = access.safeParse(payload).data?.accessStatus;
  if (refused !== undefined) return { kind: 'refused', reason: `Etherpad gives no access: ${shown(refused)}` };
  return { kind: 'other' };
}

/** Asks for the pad's content, or for what follows revision `after`. A fresh token each time: Etherpad allows one. */
export function clientReady(pad: string, after?: number): Readonly<Record<string, unknown>> {
  return {
    component: 'pad',
    type: 'CLIENT_READY',
    padId: pad,
    sessionID: '',
    password: null,
    // Its length behind "t." must be a multiple of four: 15 bytes are 20 characters.
    token: `t.${randomBytes(15).toString('base64url')}`,
    protocolVersion: 2,
    ...(after === undefined ? {} : { reconnect: true, client_rev: after }),
  };
}

function parseContent(payload: unknown): PadMessage {
  const vars = clientVars.safeParse(payload);
  if (!vars.success) return { kind: 'malformed', what: `CLIENT_VARS: ${problem(vars.error)}` };
  return { kind: 'content', content: vars.data.data.collab_client_vars };
}

function parseRoomMessage(payload: unknown): PadMessage {
  const message = roomMessage.safeParse(payload).data?.data;
  if (message?.type !== 'NEW_CHANGES' && message?.type !== 'CLIENT_RECONNECT') return { kind: 'other' };
  if (message.noChanges === true) return { kind: 'no-changes' };
  const changes = newChanges.safeParse(payload);
  if (!changes.success) return { kind: 'malformed', what: `${message.type}: ${problem(changes.error)}` };
  const { newRev, ...revision } = changes.data.data;
  const lengths = changesetLengths(revision.changeset);
  if (lengths === null) return { kind: 'malformed', what: `${message.type}: the changeset's lengths` };
  return {
    kind: 'change',
    change: { ...revision, rev: newRev, lengthBefore: lengths.before, lengthAfter: lengths.after },
  };
}

function problem(error: z.ZodError): string {
  const issue = error.issues[0];
  return issue === undefined ? 'not of the right form' : `${issue.path.join('.')} ${issue.message}`;
}

/** Of words that come from outside, so much is logged. */
function shown(word: string): string {
  return word.slice(0, 100);
}
