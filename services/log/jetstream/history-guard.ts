/**
 * Notices that the stream lost history: after a power loss, or when someone made it anew, its seq numbers begin again
 * below what this process has seen. It remembers the newest entry seen, and looks for it at each reconnect and change of
 * leader. When the stream was made decides only where that entry is gone and seqs went on: replicas of one stream differ
 * in it by milliseconds (seen on 2.10.27 after a leader was killed).
 */
import type { Entry } from '../log.js';
import type { StreamInfo } from './stream.js';

interface Seen {
  readonly seq: number;
  readonly tag: string;
}

export class HistoryGuard {
  private newest: Seen | undefined;
  private created: string | undefined;

  /** An entry that the server said is committed. */
  saw(entry: Pick<Entry, 'seq' | 'tag'>): void {
    if (this.newest === undefined || entry.seq > this.newest.seq) this.newest = { seq: entry.seq, tag: entry.tag };
  }

  /** Whether the stream ends below what was seen: a leader just elected says so for a moment, until it has caught up. */
  endsEarly(info: StreamInfo): boolean {
    return this.newest !== undefined && info.state.last_seq < this.newest.seq;
  }

  /**
   * What contradicts this process's knowledge, in words, or undefined. Reads the newest entry seen again through
   * `tagAt`. After a contradiction the stream as it is now is the new truth.
   */
  async contradiction(info: StreamInfo, tagAt: (seq: number) => Promise<string | null>): Promise<string | undefined> {
    const made = this.created;
    this.created = info.created;
    const newest = this.newest;
    if (newest === undefined) return undefined;
    const found = this.endsEarly(info)
      ? `the stream ends at seq ${info.state.last_seq}, it had seq ${newest.seq}`
      : this.compare(newest, await tagAt(newest.seq), made);
    if (found !== undefined) this.newest = undefined;
    return found;
  }

  /** Others may have appended since: then the seq is high enough, but stands for another entry. */
  private compare(newest: Seen, tag: string | null, made: string | undefined): string | undefined {
    if (tag === newest.tag) return undefined;
    if (tag !== null) return `seq ${newest.seq} holds another entry, with tag ${tag} instead of ${newest.tag}`;
    // Retention or an operator may have removed it.
    if (made === undefined || made === this.created) return undefined;
    return `the stream was made anew at ${this.created}, it had been made at ${made}, and seq ${newest.seq} is gone`;
  }
}
