/**
 * Holds what clients were given against what the log has. Each client tells every revision as it comes; a hole, a
 * repeat, a disorder, another epoch, other bytes or a time that goes back are found at once or at the end. The first
 * client to see a revision of an epoch writes it into the ledger, later ones are compared with that: so no two clients
 * ever disagree. Each client keeps a running hash per room; `verify` compares ledger and hashes with the log.
 */
import { createHash, type Hash } from 'node:crypto';
import { Absences, type Absence } from './absences.js';

/** A revision as a client or the log has it. `data` is the JSON text, byte for byte. */
export interface Seen {
  readonly rev: number;
  readonly tag: string;
  readonly time: number;
  readonly data: string;
}

/** What the log has of a room: everything from the oldest kept revision on. */
export interface LogCopy {
  readonly epoch: string;
  readonly revisions: readonly Seen[];
}

export interface Problem {
  readonly kind: 'hole' | 'repeat' | 'disorder' | 'altered' | 'epoch' | 'time' | 'missing' | 'unknown';
  readonly client: string;
  readonly room: string;
  readonly rev: number;
  readonly detail: string;
}

/** Problems kept in full; more are only counted. */
const MAX_KEPT = 50;

/** One client in one room, within one history. */
interface Track {
  /** How often the room's history had been lost when the client began. */
  readonly lost: number;
  epoch: string;
  /** rev of the last revision, or of the position that the subscription began at. */
  rev: number;
  time: number;
  begin: number;
  received: number;
  /** Of all it was given, in the order it came. */
  readonly hash: Hash;
}

export class Checker {
  readonly problems: Problem[] = [];
  problemCount = 0;
  received = 0;
  private readonly absences: Absences;
  /** By room, how often its history was lost. */
  private readonly losses = new Map<string, number>();
  /** room → epoch, and how often the history was lost → rev → first seen */
  private readonly ledgers = new Map<string, Map<string, Map<number, Seen>>>();
  /** client → room → where it is */
  private readonly tracks = new Map<string, Map<string, Track>>();

  constructor(now: () => number = () => performance.now()) {
    this.absences = new Absences(now);
  }

  /** The client's subscription begins after this position, or goes on from it. */
  began(client: string, room: string, epoch: string, rev: number): void {
    const rooms = this.tracks.get(client) ?? new Map<string, Track>();
    this.tracks.set(client, rooms);
    this.absences.joined(client, room);
    const track = rooms.get(room);
    if (track === undefined) {
      const lost = this.losses.get(room) ?? 0;
      rooms.set(room, { lost, epoch, rev, time: 0, begin: rev, received: 0, hash: createHash('sha1') });
      return;
    }
    if (track.rev !== rev) {
      this.report('disorder', client, room, rev, `went on after ${rev}, stood at ${track.rev}`);
    }
    if (track.rev > 0 && track.epoch !== '' && track.epoch !== epoch) {
      this.report('epoch', client, room, rev, `went on in epoch ${epoch}, stood in ${track.epoch}`);
    }
    track.epoch = epoch;
  }

  /**
   * The room's newest revisions are gone from the log, and it may go on in the same epoch: who begins from now on, or is told
   * and begins anew, must be given what the log has since, and nothing of what was lost.
   */
  lost(room: string): void {
    this.losses.set(room, (this.losses.get(room) ?? 0) + 1);
  }

  /** The client was told that the room's history ended: it begins anew. */
  broke(client: string, room: string): void {
    this.tracks.get(client)?.delete(room);
    this.absences.broke(client, room);
  }

  /** The client was given a revision; `epoch` where the message names it. */
  saw(client: string, room: string, seen: Seen, epoch?: string): void {
    this.received += 1;
    const track = this.tracks.get(client)?.get(room);
    if (track === undefined) {
      this.report('unknown', client, room, seen.rev, 'came before the subscription was answered');
      return;
    }
    if (seen.rev !== track.rev + 1) {
      const kind = seen.rev > track.rev + 1 ? 'hole' : seen.rev === track.rev ? 'repeat' : 'disorder';
      this.report(kind, client, room, seen.rev, `came after ${track.rev}`);
    }
    if (epoch !== undefined && track.epoch !== '' && epoch !== track.epoch) {
      this.report('epoch', client, room, seen.rev, `is of epoch ${epoch}, stood in ${track.epoch}`);
    }
    if (seen.time < track.time) this.report('time', client, room, seen.rev, `${seen.time} after ${track.time}`);
    track.epoch = epoch ?? track.epoch;
    track.time = seen.time;
    track.rev = Math.max(track.rev, seen.rev);
    track.received += 1;
    track.hash.update(hashed(seen));
    this.absences.saw(client, room, track.epoch, seen.rev);
    this.compare(client, room, track, seen);
  }

  /** The client's connection is gone. */
  left(client: string): void {
    this.absences.left(client);
  }

  /** The client is connected again, and all its rooms have answered. */
  returned(client: string): void {
    this.absences.returned(client);
  }

  /** A revision was acknowledged just now: who has joined is behind until it comes. */
  committed(room: string, epoch: string, rev: number): void {
    this.absences.committed(room, epoch, rev);
  }

  /** How long each client was away, and how far behind. */
  absenceOf(client: string): Absence {
    return this.absences.of(client);
  }

  /** The longest of all clients. */
  longestAbsence(): Absence {
    return this.absences.longest();
  }

  /** Where the client stands. */
  revOf(client: string, room: string): number {
    return this.tracks.get(client)?.get(room)?.rev ?? 0;
  }

  /** What clients were given of a history, by rev, since it was lost last. */
  ledger(room: string, epoch: string): ReadonlyMap<number, Seen> {
    return this.ledgers.get(room)?.get(ledgerName(epoch, this.losses.get(room) ?? 0)) ?? new Map<number, Seen>();
  }

  /** Compares with the log: every revision of the room from the oldest kept on, and its head. */
  verify(room: string, log: LogCopy): void {
    const head = log.revisions.at(-1)?.rev ?? 0;
    const ledger = this.ledger(room, log.epoch);
    for (const stored of log.revisions) {
      const seen = ledger.get(stored.rev);
      if (seen !== undefined && hashed(seen) !== hashed(stored)) {
        this.report('altered', 'everyone', room, stored.rev, `given ${brief(seen)}, the log has ${brief(stored)}`);
      }
    }
    const hashes = new LogHashes(log.revisions);
    for (const [client, rooms] of this.tracks) {
      const track = rooms.get(room);
      if (track !== undefined) this.verifyTrack(client, room, track, log.epoch, head, hashes);
    }
  }

  private verifyTrack(
    client: string,
    room: string,
    track: Track,
    epoch: string,
    head: number,
    hashes: LogHashes,
  ): void {
    const { rev, begin, received } = track;
    if (track.epoch !== epoch) this.report('epoch', client, room, rev, `is in ${track.epoch}, the log in ${epoch}`);
    if (rev !== head) this.report('missing', client, room, head, `stands at ${rev}`);
    else if (received !== rev - begin) {
      this.report('missing', client, room, rev, `was given ${received} since ${begin}`);
    } else if (track.hash.copy().digest('hex') !== hashes.after(begin)) {
      this.report('altered', client, room, rev, `what it was given since ${begin} is not what the log has`);
    }
  }

  private compare(client: string, room: string, { epoch, lost }: Track, seen: Seen): void {
    const epochs = this.ledgers.get(room) ?? new Map<string, Map<number, Seen>>();
    this.ledgers.set(room, epochs);
    const name = ledgerName(epoch, lost);
    const ledger = epochs.get(name) ?? new Map<number, Seen>();
    epochs.set(name, ledger);
    const first = ledger.get(seen.rev);
    if (first === undefined) ledger.set(seen.rev, seen);
    else if (hashed(first) !== hashed(seen)) {
      this.report('altered', client, room, seen.rev, `given ${brief(seen)}, another client ${brief(first)}`);
    }
  }

  private report(kind: Problem['kind'], client: string, room: string, rev: number, detail: string): void {
    this.problemCount += 1;
    if (this.problems.length < MAX_KEPT) this.problems.push({ kind, client, room, rev, detail });
  }
}

/** The hash of all that follows a revision, once for all clients that began there. */
class LogHashes {
  private readonly known = new Map<number, string>();

  constructor(private readonly revisions: readonly Seen[]) {}

  after(rev: number): string {
    const known = this.known.get(rev);
    if (known !== undefined) return known;
    const hash = createHash('sha1');
    for (const seen of this.revisions) if (seen.rev > rev) hash.update(hashed(seen));
    const digest = hash.digest('hex');
    this.known.set(rev, digest);
    return digest;
  }
}

function ledgerName(epoch: string, lost: number): string {
  return `${epoch} ${lost}`;
}

function hashed({ rev, tag, time, data }: Seen): string {
  return `${rev} ${tag} ${time} ${data}\n`;
}

function brief({ tag, time, data }: Seen): string {
  return `${tag} ${time} ${data.length > 60 ? `${data.slice(0, 60)}…` : data}`;
}
