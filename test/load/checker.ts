/**
 * Holds what clients were given against what the log has. Each client tells every revision as it comes; a hole, a
 * repeat, a disorder, another epoch or other bytes are found at once or at the end. The first client to see a revision
 * writes it into the room's ledger, later ones are compared with that, and `verify` compares the ledger with the log.
 */

/** A revision as a client or the log has it. `data` is the JSON text, byte for byte. */
export interface Seen {
  readonly rev: number;
  readonly tag: string;
  readonly data: string;
}

export interface Problem {
  readonly kind: 'hole' | 'repeat' | 'disorder' | 'altered' | 'epoch' | 'missing' | 'unknown';
  readonly client: string;
  readonly room: string;
  readonly rev: number;
  readonly detail: string;
}

/** Problems kept in full; more are only counted. */
const MAX_KEPT = 50;

interface Track {
  epoch: string;
  /** rev of the last revision, or of the position that the subscription began at. */
  rev: number;
  begin: number;
  received: number;
}

export class Checker {
  readonly problems: Problem[] = [];
  problemCount = 0;
  received = 0;
  /** room → rev → first seen */
  private readonly ledgers = new Map<string, Map<number, Seen>>();
  /** client → room → where it is */
  private readonly tracks = new Map<string, Map<string, Track>>();

  /** The client's subscription begins after this position, or goes on from it. */
  began(client: string, room: string, epoch: string, rev: number): void {
    const rooms = this.tracks.get(client) ?? new Map<string, Track>();
    this.tracks.set(client, rooms);
    const track = rooms.get(room);
    if (track === undefined) {
      rooms.set(room, { epoch, rev, begin: rev, received: 0 });
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

  /** The client was given a revision. */
  saw(client: string, room: string, seen: Seen): void {
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
    track.rev = Math.max(track.rev, seen.rev);
    track.received += 1;
    this.compare(client, room, seen);
  }

  /** Where the client stands. */
  revOf(client: string, room: string): number {
    return this.tracks.get(client)?.get(room)?.rev ?? 0;
  }

  /** Compares with the log: every revision of the room from the oldest kept on, and its head. */
  verify(room: string, log: readonly Seen[]): void {
    const head = log.at(-1)?.rev ?? 0;
    const ledger = this.ledgers.get(room) ?? new Map<number, Seen>();
    for (const stored of log) {
      const seen = ledger.get(stored.rev);
      if (seen !== undefined && (seen.data !== stored.data || seen.tag !== stored.tag)) {
        this.report('altered', 'everyone', room, stored.rev, `given ${brief(seen)}, the log has ${brief(stored)}`);
      }
    }
    for (const [client, rooms] of this.tracks) {
      const track = rooms.get(room);
      if (track === undefined) continue;
      if (track.rev !== head) this.report('missing', client, room, head, `stands at ${track.rev}`);
      if (track.received !== track.rev - track.begin) {
        this.report('missing', client, room, track.rev, `was given ${track.received} since ${track.begin}`);
      }
    }
  }

  private compare(client: string, room: string, seen: Seen): void {
    const ledger = this.ledgers.get(room) ?? new Map<number, Seen>();
    this.ledgers.set(room, ledger);
    const first = ledger.get(seen.rev);
    if (first === undefined) ledger.set(seen.rev, seen);
    else if (first.data !== seen.data || first.tag !== seen.tag) {
      this.report('altered', client, room, seen.rev, `given ${brief(seen)}, another client ${brief(first)}`);
    }
  }

  private report(kind: Problem['kind'], client: string, room: string, rev: number, detail: string): void {
    this.problemCount += 1;
    if (this.problems.length < MAX_KEPT) this.problems.push({ kind, client, room, rev, detail });
  }
}

function brief({ tag, data }: Seen): string {
  return `${tag} ${data.length > 60 ? `${data.slice(0, 60)}…` : data}`;
}
