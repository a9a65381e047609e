/**
 * Etherpad's messages to viewers of a pad (SPEC.md, K rules), as events of Socket.IO (socket-io.ts). What a viewer says is
 * heard by etherpad-viewer.ts.
 *
 * All viewers are the same to the edge: a revision's whole message is the shared body, behind its first byte. Whoever
 * reconnects is told what it missed as CLIENT_RECONNECT, with the head in its own part, and what comes later as everyone.
 *
 * Each event has a second argument, the position behind it as text. Etherpad's client does not look at it; socket.io-client
 * (4.6 and later) keeps the last one and sends it when it connects again, so that a history that was rewritten meanwhile is
 * noticed. A revision that is no pad's ends the subscription: to pass over it would be a gap, at which clients break.
 */
import { RevcastError, type ErrorCode } from '../../shared/errors.js';
import { attributesMissing, parsePadRevision, parsePadSnapshot, type PadSnapshot } from '../../shared/pad-data.js';
import type { Snapshot } from '../../log/log.js';
import type { ClientPosition } from '../../revision/contract.js';
import type { Slot } from '../slot.js';
import { positionText } from '../stream-id.js';
import type { PadRooms } from './pad-rooms.js';
import type { Encoding, Protocol, Telling } from './protocol.js';
import { DISCONNECT, EVENT, eventPacket } from './socket-io.js';

const MESSAGE = 'message';
const FIRST = Buffer.from(EVENT.slice(0, 1));
/** Behind the first byte. */
const OPEN_MISSED = `${EVENT.slice(1)}["${MESSAGE}",{"type":"COLLABROOM","data":{"headRev":`;

/** An empty pad has one line break. */
const EMPTY_PAD: PadSnapshot = {
  initialAttributedText: { text: '\n', attribs: '|1+1' },
  apool: { numToAttrib: {}, nextNum: 0 },
};
/** All viewers are one author, who has written nothing. */
const VIEWER = 'a.revcastviewer000';

/** Of positions in a history that is gone. */
const GONE = 410;
/** Words that Etherpad's client has explanations for; others it shows as a lost connection, with a button to reload. */
const TOLD_AS: ReadonlyMap<ErrorCode, object> = new Map<ErrorCode, object>([
  ['epoch_changed', { disconnect: 'epoch_changed' }],
  ['history_truncated', { disconnect: 'history_truncated' }],
  ['not_found', { accessStatus: 'deny' }],
  ['invalid_room', { accessStatus: 'deny' }],
  ['not_a_pad', { disconnect: 'corruptPad' }],
]);

/** A close code is 4000 and the error's HTTP status. */
const CLOSE_CODES = 4_000;
const MAX_REASON_BYTES = 120;

/** The protocol, for pads in the rooms that a template names. */
export function etherpadProtocol(rooms: PadRooms): Protocol {
  const live: Encoding = {
    index: 3,
    first: FIRST,
    isNews: false,
    own: () => '',
    single: (slot) => newChanges(slot),
    batch: () => noBatches(),
    joined: (room, position, snapshot) => clientVars(rooms.padOf(room), position, snapshot),
    subscribed: (_id, _room, position) => noChanges(position),
    unsubscribed: () => noSuchRequest(),
  };
  return {
    ...live,
    name: 'etherpad',
    parse: () => noSuchRequest(),
    answer: () => noSuchRequest(),
    pong: () => noSuchRequest(),
    refusal: () => noSuchRequest(),
  };
}

/** How the revisions up to `headRev` are told to a viewer that missed them. */
export function missedEncoding(protocol: Protocol, headRev: number): Encoding {
  return {
    ...protocol,
    index: 4,
    own: () => `${OPEN_MISSED}${headRev},`,
    single: (slot) => missed(slot),
  };
}

/** What is told to a client, and how the connection ends, when something is refused or a subscription ends. */
export function refusalOf(error: RevcastError): Telling {
  const end = { code: CLOSE_CODES + error.httpStatus, reason: reasonOf(error) };
  // What may pass: the client connects again by itself.
  if (error.retryable) return { texts: [], end };
  const message = TOLD_AS.get(error.code) ?? { disconnect: 'rejected' };
  const texts = [eventPacket(MESSAGE, message)];
  // Without a DISCONNECT the client connects again by itself, and loads the pad again.
  return { texts: error.httpStatus === GONE ? texts : [...texts, DISCONNECT], end };
}

function noChanges(position: ClientPosition): string {
  if (position.epoch === '') throw noSuchPad();
  const data = { type: 'CLIENT_RECONNECT', noChanges: true, newRev: position.rev };
  return eventPacket(MESSAGE, { type: 'COLLABROOM', data }, positionText(position));
}

function noSuchPad(): RevcastError {
  return new RevcastError('not_found', 'there is no such pad');
}

/** CLIENT_VARS, behind the first byte: what Etherpad's own client reads of it, without anything to write with. */
function clientVars(pad: string, position: ClientPosition, snapshot: Snapshot | null): Buffer {
  if (position.epoch === '') throw noSuchPad();
  const content = snapshot === null ? EMPTY_PAD : parsePadSnapshot(snapshot.data);
  if (content === null || attributesMissing(content.initialAttributedText.attribs, content.apool)) {
    throw new RevcastError('not_a_pad', "the room's snapshot is not of a pad");
  }
  const time = snapshot?.time ?? 0;
  const data = {
    skinName: 'colibris',
    skinVariants: '',
    accountPrivs: { maxRevisions: 100 },
    initialRevisionList: [],
    initialOptions: {},
    savedRevisions: [],
    collab_client_vars: {
      ...content,
      clientIp: '127.0.0.1',
      padId: pad,
      historicalAuthorData: {},
      rev: position.rev,
      time,
    },
    colorPalette: ['#ffffff'],
    clientIp: '127.0.0.1',
    userColor: 0,
    userName: null,
    userId: VIEWER,
    padId: pad,
    globalPadId: pad,
    readOnlyId: pad,
    readonly: true,
    padOptions: { showChat: false, alwaysShowChat: false, chatAndUsers: false, showControls: false },
    padShortcutEnabled: {},
    initialTitle: `Pad: ${pad}`,
    opts: {},
    chatHead: -1,
    numConnectedUsers: 1,
    serverTimestamp: time,
    abiwordAvailable: 'no',
    sofficeAvailable: 'no',
    exportAvailable: 'no',
    plugins: { plugins: {}, parts: [] },
    indentationOnNewLine: true,
    scrollWhenFocusLineIsOutOfViewport: {
      percentage: { editionAboveViewport: 0, editionBelowViewport: 0 },
      duration: 0,
      scrollWhenCaretIsInTheLastLineOfViewport: false,
      percentageToScrollWhenUserPressesArrowUp: 0,
    },
    initialChangesets: [],
  };
  const message = eventPacket(MESSAGE, { type: 'CLIENT_VARS', data }, positionText(position));
  return Buffer.from(message.slice(FIRST.length));
}

/** NEW_CHANGES, behind the first byte. */
function newChanges(slot: Slot): Buffer {
  const data = { type: 'NEW_CHANGES', ...changesOf(slot) };
  const message = eventPacket(MESSAGE, { type: 'COLLABROOM', data }, positionText(positionOf(slot)));
  return Buffer.from(message.slice(FIRST.length));
}

/** What comes behind the head. */
function missed(slot: Slot): Buffer {
  const data = JSON.stringify({ type: 'CLIENT_RECONNECT', ...changesOf(slot) });
  return Buffer.from(`${data.slice(1)}},${JSON.stringify(positionText(positionOf(slot)))}]`);
}

/** Times are the log's where the pad does not say: they never go back, and do not depend on the connection. */
function changesOf({ revision }: Slot): object {
  const change = parsePadRevision(revision.data);
  if (change === null || attributesMissing(change.changeset, change.apool)) {
    throw new RevcastError('not_a_pad', `revision ${revision.rev} is not a revision of a pad`);
  }
  return {
    newRev: revision.rev,
    changeset: change.changeset,
    apool: change.apool,
    author: change.author,
    currentTime: change.currentTime ?? revision.time,
    timeDelta: revision.timeDelta ?? 0,
  };
}

function positionOf({ epoch, revision: { rev, tag } }: Slot): ClientPosition {
  return { epoch, rev, tag };
}

function reasonOf({ code, message }: RevcastError): string {
  return Buffer.from(`${code}: ${message}`)
    .subarray(0, MAX_REASON_BYTES)
    .toString()
    .replace(/\uFFFD+$/u, '');
}

function noBatches(): never {
  throw new Error('invariant broken: a viewer is given one revision a message');
}

function noSuchRequest(): never {
  throw new Error('invariant broken: a viewer asks for nothing by name');
}
