/**
 * Where a tailed room stands, and what has to be asked for to go on from there without hole or repeat.
 *
 * Revisions carry no epoch: it is in the answer to a subscription. A room that was empty then got its epoch later; the
 * position after its revisions is not known whole, so they are asked for again from revision 1, and dropped here.
 */
import type { ClientPosition } from '../revision/contract.js';

/** Where to begin, as the user says it; undefined elsewhere means "with what comes from now on". */
export type TailStart = 'first' | ClientPosition;

/** `since` on the wire: left out, 0, or a position. */
export type WireSince = undefined | 0 | ClientPosition;

export interface SeenRevision {
  readonly rev: number;
  readonly tag: string;
}

/** What a revision is to who stands at a position: the next one, one that is known, or a contradiction. */
export type Placed = 'next' | 'known' | 'hole' | 'rewritten';

const POSITION = /^([\w-]{1,64}):(\d{1,15})(?::([0-9a-f]{8}))?$/u;

/** "0", "EPOCH:REV" or "EPOCH:REV:TAG"; undefined when it is none of these. */
export function parseSince(text: string): TailStart | undefined {
  if (text === '0') return 'first';
  const [, epoch, rev, tag] = POSITION.exec(text) ?? [];
  if (epoch === undefined || rev === undefined) return undefined;
  return { epoch, rev: Number(rev), ...(tag === undefined ? {} : { tag }) };
}

export function formatPosition({ epoch, rev, tag }: ClientPosition): string {
  return tag === undefined || tag === '' ? `${epoch}:${rev}` : `${epoch}:${rev}:${tag}`;
}

export class TailPosition {
  private epoch = '';
  /** undefined: nothing is known yet, the first revision that comes is the next one. */
  private last: { rev: number; tag: string } | undefined;

  constructor(private start: TailStart | undefined) {
    if (start !== undefined && start !== 'first') this.standAt(start);
  }

  /** What to ask for. */
  since(): WireSince {
    if (this.last === undefined) return this.start === 'first' ? 0 : undefined;
    if (this.epoch === '') return { epoch: '', rev: 0 };
    const { rev, tag } = this.last;
    return { epoch: this.epoch, rev, ...(tag === '' ? {} : { tag }) };
  }

  /** The whole position, where it is known. */
  get known(): ClientPosition | undefined {
    return this.last === undefined || this.epoch === '' ? undefined : { epoch: this.epoch, ...this.last };
  }

  /** The answer to a subscription: where the room's numbering is, and the head if nothing before it was asked for. */
  onSubscribed(answer: ClientPosition): void {
    this.epoch = answer.epoch;
    if (this.last === undefined && this.start === undefined) this.standAt(answer);
  }

  /** Says what the revision is, and moves on if it is the next one. */
  place({ rev, tag }: SeenRevision): Placed {
    if (this.last !== undefined) {
      if (rev === this.last.rev && this.last.tag !== '' && tag !== this.last.tag) return 'rewritten';
      if (rev <= this.last.rev) return 'known';
      if (rev !== this.last.rev + 1) return 'hole';
    }
    this.last = { rev, tag };
    return 'next';
  }

  /** Begins again with the first revision kept: what was seen counts no more. */
  restart(): void {
    this.epoch = '';
    this.last = undefined;
    this.start = 'first';
  }

  private standAt({ epoch, rev, tag = '' }: ClientPosition): void {
    this.epoch = epoch;
    this.last = { rev, tag };
  }
}
