/**
 * Notices that the stream lost history: after a power loss, or when someone made it anew, its seq numbers begin again
 * below what this process has seen. It remembers the newest entry seen and when the stream was made, and compares
 * at each reconnect and change of leader: a stream of another age, a lower last seq, or another entry in that place.
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

  /**
   * What contradicts this process's knowledge, in words, or undefined. Reads the newest entry seen again through
   * `tagAt`. After a contradiction the stream as it is now is the new truth.
   */
  async contradiction(info: StreamInfo, tagAt: (seq: number) => Promise<string | null>): Promise<string | undefined> {
    const found = this.compare(info) ?? (await this.compareNewest(tagAt));
    if (found !== undefined) this.newest = undefined;
    this.created = info.created;
    return found;
  }

  private compare(info: StreamInfo): string | undefined {
    if (this.created !== undefined && this.created !== info.created) {
      return `the stream was made anew at ${info.created}, it had been made at ${this.created}`;
    }
    if (this.newest !== undefined && info.state.last_seq < this.newest.seq) {
      return `the stream ends at seq ${info.state.last_seq}, it had seq ${this.newest.seq}`;
    }
    return undefined;
  }

  /** Others may have appended since: then the seq is high enough, but stands for another entry. */
  private async compareNewest(tagAt: (seq: number) => Promise<string | null>): Promise<string | undefined> {
    const newest = this.newest;
    if (newest === undefined) return undefined;
    const tag = await tagAt(newest.seq);
    if (tag === null || tag === newest.tag) return undefined;
    return `seq ${newest.seq} holds another entry, with tag ${tag} instead of ${newest.tag}`;
  }
}
