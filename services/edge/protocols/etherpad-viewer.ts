/**
 * What one viewer of a pad says, and what it is answered at once (SPEC.md, K rules):
 *
 *   probing ──upgrade──▶ connected ──CLIENT_READY──▶ viewing          any ──refusal, malformed packet──▶ ended
 *   open ──CONNECT─────▶ connected
 *
 * probing: opened by polling (engine-endpoint.ts), and looks whether the WebSocket works. open: the WebSocket came first.
 * A connection views one pad. Everything that would change the pad is refused, and the connection ends: the viewer's own
 * text is then no longer the pad's. What is of no consequence is passed over. Keeps one position and a few words.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { asError, RevcastError } from '../../shared/errors.js';
import type { ClientPosition } from '../../revision/contract.js';
import { parsePosition } from '../stream-id.js';
import { missedEncoding, refusalOf } from './etherpad.js';
import type { PadRooms } from './pad-rooms.js';
import type { Conversation, Protocol, Said, Since, Telling } from './protocol.js';
import {
  ackPacket,
  connectedPacket,
  connectErrorPacket,
  eventPacket,
  MAIN_NAMESPACE,
  openPacket,
  PING,
  PROBE_ANSWER,
  readPacket,
  type OpenParameters,
  type SocketIoPacket,
} from './socket-io.js';

/** A session's name: as long as Engine.IO's own. */
const SID_BYTES = 15;
const READ_ONLY = 'this pad can be viewed here, not written to';

type State = 'probing' | 'open' | 'connected' | 'viewing' | 'ended';
type EventPacket = Extract<SocketIoPacket, { kind: 'event' }>;

const recovery = z.object({ offset: z.string().max(200) });
const clientReady = z.object({
  padId: z.string(),
  reconnect: z.boolean().nullish(),
  client_rev: z.int().min(0).nullish(),
});
const roomData = z.object({ data: z.object({ type: z.string() }) });
const named = z.object({ type: z.string() });

/** Messages of the pad's room that change nothing. */
const HARMLESS: ReadonlySet<string> = new Set(['USERINFO_UPDATE', 'CLIENT_MESSAGE', 'GET_CHAT_MESSAGES']);

export interface ViewerOptions {
  readonly protocol: Protocol;
  readonly rooms: PadRooms;
  /** Whether lagging members of the room are not given every revision: at a gap, viewers break. */
  readonly isLatest: (room: string) => boolean;
  /** Whether the connection was opened by polling. */
  readonly isUpgrade: boolean;
  readonly parameters: Omit<OpenParameters, 'sid' | 'upgrades'>;
}

export function newSessionId(): string {
  return randomBytes(SID_BYTES).toString('base64url');
}

export class EtherpadViewer implements Conversation {
  private state: State;
  /** What the client says it has seen last, on a connection before this one. */
  private seen: ClientPosition | undefined;

  constructor(private readonly options: ViewerOptions) {
    this.state = options.isUpgrade ? 'probing' : 'open';
  }

  opening(): Telling {
    if (this.options.isUpgrade) return { texts: [] };
    return { texts: [openPacket({ sid: newSessionId(), upgrades: [], ...this.options.parameters })] };
  }

  heartbeat(): string | undefined {
    return this.state === 'probing' || this.state === 'ended' ? undefined : PING;
  }

  refusal(error: RevcastError): Telling {
    this.state = 'ended';
    return refusalOf(error);
  }

  hear(message: ArrayBuffer, isBinary: boolean): readonly Said[] {
    if (this.state === 'ended') return [];
    if (isBinary) return this.refuse(new RevcastError('binary_unsupported', 'Etherpad has no binary messages'));
    const packet = readPacket(Buffer.from(message).toString());
    switch (packet.kind) {
      case 'malformed':
        return this.malformed(packet.what);
      case 'close':
        return this.end(1_000, '');
      case 'probe':
        return this.state === 'probing' ? [told(PROBE_ANSWER)] : this.malformed('a probe of no upgrade');
      case 'upgrade':
        // The CONNECT came by polling, where nobody reads what it says.
        return this.state === 'probing' ? this.connect(undefined) : this.malformed('an upgrade of what is none');
      case 'pong':
      case 'noop':
      case 'ack':
        return [];
      case 'connect':
        return this.hearConnect(packet.namespace, packet.auth);
      case 'disconnect':
        return packet.namespace === MAIN_NAMESPACE ? this.end(1_000, '') : [];
      case 'event':
        return this.hearEvent(packet);
    }
  }

  private hearConnect(namespace: string, auth: unknown): readonly Said[] {
    if (this.state === 'probing') return this.malformed('a packet before the upgrade');
    if (namespace !== MAIN_NAMESPACE) return [told(connectErrorPacket(namespace, 'Invalid namespace'))];
    // Who came by polling may say it once more.
    return this.state === 'open' ? this.connect(auth) : [];
  }

  private connect(auth: unknown): readonly Said[] {
    this.state = 'connected';
    const offset = recovery.safeParse(auth).data?.offset;
    this.seen = offset === undefined ? undefined : parsePosition(offset);
    return [told(connectedPacket(newSessionId(), newSessionId()))];
  }

  private hearEvent(event: EventPacket): readonly Said[] {
    const { namespace, name, payload, ack } = event;
    if (namespace !== MAIN_NAMESPACE || this.state === 'probing' || this.state === 'open') {
      return this.malformed('an EVENT before CONNECT');
    }
    const type = named.safeParse(payload).data?.type;
    if (name !== 'message' || type === undefined) return this.malformed('an EVENT that is no message of Etherpad');
    if (type === 'CLIENT_READY') return [...acknowledged(ack), ...this.view(payload)];
    if (type === 'COLLABROOM') return this.hearRoomMessage(payload, ack);
    return acknowledged(ack);
  }

  private view(payload: unknown): readonly Said[] {
    const { protocol, rooms } = this.options;
    if (this.state === 'viewing') return this.malformed('a second CLIENT_READY: a connection views one pad');
    this.state = 'viewing';
    const ready = clientReady.safeParse(payload);
    if (!ready.success) return this.malformed('a CLIENT_READY without a padId, or with a client_rev that is none');
    const { padId, reconnect, client_rev: clientRev } = ready.data;
    let room: string;
    try {
      room = rooms.roomOf(padId);
    } catch (error) {
      if (!(error instanceof RevcastError)) throw asError(error);
      return this.refuse(error);
    }
    if (this.options.isLatest(room)) {
      return this.refuse(new RevcastError('not_a_pad', 'revisions of the room may be skipped (EDGE_LATEST_ROOMS)'));
    }
    const subscribe = { kind: 'subscribe', id: MAIN_NAMESPACE, room, batch: false } as const;
    if (reconnect !== true || clientRev === undefined || clientRev === null)
      return [{ ...subscribe, since: 'snapshot' }];
    const missed = (headRev: number) => missedEncoding(protocol, headRev);
    return [{ ...subscribe, since: this.positionAt(clientRev), missed }];
  }

  /** Where the client stands: by the position it was told, as far as that is about this revision. */
  private positionAt(rev: number): Since {
    const { seen } = this;
    if (seen === undefined) return { presentRev: rev };
    return seen.rev === rev ? seen : { epoch: seen.epoch, rev };
  }

  private hearRoomMessage(payload: unknown, ack: number | undefined): readonly Said[] {
    const type = roomData.safeParse(payload).data?.data.type;
    if (type === undefined) return this.malformed('a COLLABROOM message without a type');
    if (type === 'GET_CHAT_MESSAGES') {
      const data = { type: 'CHAT_MESSAGES', messages: [] };
      return [told(eventPacket('message', { type: 'COLLABROOM', data })), ...acknowledged(ack)];
    }
    if (HARMLESS.has(type)) return acknowledged(ack);
    const refused = ack === undefined ? [] : [told(ackPacket(ack, { name: 'Error', message: READ_ONLY }))];
    return [...refused, ...this.refuse(new RevcastError('forbidden', READ_ONLY))];
  }

  private malformed(what: string): readonly Said[] {
    const { end } = this.refusal(new RevcastError('invalid_request', what));
    return [{ kind: 'tell', telling: { texts: [], ...(end === undefined ? {} : { end }) } }];
  }

  private refuse(error: RevcastError): readonly Said[] {
    return [{ kind: 'tell', telling: this.refusal(error) }];
  }

  private end(code: number, reason: string): readonly Said[] {
    this.state = 'ended';
    return [{ kind: 'tell', telling: { texts: [], end: { code, reason } } }];
  }
}

function told(text: string): Said {
  return { kind: 'tell', telling: { texts: [text] } };
}

/** Etherpad acknowledges with no error and no result. */
function acknowledged(ack: number | undefined): readonly Said[] {
  return ack === undefined ? [] : [told(ackPacket(ack, null))];
}
