/**
 * Where a tailed room stands, and what has to be asked for to go on from there without hole or repeat. The answer to a
 * subscription names the position that the stream goes on from; each revision that follows it moves that on.
 */
import type { ClientPosition } from '../revision/contract.js';

/** Where to begin, as the user says it; undefined elsewhere means "with what comes from now on". */
export type TailStart = 'first' | 'snapshot' | ClientPosition;

/** `since` on the wire: left out, 0, "snapshot", or a position. */
export type WireSince = undefined | 0 | 'snapshot' | ClientPosition;

export interface SeenRevision {
  readonly rev: number;
  readonly tag: string;
  /** With revision 1: what numbering has begun. */
  readonly epoch?: string;
}

/** What a revision is to who stands at a position: the next one, one that is known, or a contradiction. */
export type Placed = 'next' | 'known' | 'hole' | 'rewritten';

const POSITION = /^([\w-]{1,64}):(\d{1,15})(?::([0-9a-f]{8}))?$/u;

/** "0", "snapshot", "EPOCH:REV" or "EPOCH:REV:TAG"; undefined when it is none of these. */
export function parseSince(text: string): TailStart | undefined {
  if (text === '0') return 'first';
  if (text === 'snapshot') return text;
  const [, epoch, rev, tag] = POSITION.exec(text) ?? [];
  if (epoch === undefined || rev === undefined) return undefined;
  return { epoch, rev: Number(rev), ...(tag === undefined ? {} : { tag }) };
}

export function formatPosition({ epoch, rev, tag }: ClientPosition): string {
  return tag === undefined || tag === '' ? `${epoch}:${rev}` : `${epoch}:${rev}:${tag}`;
}

export class TailPosition {
  /** undefined until a subscription was answered, or a position was given. */
  private at: ClientPosition | undefined;

  constructor(private start: TailStart | undefined) {
    if (typeof start === 'object') this.at = start;
  }

  /** What to ask for. */
  since(): WireSince {
    if (this.at !== undefined) return this.at;
    return this.start === 'snapshot' ? 'snapshot' : this.start === 'first' ? 0 : undefined;
  }

  /** Where it stands, where that is known. */
  get known(): ClientPosition | undefined {
    return this.at;
  }

  /** The answer to a subscription. */
  onSubscribed(position: ClientPosition): void {
    this.at = position;
  }

  /** Says what the revision is, and moves on if it is the next one. */
  place({ rev, tag, epoch }: SeenRevision): Placed {
    if (this.at === undefined) return 'hole';
    if (rev === this.at.rev && this.at.tag !== undefined && tag !== this.at.tag) return 'rewritten';
    if (rev <= this.at.rev) return 'known';
    if (rev !== this.at.rev + 1) return 'hole';
    this.at = { epoch: epoch ?? this.at.epoch, rev, tag };
    return 'next';
  }

  /** Begins again, and what was seen counts no more: with the snapshot if that is how it began, else with the first revision kept. */
  restart(): void {
    // A snapshot that was asked for and is not to be had is not asked for again.
    if (this.start !== 'snapshot' || this.at === undefined) this.start = 'first';
    this.at = undefined;
  }
}
